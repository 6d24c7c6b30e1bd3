// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tuner/analysis/intervals.hpp"
#include "tuner/search/excerpt.hpp"

namespace tilewright {
namespace {

double log2_of(std::int64_t value) { return std::log2(static_cast<double>(std::max<std::int64_t>(value, 1))); }

double step(std::int64_t a, std::int64_t b) {
  if (a > 0 && b > 0) return std::abs(log2_of(a) - log2_of(b));
  return std::abs(static_cast<double>(a) - static_cast<double>(b));
}

}  // namespace

double distance(const Problem& a, const Problem& b) {
  double sum = a.spec.dtype == b.spec.dtype ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.spec.attributes.size(), b.spec.attributes.size()); ++i) {
    sum += a.spec.attributes[i] == b.spec.attributes[i] ? 0 : 1;
  }
  for (std::size_t i = 0; i < std::min(a.dims.size(), b.dims.size()); ++i) {
    const double apart = log2_of(a.dims[i].second) - log2_of(b.dims[i].second);
    sum += apart * apart;
  }
  return std::sqrt(sum);
}

double distance(const Config& a, const Config& b) {
  if (a.implementation != b.implementation) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const auto& [name, value] : a.values) {
    const auto other = b.find(name);
    sum += other ? step(value, *other) : 1;
  }
  for (const auto& [name, value] : b.values) {
    if (!a.find(name)) sum += 1;
  }
  return sum;
}

Neighbours nearest(Neighbours all, const Problem& problem, std::size_t most) {
  std::erase_if(all, [&](const Neighbour& known) { return known.problem == problem; });
  std::stable_sort(all.begin(), all.end(), [&](const Neighbour& a, const Neighbour& b) {
    return distance(a.problem, problem) < distance(b.problem, problem);
  });
  if (all.size() <= most) return all;
  // Many shapes may be nearer than another dtype or attribute counts.
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(most);
  const auto has_its_dims = [&](const Neighbour& known) { return known.problem.dims == problem.dims; };
  if (most > 0 && std::none_of(all.begin(), end, has_its_dims)) {
    const auto same = std::find_if(end, all.end(), has_its_dims);
    if (same != all.end()) std::iter_swap(end - 1, same);
  }
  all.resize(most);
  return all;
}

std::vector<const Trial*> telling(const Neighbour& known, std::size_t fastest, std::size_t others) {
  std::vector<const Trial*> all;
  for (const Trial& trial : known.trials) {
    if (timed(trial)) all.push_back(&trial);
  }
  std::ranges::stable_sort(all, {}, [](const Trial* trial) { return trial->timing->median_ns; });
  keep_excerpt(all, fastest, others);
  return all;
}

}  // namespace tilewright
