// SPDX-License-Identifier: Apache-2.0
// Dims whose extents change from call to call: plans are per bucket, kernels get the extents.
#include <cstdint>
#include <set>

#include "cache/model/bucket.hpp"
#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;

class BucketedTest : public LaunchFixture {
 protected:
  void call(std::int64_t tokens, std::int64_t x_token = 24, std::int64_t x_head = 8) const {
    ragged_(nullptr, {tokens, 3, 8}, x_, y_, x_token, x_head);
  }

  const Launcher launcher_{filled_cache()};
  const Op ragged_ = launcher_.op("ragged");
  void* x_ = fake_address(256);
  void* y_ = fake_address(1024);
};

TEST_F(BucketedTest, ten_thousand_extents_are_as_many_plans_as_they_have_buckets) {
  std::set<std::int64_t> buckets;
  for (std::int64_t tokens = 1; tokens <= 10'000; ++tokens) {
    buckets.insert(bucket_of(tokens));
    call(tokens);
  }
  EXPECT_EQ(recording_.launches().size(), 10'000U);
  // Each plan gets its kernel once.
  EXPECT_EQ(recording_.calls("cuLibraryGetKernel"), buckets.size());
  EXPECT_EQ(buckets.size(), 27U);
  EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 1U);
}

TEST_F(BucketedTest, a_kernel_gets_the_extent_and_is_planned_for_the_bucket) {
  for (const std::int64_t tokens : {65, 96, 70}) {
    recording_.reset();
    call(tokens);
    const auto launches = recording_.launches();
    ASSERT_EQ(launches.size(), 1U);
    EXPECT_EQ(param<std::int64_t>(launches[0], 2), tokens);
    EXPECT_EQ(param<std::int64_t>(launches[0], 3), 48) << "a value is the bucket's";
    EXPECT_EQ(launches[0].grid[0], 24U) << "and so is the grid";
  }
}

TEST_F(BucketedTest, strides_are_judged_by_the_extent_of_the_call) {
  call(65, 8, 65 * 8);
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { call(66, 8, 65 * 8); }),
              HasSubstr("'x_head', a stride of 'x', is 520, less than the 528 elements that it steps over"));
}

TEST_F(BucketedTest, an_extent_below_1_is_an_error_whatever_was_launched) {
  call(1);
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { call(0); }), HasSubstr("dim 'tokens' is 0; dims are at least 1"));
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { call(-7); }), HasSubstr("dim 'tokens' is -7"));
}

TEST_F(BucketedTest, a_match_is_that_of_the_bucket) {
  const auto served = ragged_.match({100, 3, 8});
  EXPECT_THAT(served.json, HasSubstr(R"("problem":"ragged[dtype=f16]{tokens=128,heads=3,d=8}")"));
  EXPECT_EQ(served.json, ragged_.match({128, 3, 8}).json);
  EXPECT_THAT(served.match, HasSubstr("exact"));
  EXPECT_EQ(ragged_.workspace_bytes({100, 3, 8}), 512U);
}

TEST_F(BucketedTest, what_was_prepared_serves_every_extent_of_the_bucket) {
  ragged_.preload({96, 3, 8});
  const std::size_t before = recording_.calls("cuLibraryGetKernel");
  call(70, 192, 64);
  EXPECT_EQ(recording_.calls("cuLibraryGetKernel"), before) << "as aligned as what is prepared";
}

TEST_F(BucketedTest, dims_are_named_by_the_op) {
  EXPECT_THAT(ragged_.describe(), HasSubstr(R"("dims":["tokens","heads","d"],"bucketed":["tokens"])"));
}

}  // namespace
}  // namespace tilewright
