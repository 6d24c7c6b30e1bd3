// SPDX-License-Identifier: Apache-2.0
// The ops `rmsnorm_bwd` and `layernorm_bwd`: norm_gradient.cuh, ragged_rows.cuh and gradient_sums.cuh of
// kernels/device/row.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <tuple>

#include "tests/temporary_folder.hpp"
#include "tests/unit/kernels/elementwise.hpp"

namespace tilewright::test::norm_bwd_test {
namespace {

class NormBackward : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  static BuiltInOp& op() {
    static std::map<std::string, std::unique_ptr<BuiltInOp>> ops;
    auto& place = ops[std::get<0>(GetParam())];
    if (place == nullptr) place = std::make_unique<BuiltInOp>(std::get<0>(GetParam()));
    return *place;
  }
  static std::string key(int rows, int cols, const char* add = "no", const char* pitch = "dense") {
    return fmt::format("{}[dtype={},add={},pitch={}]{{rows={},cols={}}}", std::get<0>(GetParam()),
                       std::get<1>(GetParam()), add, pitch, rows, cols);
  }
  /// Expects the first config of `implementation` that has `value` to be right.
  static void expect_first_right(BuiltInOp& op, const std::string& key, const char* implementation, const char* value) {
    const Problem problem = op.problem(key);
    for (const Config& config : op.sample(problem, implementation, SIZE_MAX)) {
      if (config.text().find(value) == std::string::npos) continue;
      EXPECT_EQ(op.fault(problem, config), "");
      return;
    }
    FAIL() << key << " has no config of " << implementation << " with " << value;
  }
  /// Copies the op into the folder, with `to` in its definition in place of the first `from`.
  static void copy_with(const TemporaryFolder& folder, const std::string& from, const std::string& to) {
    const std::string name = std::get<0>(GetParam());
    const std::filesystem::path copy = folder.path() / name;
    std::filesystem::copy(test_kernels_dir() / name, copy, std::filesystem::copy_options::recursive);
    std::ifstream original(copy / (name + ".toml"));
    std::string text(std::istreambuf_iterator<char>(original), {});
    if (text.find(from) == std::string::npos) throw std::logic_error(name + ".toml has no " + from);
    std::ofstream(copy / (name + ".toml")) << text.replace(text.find(from), from.size(), to);
  }
};

TEST_P(NormBackward, is_right_with_rows_in_groups_of_threads) {
  for (const char* add : {"no", "yes"}) {
    for (const auto& [rows, cols] : {std::pair(1, 64), {37, 256}, {70, 1000}}) {
      expect_right(op(), key(rows, cols, add), "rows", 3);
    }
  }
}

TEST_P(NormBackward, is_right_with_more_rows_than_a_ring_has) { expect_right(op(), key(301, 64), "rows", 3); }

TEST_P(NormBackward, is_right_with_so_many_rows_that_sums_have_two_levels) {
  expect_right(op(), key(2100, 256), "rows", 2);
  expect_right(op(), key(1201, 261), "ragged", 1);
}

TEST_P(NormBackward, is_right_over_clusters) {
  for (const char* add : {"no", "yes"}) expect_right(op(), key(5, 16384, add), "cluster", 2);
}

TEST_P(NormBackward, takes_even_widths_by_words_and_odd_ones_by_elements) {
  if (std::get<1>(GetParam()) != std::string("f32")) expect_right(op(), key(19, 250), "rows", 3);
  // The gradient of a row of one element, or of two less their mean, is 0 but for eps.
  for (const int cols : {1, 2, 3, 61, 257}) {
    expect_right_base(op(), key(64, cols));
    expect_right_base(op(), key(3, cols, "yes", "strided"));
  }
  if (std::get<1>(GetParam()) == std::string("f32")) expect_right(op(), key(64, 2), "rows", 1);
}

TEST_P(NormBackward, is_right_with_rows_that_are_not_whole_vectors) {
  for (const char* add : {"no", "yes"}) {
    for (const auto& [rows, cols] : {std::pair(1, 65), {37, 261}, {19, 1001}}) {
      expect_right(op(), key(rows, cols, add), "ragged", 2);
    }
  }
  expect_right(op(), key(601, 67), "ragged", 2);
  expect_right(op(), key(9, 16411, "yes"), "ragged_cluster", 1);
}

TEST_P(NormBackward, takes_pitches_and_element_aligned_addresses) {
  expect_right(op(), key(37, 256, "yes", "strided"), "rows", 2);
  expect_right_base(op(), key(37, 61, "yes", "strided"), {.seed = 7, .misalign_elements = 3});
}

TEST_P(NormBackward, may_write_over_either_matrix_that_it_reads) {
  const ArgumentSet::Options options{.seed = 3, .in_place = true};
  expect_in_place(op(), key(37, 61), {"dx = x", "dx = dy"});
  expect_right_base(op(), key(37, 61), options);
  expect_right_base(op(), key(37, 61, "yes", "strided"), options);
  expect_right(op(), key(70, 256), "rows", 3, options);
  expect_right(op(), key(601, 67), "ragged", 2, options);
  expect_right(op(), key(9, 16411, "yes"), "ragged_cluster", 1, options);
  expect_right(op(), key(5, 16384), "cluster", 1, options);
}

// The squares of a row that does not exist have the mean 0, whose root has no inverse if eps is 0. Groups of threads
// have such a row if their number does not divide that of the rows, batches if their length does not.
TEST_P(NormBackward, adds_nothing_for_rows_that_do_not_exist) {
  const std::string name = std::get<0>(GetParam());
  const TemporaryFolder folder;
  copy_with(folder, "eps = 1e-5", "eps = 0.0");
  BuiltInOp without_eps(name, {folder.path()});
  expect_right(without_eps, key(37, 64), "rows", 1);
  expect_right(without_eps, key(37, 67), "ragged", 1);
  expect_right_base(without_eps, key(37, 67));
  expect_first_right(without_eps, key(5, 16384), "cluster", "batch=2");
}

// An infinity has no difference from its row's mean. The reference adds up to 32 rows in a warp: it would take a sum
// that is NaN for one that nobody has written.
TEST_P(NormBackward, gives_no_numbers_for_a_row_with_an_infinity) {
  const std::string name = std::get<0>(GetParam());
  const TemporaryFolder folder;
  copy_with(folder, "[[implementation]]",
            "[op.samples.infinite]\n"
            "x = { index = [\"r\", \"c\"], value = \"1\", scale = 1e39, where = \"r == 1 and c == cols - 1\" }\n\n"
            "[[implementation]]");
  BuiltInOp infinite(name, {folder.path()});
  expect_right(infinite, key(5, 256), "rows", 2);
  expect_right(infinite, key(9, 261), "ragged", 1);
  expect_right_base(infinite, key(9, 61));
}

TEST_P(NormBackward, is_right_with_rows_that_wait_for_their_own_warps) {
  expect_first_right(op(), key(37, 2048), "rows", "apart=1");
}

TEST_P(NormBackward, is_right_by_a_second_kernel_that_starts_early) {
  expect_first_right(op(), key(37, 256), "rows", "static_dims=0,early=1");
  expect_first_right(op(), key(37, 256), "rows", "static_dims=1,early=1");
  expect_first_right(op(), key(37, 261), "ragged", "early=1");
  expect_first_right(op(), key(5, 16384), "cluster", "early=1");
}

INSTANTIATE_TEST_SUITE_P(Ops, NormBackward,
                         ::testing::Combine(::testing::Values("rmsnorm_bwd", "layernorm_bwd"),
                                            ::testing::ValuesIn(kDtypes)),
                         [](const auto& param) {
                           return fmt::format("{}_{}", std::get<0>(param.param), std::get<1>(param.param));
                         });

}  // namespace
}  // namespace tilewright::test::norm_bwd_test
