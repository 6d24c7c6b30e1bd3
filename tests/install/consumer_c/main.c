/* SPDX-License-Identifier: Apache-2.0 */
/* A C program against the installed package: the version is the installed one, and a missing cache is an error with a
   text, not a crash. */
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

int main(void) {
  tw_launcher* launcher = NULL;
  if (strcmp(tw_version(), EXPECTED_VERSION) != 0) {
    fprintf(stderr, "the version is %s, expected is %s\n", tw_version(), EXPECTED_VERSION);
    return 1;
  }
  if (tw_open("/nonexistent/cache.db", &launcher) == 0) {
    fprintf(stderr, "a cache that is not there was opened\n");
    return 1;
  }
  if (strstr(tw_last_error(), "/nonexistent/cache.db") == NULL) {
    fprintf(stderr, "the error does not name the file: %s\n", tw_last_error());
    return 1;
  }
  return 0;
}
