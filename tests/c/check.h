/* Checks that count what failed and go on. */
#ifndef LOOKBACK_TESTS_C_CHECK_H
#define LOOKBACK_TESTS_C_CHECK_H

#include <stdio.h>

extern int checks_made;
extern int checks_failed;

void check(int holds, const char* file, int line, const char* text);
#define CHECK(holds) check((holds) != 0, __FILE__, __LINE__, #holds)

/* The status is LOOKBACK_OK; otherwise shows the library's sentence. */
void check_ok(int status, const char* file, int line);
#define CHECK_OK(status) check_ok((status), __FILE__, __LINE__)

/* The status is this one, and the library's sentence holds this text. */
void check_error(int status, int wanted, const char* text, const char* file, int line);
#define CHECK_ERROR(status, wanted, text) \
  check_error((status), (wanted), (text), __FILE__, __LINE__)

/* |a - b| within what float32 results may differ from double loops by. */
void check_near(double a, double b, const char* file, int line, const char* text);
#define CHECK_NEAR(a, b) check_near((a), (b), __FILE__, __LINE__, #a)

#endif
