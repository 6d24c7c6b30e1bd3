// SPDX-License-Identifier: Apache-2.0
// attention's wgmma kernel on a GPU, against its reference: configs of every head size, at lengths that fill no tile,
// with every mask, and with fewer rows than a tile has. Strides are those of the samples.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/gpu/op_fixture.hpp"
#include "tuner/verify/verify.hpp"

namespace tilewright {
namespace {

using namespace tilewright::testing;

struct Case {
  const char* attributes;
  const char* dims;
};

class GpuAttention : public OpOnGpu, public ::testing::WithParamInterface<Case> {
 protected:
  GpuAttention() : OpOnGpu({}, "attention") {}
  void SetUp() override {
    OpOnGpu::SetUp();
    if (!IsSkipped() && device_->facts().compute_capability != 90) GTEST_SKIP() << "needs sm_90a";
  }

  [[nodiscard]] std::vector<Candidate> wgmma(const Problem& problem) const {
    std::vector<Candidate> legal = expand(*op_, problem, device_->facts()).legal;
    std::erase_if(legal, [](const Candidate& each) { return each.config.implementation != "wgmma"; });
    return legal;
  }

  /// Empty when the config is right.
  [[nodiscard]] std::string fault(Verifier& verifier, const Candidate& candidate, const Problem& problem) const {
    const CompileResult binary = compile(candidate, problem);
    const auto executable = device_->load(binary.binary, kernel_facts(binary), op_->interface,
                                          candidate.implementation->recipe, candidate.config, problem);
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<Address> workspaces;
    for (const PlannedWorkspace& workspace : executable->plan().workspaces) {
      buffers.push_back(device_->allocate(workspace.bytes, "workspace " + workspace.name));
      device_->upload(buffers.back()->address(), std::vector<std::byte>(workspace.bytes));
      workspaces.push_back(buffers.back()->address());
    }
    return verifier.check(*executable, workspaces).reason;
  }
};

TEST_P(GpuAttention, by_wgmma_is_right_with_configs_of_all_kinds) {
  const Problem problem =
      parse_problem(fmt::format("attention[{}]{{{}}}", GetParam().attributes, GetParam().dims), op_->interface);
  const std::vector<Candidate> legal = wgmma(problem);
  ASSERT_FALSE(legal.empty()) << problem.key();
  Verifier verifier(*device_, *op_, problem, compile(generate_reference(*op_, problem)), {});
  constexpr std::size_t kMost = 6;
  const std::size_t step = (legal.size() + kMost - 1) / kMost;
  for (std::size_t i = 0; i < legal.size(); i += step) {
    EXPECT_EQ(fault(verifier, legal[i], problem), "") << legal[i].config.text() << " of " << problem.key();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GpuAttention,
    ::testing::Values(Case{"dtype=bf16,causal=no,lse=no", "b=2,hq=4,hkv=2,sq=400,sk=515,d=64,dv=64"},
                      Case{"dtype=f16,causal=yes,lse=yes", "b=1,hq=4,hkv=4,sq=500,sk=500,d=64,dv=64"},
                      Case{"dtype=bf16,causal=yes,lse=yes", "b=2,hq=4,hkv=2,sq=300,sk=200,d=96,dv=96"},
                      Case{"dtype=bf16,causal=yes,lse=no", "b=1,hq=8,hkv=2,sq=333,sk=501,d=128,dv=128"},
                      Case{"dtype=bf16,lse=yes,window=yes,softcap=yes", "b=1,hq=4,hkv=2,sq=300,sk=400,d=128,dv=128"},
                      Case{"dtype=f16,causal=yes,lse=no", "b=2,hq=4,hkv=2,sq=300,sk=200,d=192,dv=128"},
                      Case{"dtype=bf16,causal=yes,lse=yes,window=yes", "b=2,hq=4,hkv=2,sq=300,sk=400,d=256,dv=256"},
                      Case{"dtype=bf16,causal=no,lse=yes", "b=2,hq=8,hkv=1,sq=5,sk=400,d=128,dv=128"},
                      Case{"dtype=bf16,causal=no,lse=yes", "b=1,hq=2,hkv=2,sq=1,sk=1,d=64,dv=64"},
                      Case{"dtype=bf16,causal=no,lse=yes", "b=2,hq=4,hkv=2,sq=70,sk=90,d=8,dv=72"}));

}  // namespace
}  // namespace tilewright
