// SPDX-License-Identifier: Apache-2.0
// Sums over rows (kernels/device/row/gradient_sums.cuh and embedding_bwd) on a GPU, by each implementation: right, in
// place of each input, too, and with the same bits at each launch.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/op_cases.hpp"
#include "tests/gpu/op_fixture.hpp"
#include "tuner/verify/reference_run.hpp"
#include "tuner/verify/verify.hpp"

namespace tilewright {
namespace {

using namespace tilewright::testing;

constexpr int kLaunches = 8;
// Of an implementation, for each problem.
constexpr std::size_t kConfigs = 2;

class GpuSums : public OpOnGpu, public ::testing::WithParamInterface<std::string> {
 protected:
  GpuSums() : OpOnGpu({}, GetParam(), 80) {}

  /// The problems of the op, with configs.
  [[nodiscard]] std::vector<Trials> begin_all() const {
    std::vector<Trials> all;
    for (const std::string& key : keys_of(kSums, GetParam())) {
      const Problem problem = parse_problem(key, op_->interface);
      all.push_back(begin(problem, spread(expand(*op_, problem, device_->facts()).legal, kConfigs)));
    }
    return all;
  }
};

/// The bytes of all outputs.
std::vector<std::vector<std::byte>> outputs_of(const ArgumentSet& set) {
  std::vector<std::vector<std::byte>> outputs;
  for (std::size_t i = 0; i < set.args().size(); ++i) {
    if (is_output(set.args()[i])) outputs.push_back(set.read(i));
  }
  return outputs;
}

TEST_P(GpuSums, have_the_same_bits_on_every_launch) {
  for (Trials& trials : begin_all()) {
    const CompileResult reference = trials.reference.get();
    Verifier verifier(*device_, *op_, trials.problem, reference);
    Verifier in_place(*device_, *op_, trials.problem, reference, {.seed = 2, .in_place = true});
    ArgumentSet set(*device_, *op_, trials.problem, {.reference = &reference});
    ASSERT_FALSE(trials.configs.empty());
    for (std::size_t i = 0; i < trials.configs.size(); ++i) {
      const std::string name = trials.configs[i].config.text() + " of " + trials.problem.key();
      const Loaded loaded = load(trials.configs[i], trials.problem, trials.binaries[i].get());
      EXPECT_EQ(verifier.check(*loaded.executable, loaded.workspaces).reason, "") << name;
      EXPECT_EQ(in_place.check(*loaded.executable, loaded.workspaces).reason, "") << name;
      set.place(loaded.executable->plan().args);
      std::vector<std::vector<std::byte>> first;
      for (int launch = 0; launch < kLaunches; ++launch) {
        set.poison_outputs();
        loaded.executable->run({set.values(), loaded.workspaces});
        auto outputs = outputs_of(set);
        if (launch == 0) {
          first = std::move(outputs);
        } else {
          EXPECT_TRUE(outputs == first) << name << ", launch " << launch;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, GpuSums, ::testing::ValuesIn(ops_of(kSums)),
                         [](const auto& param) { return "of_" + param.param; });

}  // namespace
}  // namespace tilewright
