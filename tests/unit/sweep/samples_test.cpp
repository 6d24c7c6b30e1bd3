// SPDX-License-Identifier: Apache-2.0
// Inputs that control an op, inputs made by another op, and further samples: a sweep of real kernels on the emulator.
#include <gmock/gmock.h>

#include <map>
#include <memory>

#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/device/cpu_device.hpp"

namespace tilewright::testing {
namespace {

using ::testing::StartsWith;

class SampledSweep : public SweepFixture {
 protected:
  SampledSweep() { request.definition = &catalogue.find("settle"); }

  /// Sweeps one problem; returns its trials by the configs' fault.
  std::map<std::int64_t, Trial> swept(const std::string& shape) {
    const OpInterface& interface = request.definition->interface;
    request.problems = parse_shapes(shape, parse_spec("settle", interface), interface);
    (void)sweep(*device);
    std::map<std::int64_t, Trial> found;
    for (Trial& trial : trials(*device)) found[trial.config.value_or("fault", -1)] = std::move(trial);
    return found;
  }

  std::unique_ptr<Device> device = open_cpu_device();
};

TEST_F(SampledSweep, verifies_with_whole_numbers_that_are_valid_and_inputs_that_agree) {
  const auto trials = swept("n=300 pieces=17");
  ASSERT_EQ(trials.size(), 6U);
  EXPECT_EQ(trials.at(0).status, TrialStatus::ok) << trials.at(0).reason;
  EXPECT_EQ(trials.at(1).status, TrialStatus::ok) << "twice is not 2x: " << trials.at(1).reason;
  for (const std::int64_t fault : {2, 3, 5}) {
    EXPECT_EQ(trials.at(fault).status, TrialStatus::wrong_result) << fault;
    EXPECT_THAT(trials.at(fault).reason, StartsWith("z[")) << "on the first sample, which has no name";
  }
}

TEST_F(SampledSweep, names_the_sample_on_which_a_config_is_wrong) {
  const Trial trial = swept("n=300 pieces=17").at(4);
  EXPECT_EQ(trial.status, TrialStatus::wrong_result);
  EXPECT_THAT(trial.reason, StartsWith("on the sample 'spike': z["));
  EXPECT_THAT(trial.reason, ::testing::HasSubstr("(1 of 300 elements are off)"));
}

TEST_F(SampledSweep, believes_no_reference_of_another_op_that_leaves_an_input_unmade) {
  OpDefinition definition = *request.definition;
  OpDefinition other = *definition.samples.at("twice").made->op;
  other.reference.entry = "twice_idle";
  definition.samples.at("twice").made->op = std::make_shared<const OpDefinition>(other);
  definition.more_samples.clear();
  request.definition = &definition;
  try {
    (void)swept("n=300 pieces=17");
    FAIL() << "an input that nobody made was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the reference of twice[dtype=f32]{n=300}"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("left 300 of 300 elements of y unwritten"));
  }
}

TEST_F(SampledSweep, has_valid_inputs_at_the_smallest_shapes) {
  for (const char* shape : {"n=1 pieces=1", "n=2 pieces=9"}) {
    const auto trials = swept(shape);
    EXPECT_EQ(trials.at(0).status, TrialStatus::ok) << shape << ": " << trials.at(0).reason;
  }
}

}  // namespace
}  // namespace tilewright::testing
