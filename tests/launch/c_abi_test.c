/* SPDX-License-Identifier: Apache-2.0 */
/* c_abi_test CACHE: right and wrong uses of tilewright.h from C, against the sample cache and the driver
 * that TILEWRIGHT_LIBCUDA names (the recording one). Exits with the number of failed expectations. For other faults
 * see c_faults_test.c. */
#include "tests/launch/c_test.h"

static void opens_with_and_without_options(const char* cache) {
  tw_launcher* launcher = NULL;
  tw_options options = {0};
  unsigned char later[sizeof(tw_options) + 16] = {0};
  size_t size;

  EXPECT(tw_open(cache, &launcher) == TW_OK && launcher != NULL);
  tw_close(launcher);
  EXPECT_ERROR(tw_open("/nonexistent/cache.db", &launcher), TW_ERROR_CACHE, "/nonexistent/cache.db");
  EXPECT(launcher == NULL);
  EXPECT_ERROR(tw_open(cache, NULL), TW_ERROR_USAGE, "out is null");

  options.size = sizeof options;
  options.cache = cache;
  EXPECT(tw_open_with(&options, &launcher) == TW_OK);
  tw_close(launcher);
  EXPECT_ERROR(tw_open_with(&options, NULL), TW_ERROR_USAGE, "out is null");
  EXPECT_ERROR(tw_open_with(NULL, &launcher), TW_ERROR_USAGE, "options is null");
  options.size = 0;
  EXPECT_ERROR(tw_open_with(&options, &launcher), TW_ERROR_USAGE, "tw_options.size is 0");
  options.size = sizeof options.size;
  EXPECT_ERROR(tw_open_with(&options, &launcher), TW_ERROR_USAGE, "sizeof(tw_options)");
  options.size = (size_t)-1;
  EXPECT_ERROR(tw_open_with(&options, &launcher), TW_ERROR_USAGE, "sizeof(tw_options)");

  /* A program of an earlier header knows only the first fields; one of a later header, more than exist. */
  options.size = offsetof(tw_options, allow_shared_cache) + sizeof options.allow_shared_cache;
  EXPECT(tw_open_with(&options, &launcher) == TW_OK);
  tw_close(launcher);
  options.size = size = sizeof later;
  memcpy(later, &options, sizeof options);
  EXPECT(tw_open_with((const tw_options*)(const void*)later, &launcher) == TW_OK);
  tw_close(launcher);
  later[size - 1] = 1;
  EXPECT_ERROR(tw_open_with((const tw_options*)(const void*)later, &launcher), TW_ERROR_USAGE, "a later version");
  EXPECT(launcher == NULL);
}

static void gives_ops(tw_launcher* launcher) {
  tw_op *op = NULL, *same = NULL;
  char* json = NULL;
  EXPECT(tw_op_get(launcher, "scale[dtype=f16]", &op) == TW_OK);
  EXPECT(tw_op_get(launcher, "scale[round=no,dtype=f16]", &same) == TW_OK && same == op);
  EXPECT_ERROR(tw_op_get(launcher, "scalle[dtype=f16]", &op), TW_ERROR_USAGE, "scale");
  EXPECT(op == NULL);
  EXPECT_ERROR(tw_op_get(launcher, "scale[dtype=f8]", &op), TW_ERROR_USAGE, "f8");
  EXPECT_ERROR(tw_op_get(launcher, "", &op), TW_ERROR_USAGE, "");
  EXPECT_ERROR(tw_op_get(launcher, "scale@00000000000000000000000000000000[dtype=f16]", &op), TW_ERROR_INTERFACE,
               "scale");
  EXPECT_ERROR(tw_op_get(launcher, NULL, &op), TW_ERROR_USAGE, "the spec is null");
  EXPECT_ERROR(tw_op_get(launcher, "scale", NULL), TW_ERROR_USAGE, "out is null");
  EXPECT_ERROR(tw_op_get(NULL, "scale", &op), TW_ERROR_USAGE, "the launcher is null");

  EXPECT(tw_op_describe(same, &json) == TW_OK);
  EXPECT(strstr(json, "\"shape\":[\"rows\",\"cols\"],\"align\":2,\"alias\":[\"x\"]") != NULL);
  tw_free(json);
  EXPECT_ERROR(tw_op_describe(NULL, &json), TW_ERROR_USAGE, "the op is null");
  EXPECT(json == NULL);
  EXPECT_ERROR(tw_op_describe(same, NULL), TW_ERROR_USAGE, "json is null");
}

