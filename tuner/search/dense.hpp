// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// The little linear algebra that a prediction takes: some hundreds of rows. Values.
namespace tilewright {

/// Row-major.
class Matrix {
 public:
  Matrix(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns), values_(rows * columns) {}

  [[nodiscard]] std::span<double> operator[](std::size_t row) { return {values_.data() + row * columns_, columns_}; }
  [[nodiscard]] std::span<const double> operator[](std::size_t row) const {
    return {values_.data() + row * columns_, columns_};
  }
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::vector<double> values_;
};

/// The sum of the products of the first `count` values.
[[nodiscard]] double dot(std::span<const double> a, std::span<const double> b, std::size_t count);

/// Replaces the lower half of a symmetric positive definite matrix by L, with L · Lᵀ = it. What rounding makes of a
/// matrix that is nearly singular is mended by a small pivot.
void factor(Matrix& symmetric);

/// Replaces b by the x of L · x = b.
void solve_lower(const Matrix& factored, std::span<double> b);

/// Replaces b by the x of Lᵀ · x = b.
void solve_upper(const Matrix& factored, std::span<double> b);

}  // namespace tilewright
