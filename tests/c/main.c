/* All of the C interface, from C99. */
#include "check.h"
#include "tests.h"

int main(void) {
  test_attend();
  test_align();
  test_merge();
  test_calls();
  test_errors();
  printf("%d checks, %d failed\n", checks_made, checks_failed);
  return checks_failed == 0 && checks_made > 0 ? 0 : 1;
}