static void tells_dims_from_extents(tw_op* scale) {
  const int64_t matrix[3] = {2, 4, 64}, other[2] = {8, 32}, empty[2] = {0, 64}, huge[3] = {INT64_MAX, 2, 64};
  const int64_t* shapes[3] = {matrix, matrix, NULL};
  size_t ranks[3] = {3, 3, 0};
  int64_t dims[2] = {0, 0};
  EXPECT(tw_op_dims(scale, shapes, ranks, 3, dims, 2) == TW_OK && dims[0] == 8 && dims[1] == 64);
  shapes[1] = other;
  ranks[1] = 2;
  EXPECT_ERROR(tw_op_dims(scale, shapes, ranks, 3, dims, 2), TW_ERROR_USAGE, "'y' has the extent 32");
  shapes[0] = shapes[1] = empty;
  ranks[0] = 2;
  EXPECT_ERROR(tw_op_dims(scale, shapes, ranks, 3, dims, 2), TW_ERROR_USAGE, "dim 'rows' is 0");
  shapes[0] = huge;
  ranks[0] = 3;
  EXPECT_ERROR(tw_op_dims(scale, shapes, ranks, 3, dims, 2), TW_ERROR_USAGE, "more than 2^63-1 rows");
  ranks[0] = 1;
  EXPECT_ERROR(tw_op_dims(scale, shapes, ranks, 3, dims, 2), TW_ERROR_USAGE, "it needs 2 of them");
  shapes[0] = NULL;
  EXPECT_ERROR(tw_op_dims(scale, shapes, ranks, 3, dims, 2), TW_ERROR_USAGE, "the shape of 'x' is null");
  shapes[0] = shapes[1] = matrix;
  ranks[0] = ranks[1] = 3;
  EXPECT_ERROR(tw_op_dims(scale, shapes, ranks, 2, dims, 2), TW_ERROR_USAGE, "takes 3 arguments; 2 shapes");
  EXPECT_ERROR(tw_op_dims(scale, shapes, ranks, (size_t)-1, dims, 2), TW_ERROR_USAGE, "takes 3 arguments");
  EXPECT_ERROR(tw_op_dims(scale, shapes, ranks, 3, dims, 1), TW_ERROR_USAGE, "has 2 dims; there is room for 1");
  EXPECT_ERROR(tw_op_dims(scale, shapes, ranks, 3, NULL, 2), TW_ERROR_USAGE, "dims is null");
  EXPECT_ERROR(tw_op_dims(scale, NULL, ranks, 3, dims, 2), TW_ERROR_USAGE, "shapes is null");
  EXPECT_ERROR(tw_op_dims(scale, shapes, NULL, 3, dims, 2), TW_ERROR_USAGE, "ranks is null");
  EXPECT_ERROR(tw_op_dims(NULL, shapes, ranks, 3, dims, 2), TW_ERROR_USAGE, "the op is null");
}

