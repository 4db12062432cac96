#include "check.h"

#include <math.h>
#include <string.h>

#include "lookback/lookback.h"

int checks_made = 0;
int checks_failed = 0;

void check(int holds, const char* file, int line, const char* text) {
  ++checks_made;
  if (holds) return;
  ++checks_failed;
  printf("%s:%d: failed: %s\n", file, line, text);
}

void check_ok(int status, const char* file, int line) {
  check(status == LOOKBACK_OK, file, line, "the call succeeds");
  if (status != LOOKBACK_OK) printf("  status %d: %s\n", status, lookback_last_error());
}

void check_error(int status, int wanted, const char* text, const char* file, int line) {
  check(status == wanted, file, line, "the call fails with the wanted status");
  if (status != wanted) printf("  status %d, wanted %d (%s)\n", status, wanted, text);
  if (status == LOOKBACK_OK) return;
  check(strstr(lookback_last_error(), text) != NULL, file, line, "the sentence holds the text");
  if (strstr(lookback_last_error(), text) == NULL) {
    printf("  sentence: %s\n  text: %s\n", lookback_last_error(), text);
  }
}

void check_near(double a, double b, const char* file, int line, const char* text) {
  const double tolerance = 2e-5 * (1 + fabs(b));
  const int near = a == b || fabs(a - b) <= tolerance || (isnan(a) && isnan(b));
  check(near, file, line, text);
  if (!near) printf("  %.9g and %.9g\n", a, b);
}
