/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_RECORDING_H
#define TILEWRIGHT_TESTS_RECORDING_H

#include <stddef.h>

/* A stand-in for libcuda.so.1 (and NVML) with which the whole launch path runs on a machine without a GPU: one or more
 * fictional devices, memory that is the host's, and kernels that compute nothing but are written down. It is as strict
 * as the driver about what it is given. It is chosen through TILEWRIGHT_LIBCUDA.
 *
 * A binary for it is text: "tilewright-recording\n" and a line a kernel, "SYMBOL SIZE SIZE ...", with the size of each
 * parameter in bytes. A real cubin (ELF) is taken too; any symbol is found in it and its parameters are not written down.
 *
 * Settings of a process that cannot call the functions below:
 *   TILEWRIGHT_RECORDING_DEVICES  how many devices there are (1)
 *   TILEWRIGHT_RECORDING_DEVICE   "NAME:COMPUTE_CAPABILITY:SMS", such as "NVIDIA H200:90:132"
 *   TILEWRIGHT_RECORDING_FAIL     "cuInit:999": every call of that name answers so
 *   TILEWRIGHT_RECORDING_LOG      a file that gets a line a launch
 *
 * Every function may be called from any thread. */

#ifdef __cplusplus
extern "C" {
#endif

#define RECORDING_MAX_PARAMS 72
#define RECORDING_MAX_PARAM_BYTES 128

typedef struct recording_launch_record {
  char symbol[128];
  unsigned grid[3];
  unsigned block[3];
  unsigned cluster[3]; /* 1,1,1 without a cluster */
  unsigned shared_bytes;
  int pdl;
  void* stream;
  unsigned long long context; /* its id */
  unsigned param_count;
  unsigned param_sizes[RECORDING_MAX_PARAMS];
  unsigned char params[RECORDING_MAX_PARAMS][RECORDING_MAX_PARAM_BYTES];
} recording_launch_record;

/* Launches since the last reset; those of a graph count each time it is launched. */
size_t recording_launch_count(void);
/* 0, or 1 when there is no launch `index`. */
int recording_launch(size_t index, recording_launch_record* out);
/* Forgets launches and failures; keeps devices, contexts and memory. */
void recording_reset(void);

/* The calls of `api` ("cuLaunchKernelEx") answer `status`: after `skip` good ones, `times` times. */
void recording_fail(const char* api, int status, int skip, int times);
/* With 1, calls of `api` wait, until it is set to 0; a reset leaves that as it is. */
void recording_hold(const char* api, int hold);
/* How often `api` was called since the last reset, by those that may be told to fail. */
size_t recording_calls(const char* api);
/* Device allocations that were not freed. */
size_t recording_live_allocations(void);
/* Libraries that were not unloaded. */
size_t recording_live_libraries(void);
/* With 1, launches, clearing and new addresses of tensor maps are not written down, as fast as can be: what a benchmark
 * compares with. With 2, launches besides leave the first-level caches of the processor full of other things, as a driver does. */
void recording_set_fast(int fast);
/* Makes the device's context end with its memory, as cuDevicePrimaryCtxReset does: the next retain gives another one, in which
 * the next allocations have the old addresses. */
void recording_reset_context(int device);
/* 1 while a call of the driver is under way: what it allocates is not its caller's. */
int recording_is_busy(void);
/* What is read as clock reasons by NVML. */
void recording_set_throttle_reasons(unsigned long long reasons);

#ifdef __cplusplus
}
#endif

#endif
