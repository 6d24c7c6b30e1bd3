// SPDX-License-Identifier: Apache-2.0
// Pitched tensors, and outputs in place of inputs: a sweep of real kernels on the emulator.
#include <gmock/gmock.h>

#include <map>

#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/device/cpu_device.hpp"

namespace tilewright::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class PitchedSweep : public SweepFixture {
 protected:
  PitchedSweep() { request.definition = &catalogue.find("rescale"); }

  /// Sweeps one problem; returns its trials by the configs' fault.
  std::map<std::int64_t, Trial> swept(const std::string& spec, const std::string& shape = "rows=5 cols=33") {
    const OpInterface& interface = request.definition->interface;
    request.problems = parse_shapes(shape, parse_spec(spec, interface), interface);
    (void)sweep(*device);
    std::map<std::int64_t, Trial> found;
    for (Trial& trial : trials(*device)) {
      if (trial.config.value_or("vec", 0) == 1) found[trial.config.value_or("fault", -1)] = std::move(trial);
    }
    return found;
  }

  std::unique_ptr<Device> device = open_cpu_device();
};

TEST_F(PitchedSweep, judges_rows_and_what_lies_between_them) {
  const auto trials = swept("rescale[pitch=strided]");
  ASSERT_EQ(trials.size(), 8U);
  EXPECT_EQ(trials.at(0).status, TrialStatus::ok) << trials.at(0).reason;
  for (std::int64_t fault = 1; fault <= 5; ++fault) {
    EXPECT_EQ(trials.at(fault).status, TrialStatus::wrong_result) << fault;
  }
  EXPECT_EQ(trials.at(1).reason, "it wrote between the rows of y: 4 elements, the first behind y[0][32]");
  EXPECT_EQ(trials.at(2).reason, "it wrote between the rows of y: 4 elements, the first behind y[0][32]");
  EXPECT_EQ(trials.at(3).reason, "y[0][32] was never written (5 of 165 elements)");
  EXPECT_THAT(trials.at(4).reason, HasSubstr("between the rows of y"));
  EXPECT_THAT(trials.at(5).reason,
              StartsWith("it changed its input x: what lies between the rows behind x[0][32] was "));
}

TEST_F(PitchedSweep, has_nan_between_the_rows_of_a_further_sample) {
  // 0 · a random number is 0. If it wins, the check in place, with NaN, detects it.
  EXPECT_THAT(swept("rescale[pitch=strided]").at(7).reason, ::testing::Not(StartsWith("y[")));
  OpDefinition definition = *request.definition;
  definition.more_samples = {{"again", definition.samples}};
  request.definition = &definition;
  const auto trials = swept("rescale[pitch=strided]", "rows=6 cols=33");
  EXPECT_EQ(trials.at(0).status, TrialStatus::ok) << trials.at(0).reason;
  EXPECT_THAT(trials.at(7).reason, StartsWith("on the sample 'again': y[0][0] "));
}

TEST_F(PitchedSweep, finds_nothing_wrong_with_gaps_where_there_are_none) {
  const auto trials = swept("rescale[pitch=dense]");
  for (const std::int64_t fault : {0, 1, 2, 4, 5}) EXPECT_EQ(trials.at(fault).status, TrialStatus::ok) << fault;
  EXPECT_EQ(trials.at(3).status, TrialStatus::wrong_result);
}

TEST_F(PitchedSweep, lets_no_config_win_that_is_wrong_in_place) {
  // The base is one of the configs that may serve.
  OpDefinition definition = *request.definition;
  definition.base = Config::parse("rowwise{fault=6,vec=1}");
  request.definition = &definition;
  for (const char* pitch : {"dense", "strided"}) {
    const auto trials = swept(std::string("rescale[pitch=") + pitch + "]");
    EXPECT_EQ(trials.at(6).status, TrialStatus::wrong_result) << pitch;
    EXPECT_THAT(trials.at(6).reason, StartsWith("on other data, after timing: in place (y = x): y[0][32] is "));
    EXPECT_FALSE(winners(*device).empty());
    for (const Winner& winner : winners(*device)) EXPECT_NE(winner.trial.config.value_or("fault", -1), 6) << pitch;
  }
}

TEST_F(PitchedSweep, believes_no_reference_that_writes_between_rows) {
  OpDefinition definition = *request.definition;
  definition.reference.entry = "rescale_careless";
  request.definition = &definition;
  try {
    (void)swept("rescale[pitch=strided]");
    FAIL() << "a reference that writes between rows was believed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rescale.cu) is wrong: it wrote between the rows of y"));
  }
}

TEST_F(PitchedSweep, checks_no_config_with_pitches_that_it_cannot_take) {
  OpDefinition definition = *request.definition;
  definition.samples.at("y_pitch").formula = Formula::parse("round_up(cols, 4) + 5");
  request.definition = &definition;
  (void)swept("rescale[pitch=strided]");
  std::size_t wide = 0;
  for (const Trial& trial : trials(*device)) {
    if (trial.config.value_or("vec", 0) != 4) continue;
    ++wide;
    EXPECT_EQ(trial.status, TrialStatus::exceeds_limits);
    EXPECT_EQ(trial.reason, "cannot check a config at this address and pitch: y must be a multiple of 16 bytes");
  }
  EXPECT_EQ(wide, 1U);
}

TEST_F(PitchedSweep, says_so_when_the_sample_of_a_pitch_is_too_small) {
  OpDefinition definition = *request.definition;
  definition.samples.at("x_pitch").formula = Formula::parse("min(cols, 30)", {"rescale.toml", 23, 21});
  request.definition = &definition;
  try {
    (void)swept("rescale[pitch=strided]");
    FAIL() << "rows that overlap were taken";
  } catch (const DefinitionError& error) {
    EXPECT_STREQ(error.what(),
                 "rescale.toml:23:21: the sample of 'x_pitch', the pitch of 'x', is 30 for "
                 "rescale[dtype=f32,pitch=strided]{rows=5,cols=33}, less than a row's 33 elements");
  }
}

}  // namespace
}  // namespace tilewright::testing
