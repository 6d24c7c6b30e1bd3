// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/trial_records.hpp"

#include <gmock/gmock.h>

#include "tests/unit/export/export_fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TrialRecordsOf : public export_tests::ExportTest {
 protected:
  [[nodiscard]] std::vector<std::string> configs(const TrialSelection& selection) const {
    std::vector<std::string> texts;
    records(selection).visit([&](const TrialRecord& record) { texts.push_back(record.trial.config.text()); });
    return texts;
  }
};

TEST_F(TrialRecordsOf, an_empty_cache_are_none) {
  const TrialRecords none = records();
  EXPECT_EQ(none.size(), 0U);
  EXPECT_THAT(none.count(), IsEmpty());
  EXPECT_THAT(none.dims(), IsEmpty());
}

TEST_F(TrialRecordsOf, a_trial_have_all_that_it_is_of) {
  put(softmax_key(8, 100), full_trial(onchip_config(4), 1500));
  std::size_t seen = 0;
  records().visit([&](const TrialRecord& record) {
    ++seen;
    EXPECT_EQ(record.problem, softmax_problem(8, 100));
    EXPECT_EQ(record.interface_hash, softmax_interface().hash());
    EXPECT_EQ(record.implementation_hash, "impl-1");
    EXPECT_EQ(record.device->fingerprint(), h200().fingerprint());
    EXPECT_DOUBLE_EQ(record.trial.timing->median_ns, 1500);
    EXPECT_THAT(record.trial.timing->rounds_ns, ElementsAre(1500, 2250));
    EXPECT_EQ(record.build, nullptr);
    EXPECT_TRUE(record.newest);
    EXPECT_FALSE(record.roofline.bytes) << "no definition is at hand";
  });
  EXPECT_EQ(seen, 1U);
}

TEST_F(TrialRecordsOf, a_config_that_was_tried_again_are_both_and_the_later_is_the_newest) {
  put(softmax_key(8, 100), full_trial(onchip_config(4), 1500));
  put(softmax_key(8, 100), full_trial(onchip_config(4), 1400));
  std::vector<std::pair<double, bool>> seen;
  records().visit([&](const TrialRecord& record) { seen.emplace_back(record.trial.timing->median_ns, record.newest); });
  EXPECT_THAT(seen, ElementsAre(std::pair(1500.0, false), std::pair(1400.0, true)));
}

TEST_F(TrialRecordsOf, what_is_chosen_are_of_the_types_devices_and_modes_asked_for) {
  put(softmax_key(8, 100), full_trial(onchip_config(1)));
  put(softmax_key(8, 100, a100()), full_trial(onchip_config(2)));
  put(softmax_key(8, 100, h200(), DType::f32), full_trial(onchip_config(4)));
  Trial hot = full_trial(onchip_config(8));
  hot.mode = MeasureMode::hot;
  put(softmax_key(8, 100), hot);
  const auto text = [](std::int64_t warps) { return onchip_config(warps).text(); };
  EXPECT_THAT(configs({}), ElementsAre(text(1), text(2), text(4), text(8)));
  EXPECT_THAT(configs({.devices = {a100().fingerprint()}}), ElementsAre(text(2)));
  EXPECT_THAT(configs({.dtypes = {DType::f32}}), ElementsAre(text(4)));
  EXPECT_THAT(configs({.mode = MeasureMode::hot}), ElementsAre(text(8)));
  EXPECT_THAT(configs({.ops = {"gemm"}}), IsEmpty());
  EXPECT_THAT(configs({.ops = {"gemm", "softmax"}, .devices = {a100().fingerprint()}}), ElementsAre(text(2)));
}

TEST_F(TrialRecordsOf, problems_are_counted_by_op_and_device) {
  put(softmax_key(8, 100), full_trial(onchip_config(1)));
  put(softmax_key(8, 100), full_trial(onchip_config(2)));
  put(softmax_key(16, 100), full_trial(onchip_config(1)));
  put(softmax_key(16, 100, a100()), full_trial(onchip_config(1)));
  std::size_t problems = 0;
  for (const TrialRecords::Counted& counted : records().count()) {
    EXPECT_EQ(counted.op, "softmax");
    problems += counted.device == h200().fingerprint() ? counted.problems : 10 * counted.problems;
  }
  EXPECT_EQ(problems, 12U);
}

TEST_F(TrialRecordsOf, names_are_those_of_dims_and_parameters) {
  put(softmax_key(8, 100), full_trial(onchip_config(1)));
  EXPECT_THAT(records().dims(), ElementsAre("rows", "cols"));
  EXPECT_THAT(records().parameters(), ::testing::Contains("num_warps"));
}

}  // namespace
}  // namespace tilewright
