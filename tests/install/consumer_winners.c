/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the config that is served if no cache is named. */
#include <stdio.h>
#include <tilewright/tilewright.h>

int main(void) {
  const int64_t dims[2] = {256, 4096};
  tw_options options = {0};
  tw_launcher* launcher = NULL;
  tw_op* softmax = NULL;
  char* json = NULL;
  options.size = sizeof options;
  options.device = "NVIDIA H200";
  if (tw_open_with(&options, &launcher) != TW_OK || tw_op_get(launcher, "softmax[dtype=bf16]", &softmax) != TW_OK ||
      tw_query(softmax, dims, 2, &json) != TW_OK) {
    fprintf(stderr, "%s\n", tw_last_error());
    return 1;
  }
  puts(json);
  tw_free(json);
  tw_close(launcher);
  return 0;
}
