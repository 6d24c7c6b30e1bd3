/* SPDX-License-Identifier: Apache-2.0 */
/* c_faults_test CACHE: faults under a program in C, with copies of the sample cache and the driver that
 * TILEWRIGHT_LIBCUDA names (the recording one): each gives the code and text of tilewright.h, and later calls
 * are served. Exits with the number of failed expectations. */
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/launch/c_test.h"

/* The copy's path. */
static char copy[64];

/* Makes a new copy of the cache, with `size` bytes at `at` replaced by `bytes`. */
static void copy_with(const char* cache, long at, const char* bytes, size_t size) {
  char block[4096];
  FILE* from = fopen(cache, "rb");
  FILE* to = fopen(copy, "wb");
  size_t read = 0;
  if (from == NULL || to == NULL) exit(100);
  while ((read = fread(block, 1, sizeof block, from)) > 0) EXPECT(fwrite(block, 1, read, to) == read);
  EXPECT(fseek(to, at, SEEK_SET) == 0 && fwrite(bytes, 1, size, to) == size);
  fclose(from);
  fclose(to);
  EXPECT(chmod(copy, 0644) == 0);
}

static int launch(tw_op* scale, int64_t rows) {
  const int64_t dims[2] = {rows, 64};
  scale_call call;
  fill(&call);
  return tw_launch(scale, NULL, dims, 2, call.args, 3);
}

static tw_op* scale_of(tw_launcher* launcher) {
  tw_op* scale = NULL;
  EXPECT(tw_op_get(launcher, "scale[dtype=f16]", &scale) == TW_OK);
  return scale;
}

/* Expects the copy to be refused with `part`; with a fallback, the fallback serves and says why. */
static void is_no_cache(const char* cache, const char* part) {
  tw_launcher* launcher = NULL;
  tw_options options = {0};
  char* json = NULL;
  EXPECT_ERROR(tw_open(copy, &launcher), TW_ERROR_CACHE, part);
  EXPECT(launcher == NULL && strstr(tw_last_error(), copy) != NULL);
  options.size = sizeof options;
  options.cache = copy;
  options.fallback = cache;
  EXPECT(tw_open_with(&options, &launcher) == TW_OK);
  EXPECT(tw_query(scale_of(launcher), kScaleDims, 2, &json) == TW_OK && strstr(json, "\"cache_error\"") != NULL &&
         strstr(json, copy) != NULL && strstr(json, cache) != NULL);
  tw_free(json);
  tw_close(launcher);
  options.fallback = "/nonexistent/fallback.db";
  EXPECT_ERROR(tw_open_with(&options, &launcher), TW_ERROR_CACHE, "Nor can the fallback be used");
}

static void refuses_caches(const char* cache) {
  const char schema_9999[4] = {0, 0, 0x27, 0x0f};
  const long user_version = 60; /* in the header of an SQLite database */
  tw_launcher* launcher = NULL;
  tw_options options = {0};
  copy_with(cache, user_version, schema_9999, sizeof schema_9999);
  is_no_cache(cache, "has schema 9999");
  copy_with(cache, 0, "groceries: milk", 16);
  is_no_cache(cache, "is not a cache");
  copy_with(cache, 0, "", 0);
  EXPECT(truncate(copy, 5000) == 0);
  is_no_cache(cache, "is damaged");
  copy_with(cache, 0, "", 0);
  EXPECT(chmod(copy, 0666) == 0);
  is_no_cache(cache, "can be changed by other users");

  options.size = sizeof options;
  options.cache = copy;
  options.allow_shared_cache = 1;
  EXPECT(tw_open_with(&options, &launcher) == TW_OK);
  tw_close(launcher);
  unlink(copy);
}

static void heeds_options(const char* cache) {
  tw_launcher* launcher = NULL;
  tw_options options = {0};
  char text[256] = "";
  FILE* misses;
  options.size = sizeof options;
  options.cache = cache;
  options.misses = copy;
  EXPECT(tw_open_with(&options, &launcher) == TW_OK && launch(scale_of(launcher), 3) == TW_OK);
  tw_close(launcher);
  misses = fopen(copy, "r");
  EXPECT(misses != NULL && fread(text, 1, sizeof text - 1, misses) > 0 && strstr(text, "{rows=3,cols=64}") != NULL);
  if (misses != NULL) fclose(misses);
  unlink(copy);
  options.misses = NULL;

  options.watch_ms = -1;
  EXPECT_ERROR(tw_open_with(&options, &launcher), TW_ERROR_USAGE, "watch_ms is -1");
  options.watch_ms = 1;
  EXPECT(tw_open_with(&options, &launcher) == TW_OK && launch(scale_of(launcher), 8) == TW_OK);
  tw_close(launcher);
  options.watch_ms = 0;

  EXPECT(setenv("TILEWRIGHT_LIBJIT", "/nowhere/libtilewright-jit.so", 1) == 0);
  EXPECT(tw_open_with(&options, &launcher) == TW_OK);
  tw_close(launcher);
  options.jit = 1;
  EXPECT_ERROR(tw_open_with(&options, &launcher), TW_ERROR_USAGE, "/nowhere/libtilewright-jit.so");
  EXPECT(unsetenv("TILEWRIGHT_LIBJIT") == 0);
}

