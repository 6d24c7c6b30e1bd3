// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/dense.hpp"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

constexpr double kLeastPivot = 1e-9;

}  // namespace

double dot(std::span<const double> a, std::span<const double> b, std::size_t count) {
  // Four sums: the additions of one would wait for each other.
  double sums[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  double rest = 0;
  for (; i < count; ++i) rest += a[i] * b[i];
  return sums[0] + sums[1] + sums[2] + sums[3] + rest;
}

void factor(Matrix& symmetric) {
  for (std::size_t i = 0; i < symmetric.rows(); ++i) {
    const std::span<double> row = symmetric[i];
    for (std::size_t j = 0; j < i; ++j) row[j] = (row[j] - dot(row, symmetric[j], j)) / symmetric[j][j];
    row[i] = std::sqrt(std::max(row[i] - dot(row, row, i), kLeastPivot));
  }
}

void solve_lower(const Matrix& factored, std::span<double> b) {
  for (std::size_t i = 0; i < factored.rows(); ++i) b[i] = (b[i] - dot(factored[i], b, i)) / factored[i][i];
}

void solve_upper(const Matrix& factored, std::span<double> b) {
  for (std::size_t i = factored.rows(); i-- > 0;) {
    b[i] /= factored[i][i];
    for (std::size_t j = 0; j < i; ++j) b[j] -= factored[i][j] * b[i];
  }
}

}  // namespace tilewright
