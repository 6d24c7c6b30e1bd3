// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/ceilings.hpp"

#include <algorithm>

namespace tilewright {
namespace {

constexpr std::int64_t kNear = 2;

}  // namespace

CopyCurve::CopyCurve(const std::vector<Ceiling>& copies, int reads) {
  for (const Ceiling& copy : copies) {
    if (copy.reads > reads || copy.bytes <= 0 || copy.best_ns() <= 0) continue;
    measured_.push_back(copy.bytes);
    fastest_.emplace_back(copy.bytes, copy.best_ns());
  }
  std::sort(measured_.begin(), measured_.end());
  // From the largest down, keeps each copy that is faster than all before it.
  std::sort(fastest_.begin(), fastest_.end(),
            [](const auto& a, const auto& b) { return std::pair(-a.first, a.second) < std::pair(-b.first, b.second); });
  double least = 0;
  std::erase_if(fastest_, [&](const auto& each) {
    const bool outrun = least > 0 && each.second >= least;
    if (!outrun) least = each.second;
    return outrun;
  });
  std::reverse(fastest_.begin(), fastest_.end());
}

std::optional<double> CopyCurve::nanoseconds(std::int64_t bytes) const {
  const auto larger = std::lower_bound(measured_.begin(), measured_.end(), bytes);
  if (larger == measured_.end()) return std::nullopt;
  if (*larger != bytes) {
    if (larger == measured_.begin() || *larger > kNear * bytes || bytes > kNear * *std::prev(larger)) {
      return std::nullopt;
    }
  }
  // `measured_` has a size of at least `bytes`, and the largest copy is in both lists.
  const auto above = std::lower_bound(fastest_.begin(), fastest_.end(), bytes,
                                      [](const auto& each, std::int64_t wanted) { return each.first < wanted; });
  if (above->first == bytes || above == fastest_.begin()) return above->second;
  const auto below = std::prev(above);
  const double part = static_cast<double>(bytes - below->first) / static_cast<double>(above->first - below->first);
  return below->second + part * (above->second - below->second);
}

std::optional<Ceiling> Ceilings::copy(const std::string& fingerprint, std::int64_t bytes, int reads, MeasureMode mode) {
  const auto [curve, is_new] = curves_.try_emplace({fingerprint, mode, reads});
  if (is_new) {
    std::vector<Ceiling> copies = store_.ceilings(fingerprint);
    std::erase_if(copies, [&](const Ceiling& copy) { return copy.mode != mode; });
    curve->second = CopyCurve(copies, reads);
  }
  const auto nanoseconds = curve->second.nanoseconds(bytes);
  if (!nanoseconds) return std::nullopt;
  return Ceiling{bytes, reads, mode, std::nullopt, *nanoseconds};
}

std::optional<ComputeRate> Ceilings::rate(const std::string& fingerprint, std::string_view unit) {
  const auto [rate, is_new] = rates_.try_emplace({fingerprint, std::string(unit)});
  if (is_new) {
    rate->second = store_.compute_rate(fingerprint, unit);
    // An old cache has only the fp32 rate, which still separates memory from compute.
    if (!rate->second) rate->second = store_.compute_rate(fingerprint);
  }
  return rate->second;
}

}  // namespace tilewright
