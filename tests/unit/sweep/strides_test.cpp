// SPDX-License-Identifier: Apache-2.0
// Tensors with a stride for each extent: a sweep of real kernels on the emulator.
#include <gmock/gmock.h>

#include <map>

#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/device/cpu_device.hpp"

namespace tilewright::testing {
namespace {

using ::testing::HasSubstr;

class StridedSweep : public SweepFixture {
 protected:
  StridedSweep() { request.definition = &catalogue.find("reorder"); }

  /// Sweeps one problem; returns its trials.
  std::vector<Trial> swept(const std::string& spec, const std::string& shape = "b=2 t=3 h=5 d=8") {
    const OpInterface& interface = request.definition->interface;
    request.problems = parse_shapes(shape, parse_spec(spec, interface), interface);
    (void)sweep(*device);
    return trials(*device);
  }
  /// The trials of configs without vectors, by the configs' fault.
  std::map<std::int64_t, Trial> by_fault(const std::string& spec) {
    std::map<std::int64_t, Trial> found;
    for (Trial& trial : swept(spec)) {
      if (trial.config.value_or("vec", 0) == 1) found[trial.config.value_or("fault", -1)] = std::move(trial);
    }
    return found;
  }

  std::unique_ptr<Device> device = open_cpu_device();
};

TEST_F(StridedSweep, judges_elements_wherever_they_lie_and_what_lies_between_them) {
  for (const char* spec : {"reorder", "reorder[dtype=bf16]"}) {
    const auto trials = by_fault(spec);
    ASSERT_EQ(trials.size(), 5U);
    EXPECT_EQ(trials.at(0).status, TrialStatus::ok) << trials.at(0).reason;
    for (std::int64_t fault = 1; fault <= 4; ++fault) {
      EXPECT_EQ(trials.at(fault).status, TrialStatus::wrong_result) << fault;
    }
    EXPECT_EQ(trials.at(1).reason, "it wrote between the rows of y: 29 elements, the first behind y[0][0][0][7]");
    EXPECT_EQ(trials.at(2).reason, "it wrote between the rows of y: 1 elements, the first behind y[0][2][4][7]");
    EXPECT_EQ(trials.at(3).reason, "y[1][2][4][7] was never written (1 of 240 elements)");
  }
}

TEST_F(StridedSweep, judges_what_a_sampled_reference_has_and_all_that_lies_between) {
  OpDefinition definition = *request.definition;
  definition.reference.entry = "reorder_sampled";
  definition.reference.sampled = true;
  request.definition = &definition;
  const auto trials = by_fault("reorder[dtype=bf16]");
  EXPECT_EQ(trials.at(0).status, TrialStatus::ok) << trials.at(0).reason;
  EXPECT_EQ(trials.at(1).reason, "it wrote between the rows of y: 29 elements, the first behind y[0][0][0][7]");
  EXPECT_EQ(trials.at(2).reason, "it wrote between the rows of y: 1 elements, the first behind y[0][2][4][7]");
  EXPECT_EQ(trials.at(3).reason, "y[1][2][4][7] was never written (1 of 240 elements)") << "though no sample is there";
  EXPECT_EQ(trials.at(4).status, TrialStatus::wrong_result);
}

TEST_F(StridedSweep, believes_no_sampled_reference_that_writes_between_elements_or_none) {
  OpDefinition definition = *request.definition;
  definition.reference.sampled = true;
  request.definition = &definition;
  const auto failure = [&](const char* entry) -> std::string {
    definition.reference.entry = entry;
    try {
      (void)swept("reorder");
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(failure("reorder_careless"), HasSubstr("is wrong: it wrote between the rows of y"));
  EXPECT_THAT(failure("reorder_idle"), HasSubstr("is wrong: it left 240 of 240 elements of y unwritten"));
}

TEST_F(StridedSweep, tries_no_vectors_that_a_stride_does_not_keep) {
  // Rows of y are 12 elements apart: a multiple of four, not of eight.
  std::map<std::int64_t, Trial> wide;
  for (Trial& trial : swept("reorder[dtype=bf16]")) {
    if (trial.config.value_or("fault", -1) == 0) wide[trial.config.value_or("vec", 0)] = std::move(trial);
  }
  EXPECT_EQ(wide.at(4).status, TrialStatus::ok);
  EXPECT_EQ(wide.at(8).reason, "cannot check a config at this address and strides: y must be a multiple of 16 bytes");
}

TEST_F(StridedSweep, says_so_when_the_samples_of_strides_let_elements_overlap) {
  OpDefinition definition = *request.definition;
  definition.samples.at("y_head").formula = Formula::parse("2 * (d + 4)", {"reorder.toml", 23, 21});
  request.definition = &definition;
  try {
    (void)swept("reorder");
    FAIL() << "elements that overlap were taken";
  } catch (const DefinitionError& error) {
    EXPECT_STREQ(error.what(),
                 "reorder.toml:23:21: the sample of 'y_head', a stride of 'y', is 24 for "
                 "reorder[dtype=f32]{b=2,t=3,h=5,d=8}, less than the 32 elements that it steps over");
  }
}

TEST_F(StridedSweep, has_no_problems_outside_the_domain) {
  EXPECT_THROW((void)swept("reorder", "b=2 t=3 h=5 d=6"), UsageError);
}

}  // namespace
}  // namespace tilewright::testing
