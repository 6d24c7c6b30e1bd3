// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/spec_summaries.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launch/sample_cache.hpp"

namespace tilewright::spec_summaries_test {
namespace {

using namespace tilewright::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KnownSpecs : public ::testing::Test {
 protected:
  KnownSpecs() {
    cache_.add_op(interface_, scale_wide(), scale_kernels(), scale_binary());
    cache_.add_op(interface_, scale_plain(), scale_kernels(), scale_binary());
    add("scale[dtype=f32,round=yes]{rows=8,cols=64}");
    add("scale[dtype=f16]{rows=8,cols=64}");
    add("scale[dtype=f16]{rows=8,cols=128}");
    // A shape with only a base is not tuned.
    cache_.add_winner(interface_, "scale[dtype=f16,round=yes]{rows=8,cols=64}", "plain{num_warps=4}",
                      {.role = WinnerRole::base});
  }
  void add(const char* problem) {
    cache_.add_winner(interface_, problem, "wide{num_warps=2,vec=8,static_dims=0}", {.role = WinnerRole::best});
  }
  [[nodiscard]] std::vector<std::string> specs(const DeviceFacts& device, MeasureMode mode) {
    std::vector<std::string> texts;
    for (const OpSpec& spec : tuned_specs(cache_.store(), interface_, device, mode)) texts.push_back(spec.text());
    return texts;
  }

  const TemporaryFolder folder_;
  const OpInterface interface_ = scale_interface();
  SampleCache cache_{folder_.path() / "cache.db"};
};

TEST_F(KnownSpecs, are_those_with_a_winner_on_the_device_in_the_order_of_their_texts) {
  EXPECT_THAT(specs(recording_device(), MeasureMode::cold),
              ElementsAre("scale[dtype=f16,round=no]", "scale[dtype=f32,round=yes]"));
  EXPECT_THAT(specs(recording_device(), MeasureMode::hot), IsEmpty());
  EXPECT_THAT(specs(recording_device("Another"), MeasureMode::cold), IsEmpty());
  OpInterface other = interface_;
  other.args.pop_back();
  EXPECT_THAT(tuned_specs(cache_.store(), other, recording_device(), MeasureMode::cold), IsEmpty())
      << "of another interface";
}

TEST_F(KnownSpecs, come_with_all_their_tuned_shapes) {
  const std::vector<SpecSummary> known = known_specs(cache_.store(), interface_, recording_device(), MeasureMode::cold);
  ASSERT_EQ(known.size(), 2U);
  ASSERT_EQ(known[0].shapes.size(), 2U);
  EXPECT_THAT(known[0].shapes[0].dims, ElementsAre(8, 64));
  EXPECT_THAT(known[0].shapes[1].dims, ElementsAre(8, 128));
  EXPECT_EQ(known[0].shapes[0].configs.at(0).id.config.text(), "wide{num_warps=2,vec=8,static_dims=0}");
  ASSERT_EQ(known[1].shapes.size(), 1U);
}

}  // namespace
}  // namespace tilewright::spec_summaries_test
