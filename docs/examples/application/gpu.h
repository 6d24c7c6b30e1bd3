/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_EXAMPLES_GPU_H
#define TILEWRIGHT_EXAMPLES_GPU_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What the example applications need of a GPU besides Tilewright: memory, and copies to it and back. A real application
 * has this from the CUDA runtime or from its framework; here it is taken from the driver at run time, so that the examples
 * build on a machine without CUDA. Any failure ends the program, with a text. One thread. */

typedef struct gpu_driver {
  int (*init)(unsigned);
  int (*retain_context)(void**, int);
  int (*set_context)(void*);
  int (*allocate)(uint64_t*, size_t);
  int (*release)(uint64_t);
  int (*copy_to)(uint64_t, const void*, size_t);
  int (*copy_from)(void*, uint64_t, size_t);
  int (*synchronize)(void);
  int (*error_text)(int, const char**);
  int (*create_stream)(void**, unsigned);
  int (*begin_capture)(void*, int);
  int (*end_capture)(void*, void**);
  int (*instantiate)(void**, void*, unsigned long long);
  int (*launch_graph)(void*, void*);
} gpu_driver;

static gpu_driver gpu;

static inline void* gpu_find(void* library, const char* name) {
  void* address = dlsym(library, name);
  if (address == NULL) {
    fprintf(stderr, "the CUDA driver has no %s\n", name);
    exit(1);
  }
  return address;
}

static inline void gpu_check(int status, const char* what) {
  const char* text = NULL;
  if (status == 0) return;
  if (gpu.error_text(status, &text) != 0 || text == NULL) text = "unknown error";
  fprintf(stderr, "%s failed: %s (%d)\n", what, text, status);
  exit(1);
}

/* Opens the driver and makes the first GPU's context current on this thread. */
static inline void gpu_open(void) {
  const char* chosen = getenv("TILEWRIGHT_LIBCUDA");
  void* library = dlopen(chosen != NULL ? chosen : "libcuda.so.1", RTLD_NOW);
  void* context = NULL;
  if (library == NULL) {
    fprintf(stderr, "there is no CUDA driver: %s\n", dlerror());
    exit(1);
  }
  *(void**)&gpu.init = gpu_find(library, "cuInit");
  *(void**)&gpu.retain_context = gpu_find(library, "cuDevicePrimaryCtxRetain");
  *(void**)&gpu.set_context = gpu_find(library, "cuCtxSetCurrent");
  *(void**)&gpu.allocate = gpu_find(library, "cuMemAlloc_v2");
  *(void**)&gpu.release = gpu_find(library, "cuMemFree_v2");
  *(void**)&gpu.copy_to = gpu_find(library, "cuMemcpyHtoD_v2");
  *(void**)&gpu.copy_from = gpu_find(library, "cuMemcpyDtoH_v2");
  *(void**)&gpu.synchronize = gpu_find(library, "cuCtxSynchronize");
  *(void**)&gpu.error_text = gpu_find(library, "cuGetErrorString");
  *(void**)&gpu.create_stream = gpu_find(library, "cuStreamCreate");
  *(void**)&gpu.begin_capture = gpu_find(library, "cuStreamBeginCapture_v2");
  *(void**)&gpu.end_capture = gpu_find(library, "cuStreamEndCapture");
  *(void**)&gpu.instantiate = gpu_find(library, "cuGraphInstantiateWithFlags");
  *(void**)&gpu.launch_graph = gpu_find(library, "cuGraphLaunch");
  gpu_check(gpu.init(0), "starting the CUDA driver");
  gpu_check(gpu.retain_context(&context, 0), "opening the GPU");
  gpu_check(gpu.set_context(context), "making the context current");
}

static inline void* gpu_allocate(size_t bytes) {
  uint64_t address = 0;
  gpu_check(gpu.allocate(&address, bytes), "allocating device memory");
  return (void*)(uintptr_t)address;
}

static inline void gpu_release(void* memory) { gpu_check(gpu.release((uintptr_t)memory), "freeing device memory"); }

/* Waits for the copy: of pageable memory it may go on after the call, and streams of gpu_create_stream() do not wait. */
static inline void gpu_copy_to(void* memory, const void* from, size_t bytes) {
  gpu_check(gpu.copy_to((uintptr_t)memory, from, bytes), "copying to the device");
  gpu_check(gpu.synchronize(), "copying to the device");
}

/* Waits for the launches made before. */
static inline void gpu_copy_from(void* to, const void* memory, size_t bytes) {
  gpu_check(gpu.synchronize(), "running the kernels");
  gpu_check(gpu.copy_from(to, (uintptr_t)memory, bytes), "copying from the device");
}

static inline void* gpu_create_stream(void) {
  void* stream = NULL;
  gpu_check(gpu.create_stream(&stream, 1), "creating a stream");
  return stream;
}

/* What is launched on the stream from here on is written down, and not run. */
static inline void gpu_begin_capture(void* stream) { gpu_check(gpu.begin_capture(stream, 1), "beginning to capture"); }

/* A graph of what was launched since, to be run any number of times. */
static inline void* gpu_end_capture(void* stream) {
  void *graph = NULL, *executable = NULL;
  gpu_check(gpu.end_capture(stream, &graph), "capturing");
  gpu_check(gpu.instantiate(&executable, graph, 0), "making a graph");
  return executable;
}

static inline void gpu_run(void* graph, void* stream) { gpu_check(gpu.launch_graph(graph, stream), "running a graph"); }

#endif
