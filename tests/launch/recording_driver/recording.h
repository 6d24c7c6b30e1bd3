/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_RECORDING_H
#define TILEWRIGHT_TESTS_RECORDING_H

#include <stddef.h>

/* Replaces libcuda.so.1 (and NVML), so that the whole launch path runs on a machine without a GPU: it has fictional
 * devices, host memory, and kernels that compute nothing: their launches are recorded. It checks its arguments as
 * strictly as the driver does. TILEWRIGHT_LIBCUDA selects it.
 *
 * Its binaries are text: "tilewright-recording\n" and a line a kernel, "SYMBOL SIZE SIZE ...", with the size of each
 * parameter in bytes. It also accepts a real cubin (ELF): any symbol is found in it, and parameters are not recorded.
 *
 * Environment variables, for processes that cannot call the functions below:
 *   TILEWRIGHT_RECORDING_DEVICES  the number of devices (1)
 *   TILEWRIGHT_RECORDING_DEVICE   "NAME:COMPUTE_CAPABILITY:SMS", such as "NVIDIA H200:90:132"
 *   TILEWRIGHT_RECORDING_FAIL     "cuInit:999": all calls of that function return this status
 *   TILEWRIGHT_RECORDING_LOG      a file for one line a launch
 *
 * All functions are for any thread. */

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
  unsigned long long context; /* the context's id */
  unsigned param_count;
  unsigned param_sizes[RECORDING_MAX_PARAMS];
  unsigned char params[RECORDING_MAX_PARAMS][RECORDING_MAX_PARAM_BYTES];
} recording_launch_record;

/* Launches since the last reset; a graph's launches count each time it is launched. */
size_t recording_launch_count(void);
/* Returns 0, or 1 if there is no launch `index`. */
int recording_launch(size_t index, recording_launch_record* out);
/* Forgets launches and failures; keeps devices, contexts and memory. */
void recording_reset(void);

/* Makes calls of `api` ("cuLaunchKernelEx") return `status`: after `skip` good calls, `times` times. */
void recording_fail(const char* api, int status, int skip, int times);
/* With 1, calls of `api` wait until it is set to 0. A reset does not change it. */
void recording_hold(const char* api, int hold);
/* The calls of `api` since the last reset; counts the functions that can be made to fail. */
size_t recording_calls(const char* api);
/* Device allocations not yet freed. */
size_t recording_live_allocations(void);
/* Libraries not yet unloaded. */
size_t recording_live_libraries(void);
/* With 1, launches, clearing and new addresses of tensor maps are not recorded: the fast baseline of a
 * benchmark. With 2, launches also evict the processor's first-level caches, as a driver does. */
void recording_set_fast(int fast);
/* Ends the device's context with its memory, as cuDevicePrimaryCtxReset does. The next retain returns a new context, in
 * which the next allocations have the old addresses. */
void recording_reset_context(int device);
/* 1 during a call of the driver: its allocations are not the caller's. */
int recording_is_busy(void);
/* Sets NVML's clock reasons. */
void recording_set_throttle_reasons(unsigned long long reasons);

#ifdef __cplusplus
}
#endif

#endif