static void launches(tw_op* scale) {
  const int64_t no_rows[2] = {0, 64}, negative[2] = {8, -1};
  const size_t before = launch_count();
  static recording_launch_record record;
  float factor = 0;
  scale_call call;
  fill(&call);
  EXPECT(tw_launch(scale, NULL, kScaleDims, 2, call.args, 3) == TW_OK);
  EXPECT(launch_count() == before + 1 && launch_at(before, &record) == 0 && strcmp(record.symbol, "wide_symbol") == 0);
  memcpy(&factor, record.params[2], sizeof factor);
  EXPECT(factor == 0.5F);

  EXPECT_ERROR(tw_launch(scale, NULL, no_rows, 2, call.args, 3), TW_ERROR_USAGE, "dim 'rows' is 0");
  EXPECT_ERROR(tw_launch(scale, NULL, negative, 2, call.args, 3), TW_ERROR_USAGE, "dim 'cols' is -1");
  EXPECT_ERROR(tw_launch(scale, NULL, kScaleDims, 1, call.args, 3), TW_ERROR_USAGE, "takes 2 dims");
  EXPECT_ERROR(tw_launch(scale, NULL, kScaleDims, (size_t)-1, call.args, 3), TW_ERROR_USAGE, "takes 2 dims");
  EXPECT_ERROR(tw_launch(scale, NULL, NULL, 2, call.args, 3), TW_ERROR_USAGE, "dims is null");
  EXPECT_ERROR(tw_launch(scale, NULL, kScaleDims, 2, call.args, 2), TW_ERROR_USAGE, "the launch passes 2");
  EXPECT_ERROR(tw_launch(scale, NULL, kScaleDims, 2, call.args, (size_t)-1), TW_ERROR_USAGE, "takes 3 arguments");
  EXPECT_ERROR(tw_launch(scale, NULL, kScaleDims, 2, NULL, 3), TW_ERROR_USAGE, "args is null");
  EXPECT_ERROR(tw_launch(NULL, NULL, kScaleDims, 2, call.args, 3), TW_ERROR_USAGE, "the op is null");
  call.args[1] = NULL;
  EXPECT_ERROR(tw_launch(scale, NULL, kScaleDims, 2, call.args, 3), TW_ERROR_USAGE,
               "the value of the argument 'y' is null");
  call.args[1] = &call.y;
  call.y = 0;
  EXPECT_ERROR(tw_launch(scale, NULL, kScaleDims, 2, call.args, 3), TW_ERROR_USAGE,
               "the address of the argument 'y' is null");
  call.y = 0x7f0000000201;
  EXPECT_ERROR(tw_launch(scale, NULL, kScaleDims, 2, call.args, 3), TW_ERROR_USAGE, "y must be aligned to 2 bytes");
  EXPECT(launch_count() == before + 1);
}

static void says_what_is_served(tw_launcher* launcher, tw_op* scale) {
  char* json = NULL;
  EXPECT(tw_query(scale, kScaleDims, 2, &json) == TW_OK && strstr(json, "\"fit\":\"exact\"") != NULL);
  tw_free(json);
  EXPECT_ERROR(tw_query(scale, kScaleDims, 1, &json), TW_ERROR_USAGE, "takes 2 dims");
  EXPECT(json == NULL);
  EXPECT_ERROR(tw_query(scale, NULL, 2, &json), TW_ERROR_USAGE, "dims is null");
  EXPECT_ERROR(tw_query(scale, kScaleDims, 2, NULL), TW_ERROR_USAGE, "json is null");
  EXPECT_ERROR(tw_query(NULL, kScaleDims, 2, &json), TW_ERROR_USAGE, "the op is null");

  EXPECT(tw_preload(scale, kScaleDims, 2) == TW_OK);
  EXPECT_ERROR(tw_preload(scale, kScaleDims, 3), TW_ERROR_USAGE, "takes 2 dims");
  EXPECT_ERROR(tw_preload(scale, NULL, 2), TW_ERROR_USAGE, "dims is null");
  EXPECT_ERROR(tw_preload(NULL, kScaleDims, 2), TW_ERROR_USAGE, "the op is null");

  EXPECT(tw_refresh(launcher) == TW_OK);
  EXPECT_ERROR(tw_refresh(NULL), TW_ERROR_USAGE, "the launcher is null");
}

