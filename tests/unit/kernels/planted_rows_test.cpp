// SPDX-License-Identifier: Apache-2.0
// The samples of row ops in which one element is much of a row's sum: right kernels pass, one that loses a part fails.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/temporary_folder.hpp"
#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::planted_rows_test {
namespace {

using ::testing::HasSubstr;

/// The ops with such a sample, and `cross_entropy` with one without smoothing.
constexpr const char* kOps[] = {"softmax",       "rmsnorm",          "layernorm",    "add_rmsnorm",
                                "add_layernorm", "add_rmsnorm_silu", "cross_entropy"};

std::string key(const std::string& op, const char* dtype, int rows, int cols) {
  const std::string more = op == "cross_entropy" ? ",grad=yes" : op == "add_rmsnorm" ? ",store=yes" : "";
  const char* width = op == "cross_entropy" ? "vocab" : "cols";
  return fmt::format("{}[dtype={}{}]{{rows={},{}={}}}", op, dtype, more, rows, width, cols);
}

class PlantedRows : public ::testing::TestWithParam<const char*> {};

TEST_P(PlantedRows, are_right_from_one_column_on_in_each_dtype) {
  BuiltInOp op(GetParam());
  for (const char* dtype : kDtypes) {
    for (const int cols : {1, 2, 3, 61, 257, 4099}) expect_right_base(op, key(GetParam(), dtype, 9, cols));
  }
}

// Tests of each op have the other dtypes.
TEST_P(PlantedRows, in_f16_are_right_by_all_implementations) {
  BuiltInOp op(GetParam());
  std::set<std::string> tested, all;
  for (const auto& implementation : op.definition().implementations) {
    const std::string& name = implementation.recipe.name;
    all.insert(name);
    for (const int cols : {61, 256, 2051, 4096, 16389, 65536, 65541}) {
      const Problem problem = op.problem(key(GetParam(), "f16", 9, cols));
      // The widest problems for what serves no others.
      if (cols > 5000 && tested.contains(name)) break;
      for (const Config& config : op.sample(problem, name, 1)) {
        tested.insert(name);
        EXPECT_EQ(op.fault(problem, config), "");
      }
    }
  }
  all.erase("stream");  // for the loss alone
  EXPECT_EQ(tested, all);
}

INSTANTIATE_TEST_SUITE_P(Of, PlantedRows, ::testing::ValuesIn(kOps),
                         [](const auto& op) { return std::string(op.param); });

/// An op's kernel for which the first warp of a cluster, or its first thread, adds nothing to a row's sum.
struct Loss {
  const char *op, *from, *to;
  const char* key;
  const char* config;
  const char* sample = "planted";  // the first on which it shows
};
void PrintTo(const Loss& loss, std::ostream* out) { *out << loss.op; }

constexpr const char* kLossy = R"cu(
namespace tilewright::row {
template <class Whole>
struct Lossy : Whole {
  template <int kCount, class Valid>
  __device__ static __forceinline__ void add(typename Whole::Partial& partial, float (&values)[kCount],
                                             const Valid& valid) {
    if (threadIdx.x / 32 + blockIdx.x % 16 != 0) Whole::add(partial, values, valid);
  }
};
}  // namespace tilewright::row
)cu";

class LostWarp : public ::testing::TestWithParam<Loss> {};

TEST_P(LostWarp, shows_where_one_element_is_much_of_a_row) {
  const Loss& loss = GetParam();
  const TemporaryFolder folder;
  std::filesystem::copy(test_kernels_dir() / loss.op, folder.path() / loss.op);
  const std::filesystem::path file = folder.path() / loss.op / fmt::format("{}.cu", loss.op);
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  std::string source = text.str();
  constexpr std::string_view kLast = "#include \"device/row/run.cuh\"\n";
  if (const std::size_t at = source.find(kLast); at != std::string::npos) source.insert(at + kLast.size(), kLossy);
  const std::size_t at = source.find(loss.from);
  if (at == std::string::npos) throw std::logic_error(fmt::format("{} has no '{}'", file.string(), loss.from));
  source.replace(at, std::string_view(loss.from).size(), loss.to);
  std::ofstream(file) << source;
  const Config config = Config::parse(loss.config);
  BuiltInOp right(loss.op), wrong(loss.op, {folder.path()});
  EXPECT_EQ(right.fault(right.problem(loss.key), config), "");
  EXPECT_THAT(wrong.fault(wrong.problem(loss.key), config),
              HasSubstr(fmt::format("}}: on the sample '{}': ", loss.sample)));
}

INSTANTIATE_TEST_SUITE_P(
    Of, LostWarp,
    ::testing::Values(Loss{"softmax", "using Statistics = Exponentials<T>;",
                           "using Statistics = Lossy<Exponentials<T>>;", "softmax[dtype=bf16]{rows=3,cols=65536}",
                           "cluster{cluster=16,num_warps=16,vec=8,unroll=1,stages=1,ragged=0,bulk=1}"},
                      Loss{"rmsnorm", "row::MeanSquare, kParts>", "row::Lossy<row::MeanSquare>, kParts>",
                           "rmsnorm[dtype=bf16]{rows=3,cols=65536}",
                           "cluster{cluster=16,num_warps=16,vec=8,unroll=1,stages=1,ragged=0,bulk=1}"},
                      Loss{"softmax_bwd", "return in[0] * in[1];",
                           "return threadIdx.x + blockIdx.x % 16 != 0 ? in[0] * in[1] : 0.0f;",
                           "softmax_bwd[dtype=bf16]{rows=3,cols=131072}",
                           "cluster{cluster=16,num_warps=16,vec=8,chunks=2,static_dims=0}", "last"}),
    [](const auto& loss) { return std::string(loss.param.op); });

}  // namespace
}  // namespace tilewright::test::planted_rows_test
