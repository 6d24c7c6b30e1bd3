// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/ceilings.hpp"

#include <gtest/gtest.h>

#include "tests/unit/store/fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;

Ceiling copied(std::int64_t bytes, int reads, double nanoseconds) {
  return {bytes, reads, MeasureMode::cold, std::nullopt, nanoseconds, "GPU-1", 5};
}

TEST(CopyCurve, is_what_was_measured_at_a_measured_size) {
  const CopyCurve curve({copied(1000, 1, 10), copied(2000, 1, 16)}, 1);
  EXPECT_EQ(curve.nanoseconds(1000), 10);
  EXPECT_EQ(curve.nanoseconds(2000), 16);
}

TEST(CopyCurve, is_a_straight_line_between_sizes) {
  EXPECT_EQ(CopyCurve({copied(1000, 1, 10), copied(2000, 1, 16)}, 1).nanoseconds(1500), 13);
}

TEST(CopyCurve, is_no_slower_than_a_copy_of_more_bytes_or_of_a_larger_part_of_writing) {
  EXPECT_EQ(CopyCurve({copied(1000, 1, 20), copied(2000, 1, 16)}, 1).nanoseconds(1000), 16);
  EXPECT_EQ(CopyCurve({copied(1000, 1, 10), copied(1000, 3, 12)}, 3).nanoseconds(1000), 10);
  EXPECT_EQ(CopyCurve({copied(1000, 1, 10), copied(1000, 3, 8)}, 1).nanoseconds(1000), 10);
}

TEST(CopyCurve, knows_nothing_of_sizes_that_nobody_copied) {
  const CopyCurve curve({copied(1000, 1, 10), copied(5000, 1, 30)}, 1);
  EXPECT_FALSE(curve.nanoseconds(999));
  EXPECT_FALSE(curve.nanoseconds(2000));  // none from 2000 to 4000
  EXPECT_FALSE(curve.nanoseconds(4000));
  EXPECT_FALSE(curve.nanoseconds(5001));
  EXPECT_FALSE(CopyCurve().nanoseconds(1));
  EXPECT_FALSE(CopyCurve({copied(1000, 2, 10)}, 1).nanoseconds(1000));
}

TEST(Ceilings, are_of_the_device_and_the_mode) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "cache.db");
  const std::string device = h200().fingerprint();
  store.put_ceiling(device, copied(1000, 1, 10));
  Ceiling hot = copied(1000, 1, 5);
  hot.mode = MeasureMode::hot;
  store.put_ceiling(device, hot);
  Ceilings ceilings(store);
  EXPECT_EQ(ceilings.copy(device, 1000, 1, MeasureMode::cold)->best_ns(), 10);
  EXPECT_EQ(ceilings.copy(device, 1000, 2, MeasureMode::hot)->best_ns(), 5);
  EXPECT_FALSE(ceilings.copy("GTX fictional", 1000, 1, MeasureMode::cold));
}

}  // namespace
}  // namespace tilewright