static void serves_every_extent_by_its_bucket(tw_launcher* launcher) {
  static recording_launch_record record;
  const int64_t dims[3] = {100, 3, 8};
  int64_t strides[2] = {24, 8}, tokens = 0;
  uintptr_t x = 0x7f0000000100, y = 0x7f0000000400;
  void* args[4] = {&x, &y, &strides[0], &strides[1]};
  tw_op* ragged = NULL;
  char* json = NULL;
  EXPECT(tw_op_get(launcher, "ragged", &ragged) == TW_OK);
  EXPECT(tw_query(ragged, dims, 3, &json) == TW_OK && strstr(json, "{tokens=128,heads=3,d=8}") != NULL);
  tw_free(json);
  const size_t before = launch_count();
  EXPECT(tw_launch(ragged, NULL, dims, 3, args, 4) == TW_OK && launch_at(before, &record) == 0);
  memcpy(&tokens, record.params[2], sizeof tokens);
  EXPECT(tokens == 100);
}

static void takes_workspace(tw_launcher* launcher) {
  const uint64_t a = 0x7f0000000400, y = 0x7f0000000800;
  const void* const values[2] = {&a, &y};
  void* args[2];
  tw_op* reduce = NULL;
  size_t bytes = 0;
  void* memory;
  memcpy(args, values, sizeof args);
  EXPECT(tw_op_get(launcher, "reduce", &reduce) == TW_OK);
  EXPECT(tw_workspace_bytes(reduce, kReduceDims, 2, &bytes) == TW_OK && bytes > 0);
  EXPECT_ERROR(tw_workspace_bytes(reduce, kReduceDims, 2, NULL), TW_ERROR_USAGE, "out is null");
  EXPECT_ERROR(tw_workspace_bytes(reduce, NULL, 2, &bytes), TW_ERROR_USAGE, "dims is null");
  EXPECT(bytes == 0);
  bytes = 1;
  EXPECT_ERROR(tw_workspace_bytes(reduce, kReduceDims, 0, &bytes), TW_ERROR_USAGE, "takes 2 dims");
  EXPECT(bytes == 0);
  EXPECT_ERROR(tw_workspace_bytes(NULL, kReduceDims, 2, &bytes), TW_ERROR_USAGE, "the op is null");

  EXPECT(tw_workspace_bytes(reduce, kReduceDims, 2, &bytes) == TW_OK);
  memory = gpu_allocate(bytes);
  EXPECT(tw_set_workspace(launcher, NULL, memory, bytes) == TW_OK);
  EXPECT(tw_launch(reduce, NULL, kReduceDims, 2, args, 2) == TW_OK);
  EXPECT(tw_set_workspace(launcher, NULL, memory, bytes - 1) == TW_OK);
  EXPECT_ERROR(tw_launch(reduce, NULL, kReduceDims, 2, args, 2), TW_ERROR_USAGE, "bytes of workspace");
  EXPECT_ERROR(tw_set_workspace(launcher, NULL, (char*)memory + 8, bytes), TW_ERROR_USAGE, "aligned to 256");
  EXPECT_ERROR(tw_set_workspace(NULL, NULL, memory, bytes), TW_ERROR_USAGE, "the launcher is null");
  EXPECT(tw_set_workspace(launcher, NULL, NULL, 0) == TW_OK);
  EXPECT(tw_launch(reduce, NULL, kReduceDims, 2, args, 2) == TW_OK);
  gpu_release(memory);
}

int main(int argc, char** argv) {
  tw_launcher* launcher = NULL;
  tw_op* scale = NULL;
  if (argc != 2) return 1;
  EXPECT(strcmp(tw_last_error(), "") == 0);
  EXPECT(strchr(tw_version(), '.') != NULL);
  tw_free(NULL);
  tw_close(NULL);
  opens_with_and_without_options(argv[1]);

  open_driver();
  EXPECT(tw_open(argv[1], &launcher) == TW_OK);
  gives_ops(launcher);
  EXPECT(tw_op_get(launcher, "scale[dtype=f16]", &scale) == TW_OK);
  tells_dims_from_extents(scale);
  launches(scale);
  says_what_is_served(launcher, scale);
  serves_every_extent_by_its_bucket(launcher);
  takes_workspace(launcher);
  tw_close(launcher);
  return failures;
}
