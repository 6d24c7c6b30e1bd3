// SPDX-License-Identifier: Apache-2.0
// A space of 100,000 unknown configs: most of it slopes to a wide valley, and the fastest configs lie in a narrow
// valley far from it.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "tests/unit/search/landscape.hpp"

namespace tilewright::testing::large_space_test {
namespace {

constexpr std::size_t kParameters = 5;
constexpr std::int64_t kValues = 10;

/// Doublings between a config and that with all parameters 2 to the power of `at`.
double away(const Config& config, std::int64_t at) {
  double sum = 0;
  for (const auto& [name, value] : config.values) {
    sum += std::abs(std::log2(static_cast<double>(value)) - static_cast<double>(at));
  }
  return sum;
}

/// Five parameters, each a power of two. 1000 ns at 2⁷, and 100 more for each doubling, within eight doublings;
/// elsewhere 1600 ns at 2², and 80 more for each doubling.
Landscape two_valleys(std::uint64_t seed) {
  Landscape landscape(0);
  for (std::int64_t i = 0; i < 100'000; ++i) {
    Config config{"p", {}};
    for (std::int64_t p = 0, rest = i; p < static_cast<std::int64_t>(kParameters); ++p, rest /= kValues) {
      config.values.emplace_back("x" + std::to_string(p), std::int64_t{1} << (rest % kValues));
    }
    const double narrow = away(config, 7);
    landscape.times.push_back(narrow <= 8 ? 1000 + 100 * narrow : 1600 + 80 * away(config, 2));
    landscape.space.candidates.push_back(std::move(config));
  }
  landscape.space.seed = seed;
  return landscape;
}

/// The number of the first `seeds` seeds with which 200 looks of `local` get within a tenth of the best.
int found_by_local(std::uint64_t seeds) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Landscape landscape = two_valleys(seed);
    Search search(landscape.space, "local", 200);
    const std::vector<std::size_t> order = landscape.run(search);
    EXPECT_LE(order.size(), 200U);
    const bool near = std::ranges::any_of(order, [&](std::size_t i) { return landscape.times[i] <= 1100; });
    found += near ? 1 : 0;
  }
  return found;
}

TEST(LargeSpace, is_searched_by_local_within_two_gibibytes) {
  EXPECT_EQ(found_by_local(1), 1);
  rusage usage{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  EXPECT_LE(usage.ru_maxrss, std::int64_t{2} << 20);  // in KiB
}

TEST(LargeSpace, has_a_narrow_valley_that_local_finds_for_nine_of_many_seeds) { EXPECT_GE(found_by_local(10), 9); }

}  // namespace
}  // namespace tilewright::testing::large_space_test
