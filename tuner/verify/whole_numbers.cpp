// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/whole_numbers.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "tuner/device/tensor_tools.hpp"

namespace tilewright {
namespace {

/// A sequence of pseudo-random numbers.
class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}
  /// From 0 to below `count`.
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(utility::random_bits(key_, next_++) % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t key_;
  std::uint64_t next_ = 0;
};

constexpr std::int64_t kOneIn = 8;
// A permutation of more numbers than this for each element is drawn without a list of all of them.
constexpr std::int64_t kSparse = 16;

void fill_range(std::vector<std::int64_t>& elements, const WholeBounds& bounds, Draws draws) {
  for (std::int64_t& element : elements) {
    const bool is_other = draws.below(kOneIn) == 0;
    const std::int64_t inside = bounds.from + draws.below(bounds.to - bounds.from);
    element = is_other && bounds.sometimes ? *bounds.sometimes : inside;
  }
}

// Each row rises from 0 to `to`, with random cuts between. One cut in eight is repeated, because kernels fail at pieces
// of length zero.
void fill_prefix(std::vector<std::int64_t>& elements, std::int64_t to, std::int64_t row, Draws draws) {
  for (auto begin = elements.begin(); begin != elements.end(); begin += row) {
    const auto end = begin + row;
    for (auto element = begin; element != end; ++element) {
      const bool repeats = element - begin > 1 && draws.below(kOneIn) == 0;
      const std::int64_t cut = draws.below(to + 1);
      *element = repeats ? element[-1] : cut;
    }
    std::sort(begin, end);
    *begin = 0;
    end[-1] = row > 1 ? to : 0;
  }
}

// As fill_permutation() does it, but only the numbers that were exchanged are kept.
void fill_sparsely(std::vector<std::int64_t>& elements, std::int64_t to, Draws draws) {
  std::unordered_map<std::int64_t, std::int64_t> exchanged;
  const auto number_at = [&](std::int64_t place) {
    const auto found = exchanged.find(place);
    return found == exchanged.end() ? place : found->second;
  };
  std::int64_t place = 0;
  for (std::int64_t& element : elements) {
    const std::int64_t other = place + draws.below(to - place);
    element = number_at(other);
    exchanged[other] = number_at(place++);
  }
}

void fill_permutation(std::vector<std::int64_t>& elements, std::int64_t to, Draws draws) {
  const auto count = static_cast<std::int64_t>(elements.size());
  if (to / kSparse > count) return fill_sparsely(elements, to, draws);
  // Also draws numbers beyond the tensor's size: not all pages are in use.
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(to));
  for (std::int64_t first = 0; first < count; first += to) {
    std::iota(numbers.begin(), numbers.end(), 0);
    const std::int64_t here = std::min(to, count - first);
    for (std::int64_t i = 0; i < here; ++i) {
      std::swap(numbers[static_cast<std::size_t>(i)], numbers[static_cast<std::size_t>(i + draws.below(to - i))]);
    }
    std::copy_n(numbers.begin(), here, elements.begin() + first);
  }
}

}  // namespace

std::vector<std::int64_t> whole_numbers(const PlannedArg& arg, const Sample& sample, const WholeBounds& bounds,
                                        std::uint64_t key) {
  std::int64_t count = 1;
  for (const std::int64_t extent : arg.shape) count *= extent;
  std::vector<std::int64_t> elements(static_cast<std::size_t>(count));
  if (count == 0) return elements;
  if (sample.fill == "range") fill_range(elements, bounds, Draws(key));
  if (sample.fill == "prefix") fill_prefix(elements, bounds.to, arg.shape.back(), Draws(key));
  if (sample.fill == "permutation") fill_permutation(elements, bounds.to, Draws(key));
  return elements;
}

}  // namespace tilewright
