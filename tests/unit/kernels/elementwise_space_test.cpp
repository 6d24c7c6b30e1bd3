// SPDX-License-Identifier: Apache-2.0
// The spaces of the elementwise ops: their sizes, and compilations of their configs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/kernels/built_in_op.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"
#include "tuner/compile/nvrtc_search.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/shapes.hpp"

namespace tilewright::elementwise_space_test {
namespace {

class ElementwiseSpace : public ::testing::TestWithParam<const char*> {
 protected:
  const OpDefinition& definition() const { return op_.definition(); }
  [[nodiscard]] std::vector<Candidate> legal(const Problem& problem) const {
    return expand(definition(), problem, facts_of_an_h200()).legal;
  }

 private:
  BuiltInOp op_{GetParam()};
};

TEST_P(ElementwiseSpace, leaves_12_configs_or_more_for_each_problem_of_its_own_grid) {
  for (const DType dtype : definition().interface.dtypes) {
    const OpSpec spec = parse_spec(fmt::format("{}[dtype={}]", GetParam(), name(dtype)), definition().interface);
    for (const Problem& problem : default_shapes(definition(), spec, false)) {
      EXPECT_GE(legal(problem).size(), 12U) << problem.key();
    }
  }
}

TEST_P(ElementwiseSpace, has_configs_besides_the_base_for_every_shape) {
  const bool flat = definition().interface.dims.size() == 1;
  for (const int width : {1, 3, 64, 257, 4099, 65536, 262147}) {
    for (const int rows : {1, 16, 32768}) {
      const std::string dims = flat ? fmt::format("n={}", static_cast<long long>(width) * rows)
                                    : fmt::format("rows={},cols={}", rows, width);
      const Problem problem =
          parse_problem(fmt::format("{}[dtype=bf16]{{{}}}", GetParam(), dims), definition().interface);
      EXPECT_GE(legal(problem).size(), 5U) << problem.key();
      EXPECT_LT(legal(problem).size(), 200U) << problem.key();
    }
  }
}

TEST_P(ElementwiseSpace, compiles_without_spills_for_the_architectures_it_is_for) {
  if (NvrtcLibrary::find(nvrtc_search_places()) == nullptr)
    GTEST_SKIP() << "NVRTC was not found: scripts/setup brings it";
  NvrtcCompiler compiler;
  const bool flat = definition().interface.dims.size() == 1;
  std::size_t step = 0;
  for (const char* dtype : {"f32", "bf16"}) {
    for (const char* dims : {flat ? "n=268435456" : "rows=32768,cols=4096", flat ? "n=65536" : "rows=4096,cols=1023"}) {
      const Problem problem =
          parse_problem(fmt::format("{}[dtype={}]{{{}}}", GetParam(), dtype, dims), definition().interface);
      const auto configs = legal(problem);
      // A fixed sample, at other indices in each space.
      for (std::size_t i = ++step; i < configs.size(); i += 29) {
        const auto plan = make_plan(definition().interface, configs[i].implementation->recipe, configs[i].config,
                                    problem, facts_of_an_h200());
        const GeneratedSource source = generate_source(definition(), *configs[i].implementation, configs[i].config,
                                                       problem, std::get<LaunchPlan>(plan));
        const char* arch = i % 2 == 0 ? "sm_80" : "sm_90a";
        CompileRequest request{source.text, source.name, source.entries, arch, {test_kernels_dir()}, {}};
        const CompileResult result = compiler.compile(request);
        ASSERT_TRUE(result.ok) << configs[i].config.text() << '\n' << result.log;
        for (const auto& kernel : result.kernels)
          EXPECT_EQ(kernel.resources.spill_store_bytes, 0) << configs[i].config.text();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, ElementwiseSpace,
                         ::testing::Values("activation", "activation_bwd", "add", "mul", "dropout", "bias_act",
                                           "bias_act_dropout", "swiglu"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace tilewright::elementwise_space_test
