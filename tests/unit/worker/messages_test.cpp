// SPDX-License-Identifier: Apache-2.0
#include "tuner/worker/messages.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "cache/base/error.hpp"
#include "tuner/definition/catalogue.hpp"

namespace tilewright {
namespace {

Message through(const Message& message) { return Message::from_cbor(Message::to_cbor(message)); }

void expect_equal(const Samples& got, const Samples& sent) {
  ASSERT_EQ(got.size(), sent.size());
  for (const auto& [name, sample] : sent) {
    const Sample& other = got.at(name);
    EXPECT_EQ(other.fill, sample.fill);
    EXPECT_EQ(other.scale, sample.scale);
    EXPECT_EQ(other.formula, sample.formula);
    EXPECT_EQ(other.index, sample.index);
    EXPECT_EQ(other.where, sample.where);
    EXPECT_EQ(other.from, sample.from);
    EXPECT_EQ(other.to, sample.to);
    EXPECT_EQ(other.sometimes, sample.sometimes);
    ASSERT_EQ(other.made.has_value(), sample.made.has_value());
    if (!sample.made) continue;
    EXPECT_EQ(other.made->op->interface, sample.made->op->interface);
    EXPECT_EQ(other.made->output, sample.made->output);
    EXPECT_EQ(other.made->attributes, sample.made->attributes);
    EXPECT_EQ(other.made->dims, sample.made->dims);
  }
}

TEST(Messages, bring_whole_numbers_and_made_inputs) {
  OpDefinition sent;
  sent.bytes = sent.flops = Formula::parse("1");
  sent.base = Config{"plain", {}};
  Sample& range = sent.samples["target"] = {"range"};
  range.from = Formula::parse("3");
  range.to = Formula::parse("n");
  range.sometimes = Formula::parse("ignore");
  OpDefinition other = sent;
  other.interface.op = "softmax";
  sent.samples["y"] = {"made"};
  sent.samples["y"].made = MadeInput{
      std::make_shared<const OpDefinition>(other), "y", {{"pitch", "dense"}}, {{"rows", Formula::parse("n")}}};
  expect_equal(definition_from(through(to_message(sent))).samples, sent.samples);
}

TEST(Messages, bring_all_of_a_built_in_definition_that_measuring_needs) {
  Catalogue catalogue({}, TILEWRIGHT_TEST_KERNELS);
  for (const std::string& op : catalogue.names()) {
    const OpDefinition& sent = catalogue.find(op);
    const OpDefinition got = definition_from(through(to_message(sent)));
    EXPECT_EQ(got.interface, sent.interface) << op;
    EXPECT_EQ(got.base, sent.base);
    EXPECT_EQ(got.bytes, sent.bytes);
    EXPECT_EQ(got.flops, sent.flops);
    EXPECT_EQ(got.reference.entry, sent.reference.entry);
    EXPECT_EQ(got.reference.grid, sent.reference.grid);
    EXPECT_EQ(got.reference.sampled, sent.reference.sampled);
    expect_equal(got.samples, sent.samples);
    ASSERT_EQ(got.more_samples.size(), sent.more_samples.size()) << op;
    for (std::size_t i = 0; i < sent.more_samples.size(); ++i) {
      EXPECT_EQ(got.more_samples[i].name, sent.more_samples[i].name);
      expect_equal(got.more_samples[i].samples, sent.more_samples[i].samples);
    }
    ASSERT_EQ(got.tolerance.size(), sent.tolerance.size());
    for (std::size_t i = 0; i < sent.tolerance.size(); ++i) {
      EXPECT_EQ(got.tolerance[i].when, sent.tolerance[i].when);
      ASSERT_EQ(got.tolerance[i].by_type.size(), sent.tolerance[i].by_type.size());
      for (const auto& [type, tolerance] : sent.tolerance[i].by_type) {
        EXPECT_EQ(got.tolerance[i].by_type.at(type).absolute, tolerance.absolute);
        EXPECT_EQ(got.tolerance[i].by_type.at(type).relative, tolerance.relative);
      }
    }
    for (std::size_t i = 0; i < sent.tolerance.size(); ++i) {
      ASSERT_EQ(got.tolerance[i].by_argument.size(), sent.tolerance[i].by_argument.size());
    }
    ASSERT_EQ(got.implementations.size(), sent.implementations.size());
    for (std::size_t i = 0; i < sent.implementations.size(); ++i) {
      EXPECT_EQ(got.implementations[i].recipe, sent.implementations[i].recipe);
    }
  }
}

TEST(Messages, bring_a_trials_outcome_with_numbers_that_are_none) {
  Trial sent;
  sent.status = TrialStatus::wrong_result;
  sent.reason = "y[3] is nan";
  sent.accuracy = Accuracy{std::numeric_limits<double>::infinity(), std::nan(""), 0.125};
  sent.timing = Timing{.median_ns = 3,
                       .low_ns = 2,
                       .high_ns = 5,
                       .min_ns = 1,
                       .rounds_ns = {1, 3, 5.5},
                       .launches_per_round = 7,
                       .input_sets = 4,
                       .floor_ns = 0.5};
  sent.phases = {1'763'000'000'123'456, 1, 20, 300};
  sent.readings.temperature_c = 40;
  sent.readings.other_processes = 2;
  sent.readings.throttle_reasons = 0x8000000000000001;
  Trial got;
  read_trial(through(to_message(sent)), got);
  EXPECT_EQ(got.status, TrialStatus::wrong_result);
  EXPECT_EQ(got.reason, sent.reason);
  EXPECT_TRUE(std::isinf(got.accuracy->max_absolute));
  EXPECT_TRUE(std::isnan(got.accuracy->max_relative));
  EXPECT_EQ(got.timing->rounds_ns, sent.timing->rounds_ns);
  EXPECT_EQ(got.timing->launches_per_round, 7);
  EXPECT_EQ(got.timing->input_sets, 4);
  EXPECT_EQ(got.timing->floor_ns, 0.5);
  EXPECT_EQ(got.phases, sent.phases);
  EXPECT_EQ(got.readings.temperature_c, 40);
  EXPECT_EQ(got.readings.other_processes, 2);
  EXPECT_EQ(got.readings.throttle_reasons, 0x8000000000000001);
  EXPECT_FALSE(got.readings.sm_clock_mhz.has_value());
}

TEST(Messages, bring_a_verdict_with_the_errors_of_each_output) {
  Verdict sent;
  sent.reason = "y[0] is nan";
  sent.damaged = true;
  sent.accuracy.max_relative = std::numeric_limits<double>::quiet_NaN();
  sent.outputs.push_back(
      {"y", DType::bf16, 100, 3, {1, 2, 0.5}, {1e-4, 1e-2}, std::numeric_limits<double>::infinity()});
  const Verdict got = verdict_from(through(to_message(sent)));
  EXPECT_FALSE(got.right);
  EXPECT_EQ(got.reason, sent.reason);
  EXPECT_TRUE(got.damaged);
  EXPECT_TRUE(std::isnan(got.accuracy.max_relative));
  ASSERT_EQ(got.outputs.size(), 1U);
  EXPECT_EQ(got.outputs[0].output, "y");
  EXPECT_EQ(got.outputs[0].type, DType::bf16);
  EXPECT_EQ(got.outputs[0].elements, 100);
  EXPECT_EQ(got.outputs[0].wrong, 3);
  EXPECT_EQ(got.outputs[0].accuracy.max_relative, 2);
  EXPECT_EQ(got.outputs[0].tolerance.relative, 1e-2);
  EXPECT_TRUE(std::isinf(got.outputs[0].norm_limit));
}

TEST(Messages, throw_again_what_was_thrown) {
  EXPECT_THROW(
      try { throw_if_error(through(error_message(DeviceError("no", 701), false))); } catch (const DeviceError& error) {
        EXPECT_EQ(error.status(), 701);
        throw;
      },
      DeviceError);
  EXPECT_THROW(throw_if_error(error_message(UsageError("no"), false)), UsageError);
  EXPECT_THROW(throw_if_error(error_message(std::runtime_error("no"), true)), Error);
  EXPECT_NO_THROW(throw_if_error(Message::object()));
}

}  // namespace
}  // namespace tilewright
