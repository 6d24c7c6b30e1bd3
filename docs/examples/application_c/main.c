/* SPDX-License-Identifier: Apache-2.0 */
/* The launch library from C: what is served for a shape, a launch of it, and a check of its first row.
 *   tilewright-example-c [--no-check]        the cache is $TILEWRIGHT_CACHE, else the user's */
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

#include "../application/gpu.h"

enum { kRows = 2, kCols = 4096 };

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tw_last_error());
  return 1;
}

int main(int argc, char** argv) {
  const int check = argc < 2 || strcmp(argv[1], "--no-check") != 0;
  static float values[kRows * kCols];
  const int64_t dims[2] = {kRows, kCols};
  tw_launcher* launcher = NULL;
  tw_op* softmax = NULL;
  char* json = NULL;
  void *x, *y, *args[2];
  double sum = 0;
  int is_wrong = 0;
  size_t i;

  gpu_open();
  if (tw_open(NULL, &launcher) != TW_OK) return failed("opening the cache");
  if (tw_op_get(launcher, "softmax[dtype=f32]", &softmax) != TW_OK) return failed("opening softmax");
  if (tw_query(softmax, dims, 2, &json) != TW_OK) return failed("asking what is served");
  printf("%s\n", json);
  tw_free(json);

  /* Arguments are passed by the address of their value, as to cuLaunchKernel. */
  for (i = 0; i < kRows * kCols; ++i) values[i] = (float)(i % 7);
  x = gpu_allocate(sizeof values);
  y = gpu_allocate(sizeof values);
  gpu_copy_to(x, values, sizeof values);
  args[0] = &x;
  args[1] = &y;
  if (tw_launch(softmax, NULL, dims, 2, args, 2) != TW_OK) return failed("launching");
  gpu_copy_from(values, y, sizeof values);
  for (i = 0; i < kCols; ++i) sum += values[i];
  if (check) is_wrong = !(sum > 0.999 && sum < 1.001);
  printf("launched; the first row of the result sums up to %.6f%s\n", sum, is_wrong ? ", which is WRONG" : "");

  gpu_release(x);
  gpu_release(y);
  tw_close(launcher);
  return is_wrong;
}
