/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_C_TEST_H
#define TILEWRIGHT_TESTS_C_TEST_H

/* Common parts of tests in C: counted expectations, the recording driver, and a call of `scale`. One thread. */

#include <string.h>
#include <tilewright/tilewright.h>

#include "docs/examples/application/gpu.h"
#include "tests/launch/recording_driver/recording.h"

static int failures;

static void expect_at(int line, int good, const char* what) {
  if (good) return;
  fprintf(stderr, "line %d: %s; the last error is '%s'\n", line, what, tw_last_error());
  ++failures;
}
#define EXPECT(condition) expect_at(__LINE__, (condition) != 0, #condition)
/* Expects `call` to fail with `code`, and tw_last_error to contain `part`. */
#define EXPECT_ERROR(call, code, part)                             \
  do {                                                             \
    EXPECT((call) == (code));                                      \
    expect_at(__LINE__, strstr(tw_last_error(), part) != 0, part); \
  } while (0)

/* The driver that the library loaded: the same file gives the same copy. */
static void* driver;
static int (*launch_at)(size_t, recording_launch_record*);
static size_t (*launch_count)(void);

static const int64_t kScaleDims[2] = {8, 64};
static const int64_t kReduceDims[2] = {64, 256};

typedef struct scale_call {
  uint64_t x, y;
  float factor;
  void* args[3];
} scale_call;

static void fill(scale_call* call) {
  call->x = 0x7f0000000100;
  call->y = 0x7f0000000200;
  call->factor = 0.5F;
  call->args[0] = &call->x;
  call->args[1] = &call->y;
  call->args[2] = &call->factor;
}

/* Opens the driver and makes its device's context current. */
static void open_driver(void) {
  gpu_open();
  driver = dlopen(getenv("TILEWRIGHT_LIBCUDA"), RTLD_NOW);
  *(void**)&launch_at = gpu_find(driver, "recording_launch");
  *(void**)&launch_count = gpu_find(driver, "recording_launch_count");
}

#endif
