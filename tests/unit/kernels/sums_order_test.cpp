// SPDX-License-Identifier: Apache-2.0
// Sums over rows by each implementation: the same bits, whatever the order of blocks and threads. GpuSums launches them
// on a GPU.
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::test::sums_order_test {
namespace {

constexpr int kLaunches = 4;

std::string op_of(const std::string& key) { return key.substr(0, key.find('[')); }

/// Expects a config of each implementation that serves the problem, and returns these implementations.
std::set<std::string> expect_same_bits(const std::string& key) {
  BuiltInOp op(op_of(key));
  const Problem problem = op.problem(key);
  std::set<std::string> served;
  for (const auto& implementation : op.definition().implementations) {
    const std::string& name = implementation.recipe.name;
    for (const Config& config : op.sample(problem, name, 1)) {
      served.insert(name);
      const auto outputs = op.outputs(problem, config, kLaunches);
      for (const auto& each : outputs) EXPECT_TRUE(each == outputs[0]) << config.text() << " on " << key;
    }
  }
  return served;
}

using Names = std::set<std::string>;

TEST(SumsOrder, leaves_the_bits_of_weights_gradients) {
  for (const std::string op : {"rmsnorm_bwd", "layernorm_bwd"}) {
    EXPECT_EQ(expect_same_bits(op + "[dtype=bf16]{rows=601,cols=64}"), (Names{"rows", "reread"}));
    EXPECT_EQ(expect_same_bits(op + "[dtype=f32]{rows=601,cols=67}"), (Names{"rows", "ragged", "reread"}));
    EXPECT_TRUE(expect_same_bits(op + "[dtype=bf16]{rows=9,cols=16384}").contains("cluster"));
    EXPECT_EQ(expect_same_bits(op + "[dtype=bf16]{rows=9,cols=16411}"), (Names{"ragged_cluster", "reread"}));
  }
}

TEST(SumsOrder, leaves_the_bits_of_biases_gradients) {
  EXPECT_EQ(expect_same_bits("bias_act_dropout_bwd[dtype=bf16,act=gelu]{rows=601,cols=64}"), (Names{"strips", "ring"}));
  EXPECT_EQ(expect_same_bits("bias_act_dropout_bwd[dtype=f32,act=none]{rows=301,cols=61}"), (Names{"strips"}));
}

TEST(SumsOrder, leaves_the_bits_of_tables_gradients) {
  for (const char* key :
       {"embedding_bwd[dtype=f32]{tokens=2100,vocab=50,d=61}", "embedding_bwd[dtype=bf16]{tokens=9000,vocab=5,d=16}"}) {
    EXPECT_EQ(expect_same_bits(key), (Names{"rows", "sorted"}));
  }
}

// Adds that are in the order of blocks, which the tests above must not miss.
constexpr const char* kAtomicToml = R"toml([op]
name = "atomic_sum"
summary = "y = the sum of x over rows"
dims = ["rows", "cols"]
dtypes = ["f32"]
args = [{ name = "x", role = "in", shape = ["rows", "cols"] }, { name = "y", role = "out", shape = ["cols"] }]
params = ["ptr:x", "ptr:y", "dim:rows", "dim:cols"]
bytes = "4 * (rows + 1) * cols"
flops = "rows * cols"
base = "by_blocks{num_warps=1}"
reference = { source = "atomic_sum.cu", entry = "atomic_sum_reference" }
tolerance = { f32 = [1e-3, 1e-4] }
grid = { rows = "100", cols = "32" }

[[implementation]]
name = "by_blocks"
source = "atomic_sum.cu"
space = { num_warps = [1] }
kernel = [
  { entry = "atomic_sum_begin", grid = ["1"], block = ["32 * num_warps"] },
  { entry = "atomic_sum_add", grid = ["min(rows, 2147483647)"], block = ["32 * num_warps"] },
]
)toml";
constexpr const char* kAtomicSource = R"cu(
template <class Config>
__global__ void atomic_sum_begin(const float*, float* y, long long, long long cols) {
  for (long long i = threadIdx.x; i < cols; i += blockDim.x) y[i] = 0.0f;
}
template <class Config>
__global__ void atomic_sum_add(const float* x, float* y, long long rows, long long cols) {
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    for (long long i = threadIdx.x; i < cols; i += blockDim.x) atomicAdd(y + i, x[row * cols + i]);
  }
}
template <class Config>
__global__ void atomic_sum_reference(const float* x, double* y, long long rows, long long cols) {
  for (long long i = blockIdx.x * 256 + threadIdx.x; i < cols; i += gridDim.x * 256) {
    y[i] = 0.0;
    for (long long row = 0; row < rows; ++row) y[i] += static_cast<double>(x[row * cols + i]);
  }
}
)cu";

TEST(SumsOrder, shows_in_the_bits_of_atomic_sums) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "atomic_sum");
  std::ofstream(folder.path() / "atomic_sum/atomic_sum.toml") << kAtomicToml;
  std::ofstream(folder.path() / "atomic_sum/atomic_sum.cu") << kAtomicSource;
  BuiltInOp op("atomic_sum", {folder.path()});
  const Problem problem = op.problem("atomic_sum[dtype=f32]{rows=100,cols=32}");
  EXPECT_EQ(op.fault(problem, op.definition().base), "");
  const auto outputs = op.outputs(problem, op.definition().base, kLaunches);
  EXPECT_GT((std::set<std::vector<std::byte>>(outputs.begin(), outputs.end()).size()), 1U);
}

}  // namespace
}  // namespace tilewright::test::sums_order_test
