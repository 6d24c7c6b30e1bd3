// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/fit.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tilewright::fit_test {
namespace {

TEST(Fit, says_how_well_in_words) {
  EXPECT_EQ(Match{}.text(), "none");
  EXPECT_EQ((Match{Fit::exact, Freshness::stale, DeviceFit::same_device}).text(), "exact, stale, same device");
  EXPECT_EQ((Match{Fit::base_default, Freshness::fresh, DeviceFit::same_architecture}).text(),
            "default, fresh, same architecture");
}

TEST(Fit, is_better_by_the_device_then_by_the_shape_then_by_what_was_learned) {
  constexpr DeviceFit kSame = DeviceFit::same_device, kLike = DeviceFit::same_architecture;
  const std::vector<Match> best_first{{Fit::exact, {}, kSame},       {Fit::nearest, {}, kSame, true},
                                      {Fit::nearest, {}, kSame},     {Fit::base_default, {}, kSame},
                                      {Fit::exact, {}, kLike},       {Fit::nearest, {}, kLike, true},
                                      {Fit::base_default, {}, kLike}};
  for (std::size_t i = 0; i < best_first.size(); ++i) {
    for (std::size_t j = 0; j < best_first.size(); ++j) {
      EXPECT_EQ(fits_better(best_first[i], best_first[j]), i < j) << i << " and " << j;
    }
  }
}

TEST(Fit, is_as_good_of_other_versions) {
  const Match stale{Fit::exact, Freshness::stale, DeviceFit::same_device};
  const Match fresh{Fit::exact, Freshness::fresh, DeviceFit::same_device};
  EXPECT_FALSE(fits_better(fresh, stale));
  EXPECT_FALSE(fits_better(stale, fresh));
}

}  // namespace
}  // namespace tilewright::fit_test
