// SPDX-License-Identifier: Apache-2.0
// Sums over rows (kernels/device/row/gradient_sums.cuh and embedding_bwd) on a GPU: right, and with the same bits at
// each launch.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tests/gpu/device_fixture.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/kernels_dir.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/verify/reference_run.hpp"
#include "tuner/verify/verify.hpp"

namespace tilewright {
namespace {

constexpr int kLaunches = 8;
constexpr std::size_t kConfigs = 4;

class GpuSums : public testing::OnGpu, public ::testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] CompileResult compile(const GeneratedSource& source) const {
    const CompileResult result = device_->compiler().compile(
        {source.text, source.name, source.entries, device_->facts().arch(), {kernels_dir()}, {}});
    if (!result.ok) throw Error(result.log);
    return result;
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
  Catalogue catalogue({}, kernels_dir());
  const std::string key = GetParam();
  const OpDefinition& op = catalogue.find(key.substr(0, key.find('[')));
  const Problem problem = parse_problem(key, op.interface);
  const std::vector<Candidate> legal = expand(op, problem, device_->facts()).legal;
  ASSERT_FALSE(legal.empty());
  const CompileResult reference = compile(generate_reference(op, problem));
  Verifier verifier(*device_, op, problem, reference, {});
  ArgumentSet set(*device_, op, problem, {.reference = &reference});
  for (std::size_t i = 0; i < kConfigs; ++i) {
    const Candidate& candidate = legal[i * legal.size() / kConfigs];
    const ImplementationRecipe& recipe = candidate.implementation->recipe;
    const auto plan = make_plan(op.interface, recipe, candidate.config, problem, device_->facts());
    const CompileResult binary =
        compile(generate_source(op, *candidate.implementation, candidate.config, problem, std::get<LaunchPlan>(plan)));
    const auto executable =
        device_->load(binary.binary, kernel_facts(binary), op.interface, recipe, candidate.config, problem);
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<Address> workspaces;
    for (const PlannedWorkspace& workspace : executable->plan().workspaces) {
      buffers.push_back(device_->allocate(workspace.bytes, "workspace " + workspace.name));
      workspaces.push_back(buffers.back()->address());
    }
    EXPECT_EQ(verifier.check(*executable, workspaces).reason, "") << candidate.config.text();
    std::vector<std::vector<std::byte>> first;
    for (int launch = 0; launch < kLaunches; ++launch) {
      set.poison_outputs();
      executable->run({set.values(), workspaces});
      const auto outputs = outputs_of(set);
      if (launch == 0) first = outputs;
      EXPECT_TRUE(outputs == first) << candidate.config.text() << ", launch " << launch;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, GpuSums,
                         ::testing::Values("rmsnorm_bwd[dtype=bf16]{rows=4093,cols=1000}",
                                           "layernorm_bwd[dtype=bf16,add=yes]{rows=513,cols=16384}",
                                           "layernorm_bwd[dtype=f32]{rows=2000,cols=61}",
                                           "bias_act_dropout_bwd[dtype=bf16,act=gelu]{rows=4099,cols=1024}",
                                           "embedding_bwd[dtype=bf16]{tokens=9000,vocab=300,d=512}"),
                         [](const auto& param) { return "of_case_" + std::to_string(param.index); });

}  // namespace
}  // namespace tilewright
