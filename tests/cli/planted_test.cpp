// SPDX-License-Identifier: Apache-2.0
// An op whose configs have all faults that a kernel can have: each gets its status, and the correct one wins.
#include <map>

#include "cache/driver/driver_table.hpp"
#include "cache/store/store.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class Planted : public CliTest {
 protected:
  [[nodiscard]] Outcome sweep(const std::string& device, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"sweep",
                                   "planted",
                                   "--ops",
                                   TILEWRIGHT_TEST_BAD_OPS,
                                   "--cache",
                                   cache(),
                                   "--device",
                                   device,
                                   "--no-ceilings",
                                   "--quiet",
                                   "--timeout",
                                   "5",
                                   "--compile-timeout",
                                   "10"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  /// The newest trial of each fault; any trial of fault 0.
  [[nodiscard]] std::map<std::int64_t, Trial> trials(const std::string& shapes) const {
    const Store store(cache(), {.access = StoreAccess::read});
    const OpInterface interface = store.interface_of("planted").value();
    const ProblemKey key{parse_problem("planted[dtype=f32]{" + shapes + "}", interface), interface.hash(),
                         store.devices().at(0).fingerprint()};
    std::map<std::int64_t, Trial> by_fault;
    for (const Trial& trial : store.trials(key, {implementation_hash(store, key)}, MeasureMode::cold)) {
      by_fault.emplace(trial.config.find("fault").value(), trial);
    }
    return by_fault;
  }

  void expect(const std::map<std::int64_t, Trial>& trials, std::int64_t fault, TrialStatus status,
              const std::string& words) const {
    ASSERT_EQ(trials.count(fault), 1U) << fault;
    const Trial& trial = trials.at(fault);
    EXPECT_EQ(name(trial.status), name(status)) << fault << ": " << trial.reason;
    EXPECT_TRUE(contains(trial.reason, words)) << fault << ": " << trial.reason;
  }

 private:
  static std::string implementation_hash(const Store& store, const ProblemKey& key) {
    for (const Store::WinnerRow& row : store.list_winners({.op = key.problem.spec.op})) return row.implementation_hash;
    ADD_FAILURE() << "there is no winner";
    return "";
  }
};

TEST_F(Planted, faults_get_their_statuses_on_the_emulator_and_the_right_config_wins) {
  const Outcome outcome = sweep("cpu");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "plain{fault=0,")) << outcome.out;
  const auto all = trials("n=300");
  expect(all, 0, TrialStatus::ok, "");
  expect(all, 1, TrialStatus::crashed, "its process ended with");
  expect(all, 2, TrialStatus::timed_out, "made no progress for 5 s");
  expect(all, 3, TrialStatus::wrong_result, "past the end of y");
  expect(all, 4, TrialStatus::wrong_result, "y[299] is 0");
  expect(all, 5, TrialStatus::compile_failed, "this one does not compile");
  expect(all, 6, TrialStatus::compile_failed, "");
  expect(all, 9, TrialStatus::exceeds_limits, "4000000000000 bytes");
  expect(all, 10, TrialStatus::crashed, "its process ended with");

  // None is tried again unless requested.
  const Outcome again = run({"sweep", "planted", "--ops", TILEWRIGHT_TEST_BAD_OPS, "--cache", cache(), "--device",
                             "cpu", "--no-ceilings", "--timeout", "5"});
  EXPECT_TRUE(contains(again.err, " 0 configs measured, 12 known before, 0 binaries compiled")) << again.err;
  const Outcome retried = run({"sweep", "planted", "--ops", TILEWRIGHT_TEST_BAD_OPS, "--cache", cache(), "--device",
                               "cpu", "--no-ceilings", "--timeout", "5", "--retry", "timed_out,wrong_result"});
  EXPECT_TRUE(contains(retried.err, " 3 configs measured (3 failed), 9 known before")) << retried.err;
  EXPECT_EQ(run({"sweep", "planted", "--ops", TILEWRIGHT_TEST_BAD_OPS, "--retry", "crushed"}).code, 2);
}

// Without Ctrl-C the sweep waits a minute for the endless config and two for the endless compilation.
TEST_F(Planted, misdeeds_do_not_hold_up_an_interrupt) {
  for (const char* const jobs : {"1", "8"}) {
    std::filesystem::remove(cache());
    const Outcome outcome = run({"sweep", "planted", "--ops", TILEWRIGHT_TEST_BAD_OPS, "--cache", cache(), "--device",
                                 "cpu", "--no-ceilings", "--jobs", jobs, "--timeout", "60"},
                                // By then they are running, unless the host is busy.
                                {.interrupt = Interrupt{"configs, 0 known", std::chrono::milliseconds(2500)}});
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_GT(outcome.after_interrupt.count(), 0) << outcome.err;
    EXPECT_LT(outcome.after_interrupt, under_load(std::chrono::seconds(2)));
    EXPECT_TRUE(contains(outcome.err, " measured")) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "Interrupted")) << outcome.out;
  }
}

TEST_F(Planted, faults_get_their_statuses_on_a_gpu_and_the_right_config_wins) {
  const cuda::Driver* driver = cuda::Driver::find(nullptr);
  if (driver == nullptr || driver->device_count() == 0) GTEST_SKIP() << "there is no GPU";
  const Outcome outcome = sweep("cuda:0", {"n=65536"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "plain{fault=0,")) << outcome.out;
  const auto all = trials("n=65536");
  expect(all, 0, TrialStatus::ok, "");
  expect(all, 1, TrialStatus::crashed, "illegal");
  expect(all, 2, TrialStatus::timed_out, "made no progress for 5 s");
  expect(all, 3, TrialStatus::wrong_result, "past the end of y");
  expect(all, 4, TrialStatus::wrong_result, "is 0");
  expect(all, 5, TrialStatus::compile_failed, "this one does not compile");
  expect(all, 6, TrialStatus::compile_failed, "error");
  expect(all, 7, TrialStatus::exceeds_limits, "bytes of shared memory");
  expect(all, 8, TrialStatus::exceeds_limits, "registers");
  expect(all, 9, TrialStatus::exceeds_limits, "4000000000000 bytes");
}

}  // namespace
}  // namespace tilewright::testing
