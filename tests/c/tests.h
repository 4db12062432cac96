/* The parts of the program, a file each. */
#ifndef LOOKBACK_TESTS_C_TESTS_H
#define LOOKBACK_TESTS_C_TESTS_H

void test_attend(void);
void test_align(void);
void test_merge(void);
void test_calls(void);
void test_errors(void);

#endif
