// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/definition/helpers.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "cache/base/error.hpp"

namespace tilewright::test {

const std::string_view kMiniToml = R"mini([op]
name = "mini"
summary = "y = x"
dims = ["rows", "cols"]
dtypes = ["f32", "bf16"]
attributes = { act = ["none", "gelu"] }
args = [
  { name = "x", role = "in", type = "dtype", shape = ["rows", "cols"] },
  { name = "y", role = "out", type = "dtype", shape = ["rows", "cols"], alias = ["x"] },
  { name = "eps", role = "scalar", type = "f32", when = "act == 'gelu'" },
]
bytes = "2 * rows * cols * sizeof(dtype)"
flops = "rows * cols"
base = "simple{num_warps=4,static_dims=0}"
reference = { source = "mini.cu", entry = "mini_reference" }
tolerance = { f32 = [1e-6, 1e-5], bf16 = [1e-4, 1e-2] }
sample = { x = { fill = "uniform", scale = 2 }, eps = 0.5 }
grid = { rows = "1..64x2", cols = 256 }

[[implementation]]
name = "simple"
source = "mini.cu"
requires = "sm_80"
space = { num_warps = [1, 4], static_dims = [0, 1] }
constraints = ["num_warps * 32 <= max_threads_per_block"]
specialize = ["cols"]
align = { x = "sizeof(dtype)" }

[[implementation.kernel]]
entry = "mini_simple"
when = "rows > 0"
params = ["ptr:x", "ptr:y", "scalar:eps", "workspace:sums", "dim:rows", "dim:cols"]
grid = ["min(rows, resident_blocks)"]
block = ["num_warps * 32"]
shared_bytes = "num_warps * 4"
workspace.sums = { bytes = "rows * 4", zero = "each" }

[[implementation]]
name = "mapped"
source = "mini.cu"
requires = "sm_90"
space = { block = [32, 64] }

[[implementation.kernel]]
entry = "mini_mapped"
params = ["map:x", "ptr:y"]
grid = ["min(rows, 1024)"]
block = [128]
attributes = { cluster = [2] }
map.x = { arg = "x", dims = ["cols", "rows"], box = ["block", 1], swizzle = 64 }
)mini";

const std::string_view kMiniSource = R"mini(#include "device/config.cuh"
template <class Config>
__global__ void mini_simple(const typename Config::dtype* x, typename Config::dtype* y, float eps, float* sums,
                            long long rows, long long cols) {}
template <class Config>
__global__ void mini_mapped(const __grid_constant__ tilewright::TensorMap x, typename Config::dtype* y) {}
template <class Config>
__global__ void mini_reference(const typename Config::dtype* x, double* y, float eps, long long rows, long long cols) {}
)mini";

std::filesystem::path TempFolder::write(const std::filesystem::path& relative, std::string_view text) const {
  std::filesystem::path file = path() / relative;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + file.string());
  return file;
}

std::filesystem::path TempFolder::write_mini(std::string_view toml, std::string_view source) const {
  write("mini/mini.cu", source);
  return write("mini/mini.toml", toml);
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string_view::npos) throw std::logic_error(fmt::format("no '{}' to replace", from));
  return std::string(text.substr(0, at)).append(to).append(text.substr(at + from.size()));
}

std::filesystem::path data_dir() { return TILEWRIGHT_TEST_DATA; }
std::filesystem::path kernels_source_dir() { return TILEWRIGHT_SOURCE_DIR "/kernels"; }
std::filesystem::path examples_dir() { return TILEWRIGHT_SOURCE_DIR "/docs/examples"; }

OpDefinition load_mix() { return load_definition(data_dir() / "ops/mix/mix.toml", {kernels_source_dir()}); }

std::vector<std::string> mistakes_of(const std::filesystem::path& toml_file) {
  std::vector<std::string> found;
  try {
    static_cast<void>(load_definition(toml_file, {kernels_source_dir()}));
  } catch (const DefinitionError& error) {
    for (const Diagnostic& mistake : error.mistakes()) {
      EXPECT_EQ(mistake.file, toml_file.string());
      found.push_back(fmt::format("{}:{}: {}", mistake.line, mistake.column, mistake.message));
    }
  }
  return found;
}

}  // namespace tilewright::test
