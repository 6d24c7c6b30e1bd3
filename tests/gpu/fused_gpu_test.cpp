// SPDX-License-Identifier: Apache-2.0
// Fused products on Hopper's tensor cores, against their references: configs of each implementation that the emulator
// does not run, with whole tiles and with ragged ones, and in place of a residual.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/gpu/op_cases.hpp"
#include "tests/gpu/op_fixture.hpp"
#include "tuner/verify/verify.hpp"

namespace tilewright {
namespace {

using namespace tilewright::testing;

// Of an implementation, for each problem. Each compiles in a second, in parallel.
constexpr std::size_t kConfigs = 2;
// Counters in workspaces are left as they were found.
constexpr int kLaunches = 2;

class GpuFused : public OpOnGpu, public ::testing::WithParamInterface<std::string> {
 protected:
  GpuFused() : OpOnGpu({}, GetParam()) {}
  void SetUp() override {
    OpOnGpu::SetUp();
    if (!IsSkipped() && device_->facts().compute_capability != 90) GTEST_SKIP() << "needs sm_90a";
  }

  /// The problems of the op, with configs.
  [[nodiscard]] std::vector<Trials> begin_all() const {
    std::vector<Trials> all;
    for (const std::string& key : keys_of(kFused, GetParam())) {
      const Problem problem = parse_problem(key, op_->interface);
      std::vector<Candidate> legal = expand(*op_, problem, device_->facts()).legal;
      std::erase_if(legal, [](const Candidate& each) { return !is_for_hopper(each); });
      all.push_back(begin(problem, spread(legal, kConfigs)));
    }
    return all;
  }
};

TEST_P(GpuFused, are_right_by_each_implementation_of_hopper) {
  for (Trials& trials : begin_all()) {
    const CompileResult reference = trials.reference.get();
    Verifier verifier(*device_, *op_, trials.problem, reference);
    Verifier in_place(*device_, *op_, trials.problem, reference, {.seed = 2, .in_place = true});
    EXPECT_FALSE(trials.configs.empty()) << trials.problem.key();
    for (std::size_t i = 0; i < trials.configs.size(); ++i) {
      const std::string name = trials.configs[i].config.text() + " of " + trials.problem.key();
      const Loaded loaded = load(trials.configs[i], trials.problem, trials.binaries[i].get());
      for (int launch = 0; launch < kLaunches; ++launch) {
        EXPECT_EQ(verifier.check(*loaded.executable, loaded.workspaces).reason, "") << name;
        EXPECT_EQ(in_place.check(*loaded.executable, loaded.workspaces).reason, "") << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, GpuFused, ::testing::ValuesIn(ops_of(kFused)),
                         [](const auto& param) { return "of_" + param.param; });

}  // namespace
}  // namespace tilewright
