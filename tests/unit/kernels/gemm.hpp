// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/unit/kernels/elementwise.hpp"

/// Common parts of tests of gemm's implementations.
namespace tilewright::test {

inline constexpr const char* kLayouts[] = {"nt", "nn", "tn"};

/// A problem of gemm, with the values that most tests use.
struct Product {
  std::string dtype = "bf16";
  std::string layout = "nt";
  int m = 1, n = 1, k = 1;
  std::string math = "ieee";
  std::string bias = "no";
  std::string act = "none";
  std::string residual = "no";

  [[nodiscard]] std::string key() const {
    return fmt::format("gemm[dtype={},layout={},math={},bias={},act={},residual={}]{{m={},n={},k={}}}", dtype, layout,
                       math, bias, act, residual, m, n, k);
  }
};

/// gemm, loaded once for all tests of a process.
inline BuiltInOp& gemm() {
  static BuiltInOp op("gemm");
  return op;
}

inline void expect_right(const Product& product, const std::string& config, const ArgumentSet::Options& options = {}) {
  EXPECT_EQ(gemm().fault(gemm().problem(product.key()), Config::parse(config), options), "") << product.key();
}

}  // namespace tilewright::test
