// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/expected_time.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace tilewright {
namespace {

/// A vector of 16 bytes has eight elements of 16 bits.
constexpr int kMostHalvings = 3;
/// The distance of one halving, in natural logarithms of a dim's ratio.
constexpr double kHalving = 0.5;
/// The penalty of a power's squared distance from 1.
constexpr double kRidge = 1;
/// The shapes whose residuals are added.
constexpr std::size_t kNearest = 4;
/// The squared distances at which a shape weighs half as much as one at no distance, in the fit and in what is added.
constexpr double kHalfWeight = 1;
constexpr double kNear = 1e-3;
/// The least share of a time that is not the launch's.
constexpr double kLeastWork = 0.02;

double halvings(std::int64_t length) {
  return std::min(kMostHalvings, std::countr_zero(static_cast<std::uint64_t>(std::max<std::int64_t>(length, 1))));
}

/// One shape as seen from another: a row of the regression.
struct FitRow {
  /// 1, the logarithms of the ratios of the dims, and the differences of their halvings.
  std::vector<double> values{1};
  /// The logarithm of the time above a launch, less that of the ratio of the products of the dims.
  double target = 0;
  double distance = 0;
  double floor_ns = 0;
};

FitRow row_of(std::span<const std::int64_t> shape, const TimedShape& at) {
  FitRow row;
  row.floor_ns = std::min(at.floor_ns, at.median_ns * (1 - kLeastWork));
  row.target = std::log(at.median_ns - row.floor_ns);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const double ratio = std::log(static_cast<double>(std::max<std::int64_t>(at.dims[i], 1)) /
                                  static_cast<double>(std::max<std::int64_t>(shape[i], 1)));
    row.values.push_back(ratio);
    row.target -= ratio;
    row.distance += ratio * ratio;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    row.values.push_back(halvings(at.dims[i]) - halvings(shape[i]));
    row.distance += std::pow(kHalving * row.values.back(), 2);
  }
  return row;
}

/// Solves the symmetric, positive definite `matrix` · x = `right` by Cholesky's decomposition, in place.
std::vector<double> solve(std::vector<std::vector<double>>& matrix, std::vector<double> right) {
  const std::size_t count = right.size();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = matrix[i][j];
      for (std::size_t k = 0; k < j; ++k) rest -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i == j ? std::sqrt(rest) : rest / matrix[j][j];
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  for (std::size_t i = count; i-- > 0;) {
    for (std::size_t k = i + 1; k < count; ++k) right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
  return right;
}

std::vector<double> fit(const std::vector<FitRow>& rows) {
  const std::size_t count = rows.front().values.size();
  double weights = 0;
  for (const FitRow& row : rows) weights += 1 / (row.distance + kHalfWeight);
  std::vector<std::vector<double>> matrix(count, std::vector<double>(count));
  std::vector<double> right(count);
  for (const FitRow& row : rows) {
    // Weights are 1 in the mean, so that the ridge has the same meaning far away.
    const double weight = static_cast<double>(rows.size()) / (row.distance + kHalfWeight) / weights;
    for (std::size_t i = 0; i < count; ++i) {
      right[i] += weight * row.values[i] * row.target;
      for (std::size_t j = 0; j < count; ++j) matrix[i][j] += weight * row.values[i] * row.values[j];
    }
  }
  for (std::size_t i = 1; i < count; ++i) matrix[i][i] += kRidge;
  return solve(matrix, std::move(right));
}

}  // namespace

double expected_time_ns(std::span<const std::int64_t> shape, const std::vector<TimedShape>& around) {
  std::vector<FitRow> rows;
  for (const TimedShape& each : around) rows.push_back(row_of(shape, each));
  std::ranges::stable_sort(rows, {}, &FitRow::distance);
  const std::vector<double> fitted = fit(rows);
  double weights = 0, beyond = 0, floor_ns = 0;
  for (const FitRow& row : std::span(rows).first(std::min(kNearest, rows.size()))) {
    const double expected = std::inner_product(fitted.begin(), fitted.end(), row.values.begin(), 0.0);
    const double weight = 1 / (row.distance + kNear);
    weights += weight;
    beyond += weight * (row.target - expected);
    floor_ns += weight * row.floor_ns;
  }
  return floor_ns / weights + std::exp(fitted.front() + beyond / weights);
}

}  // namespace tilewright