static void needs_a_context(tw_op* scale) {
  int (*current)(void**);
  void* context = NULL;
  const size_t before = launch_count();
  *(void**)&current = gpu_find(driver, "cuCtxGetCurrent");
  EXPECT(current(&context) == 0 && gpu.set_context(NULL) == 0);
  EXPECT_ERROR(launch(scale, 8), TW_ERROR_DEVICE, "no CUDA context is current");
  EXPECT_ERROR(tw_preload(scale, kScaleDims, 2), TW_ERROR_DEVICE, "no CUDA context is current");
  EXPECT(gpu.set_context(context) == 0);
  EXPECT(launch(scale, 8) == TW_OK && launch_count() == before + 1);
}

static void refuses_grids_that_no_gpu_has(tw_op* scale) {
  const size_t before = launch_count();
  EXPECT(launch(scale, INT32_MAX) == TW_OK);
  EXPECT_ERROR(launch(scale, (int64_t)INT32_MAX + 1), TW_ERROR_NO_MATCH, "grid");
  EXPECT(launch_count() == before + 1);
}

static void survives_short_memory(tw_launcher* launcher) {
  void (*recording)(const char*, int, int, int);
  const uint64_t a = 0x7f0000000400, y = 0x7f0000000800;
  const void* const values[2] = {&a, &y};
  const size_t before = launch_count();
  tw_op* reduce = NULL;
  void* args[2];
  memcpy(args, values, sizeof args);
  *(void**)&recording = gpu_find(driver, "recording_fail");
  EXPECT(tw_op_get(launcher, "reduce", &reduce) == TW_OK);
  recording("cuMemAlloc_v2", 2, 0, 1);
  EXPECT_ERROR(tw_launch(reduce, NULL, kReduceDims, 2, args, 2), TW_ERROR_DEVICE, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT(launch_count() == before);
  EXPECT(tw_launch(reduce, NULL, kReduceDims, 2, args, 2) == TW_OK && launch_count() == before + 2);
}

static void refuses_children_by_fork(const char* cache, tw_launcher* launcher, tw_op* scale) {
  const char* const forked = "forked";
  tw_op* op = NULL;
  char* json = NULL;
  size_t bytes = 0;
  int status = 0;
  pid_t child;
  EXPECT(launch(scale, 8) == TW_OK);
  child = fork();
  if (child == 0) {
    failures = 0;
    EXPECT_ERROR(launch(scale, 8), TW_ERROR_DEVICE, forked);
    EXPECT_ERROR(launch(scale, 9), TW_ERROR_DEVICE, forked);
    EXPECT_ERROR(tw_preload(scale, kScaleDims, 2), TW_ERROR_DEVICE, forked);
    EXPECT_ERROR(tw_query(scale, kScaleDims, 2, &json), TW_ERROR_DEVICE, forked);
    EXPECT_ERROR(tw_workspace_bytes(scale, kScaleDims, 2, &bytes), TW_ERROR_DEVICE, forked);
    EXPECT_ERROR(tw_set_workspace(launcher, NULL, NULL, 0), TW_ERROR_DEVICE, forked);
    EXPECT_ERROR(tw_refresh(launcher), TW_ERROR_DEVICE, forked);
    EXPECT_ERROR(tw_op_get(launcher, "reduce", &op), TW_ERROR_DEVICE, forked);
    tw_close(launcher);
    EXPECT(tw_open(cache, &launcher) == TW_OK);
    EXPECT(launch(scale_of(launcher), 8) == TW_OK);
    tw_close(launcher);
    _exit(failures);
  }
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT(launch(scale, 8) == TW_OK);
}

int main(int argc, char** argv) {
  tw_launcher* launcher = NULL;
  char folder[] = "/tmp/tilewright-test-XXXXXX";
  if (argc != 2 || mkdtemp(folder) == NULL) return 1;
  snprintf(copy, sizeof copy, "%s/copy", folder);
  open_driver();
  refuses_caches(argv[1]);
  heeds_options(argv[1]);
  EXPECT(tw_open(argv[1], &launcher) == TW_OK);
  needs_a_context(scale_of(launcher));
  refuses_grids_that_no_gpu_has(scale_of(launcher));
  survives_short_memory(launcher);
  refuses_children_by_fork(argv[1], launcher, scale_of(launcher));
  tw_close(launcher);
  EXPECT(rmdir(folder) == 0);
  return failures;
}
