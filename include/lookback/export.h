/* What a shared lookback shows to those who link it; everything else is hidden. */
#ifndef LOOKBACK_EXPORT_H
#define LOOKBACK_EXPORT_H

#if defined(__GNUC__)
#define LOOKBACK_API __attribute__((visibility("default")))
#else
#define LOOKBACK_API
#endif

#endif
