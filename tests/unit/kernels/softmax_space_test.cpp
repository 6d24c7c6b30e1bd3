// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "tests/unit/kernels/built_in_op.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"
#include "tuner/compile/nvrtc_search.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/shapes.hpp"

namespace tilewright::softmax_space_test {
namespace {

const OpDefinition& softmax() {
  static BuiltInOp op("softmax");
  return op.definition();
}

TEST(SoftmaxSpace, leaves_24_configs_or_more_for_each_problem_of_its_own_grid) {
  for (const DType dtype : softmax().interface.dtypes) {
    const OpSpec spec{"softmax", dtype, {{"pitch", "dense"}}};
    for (const Problem& problem : default_shapes(softmax(), spec, false)) {
      const std::size_t legal = expand(softmax(), problem, facts_of_an_h200()).legal.size();
      EXPECT_GE(legal, 24U) << problem.key();
    }
  }
}

TEST(SoftmaxSpace, is_on_chip_or_streaming_for_every_width_up_to_its_registers) {
  for (int cols = 1; cols <= 8192; cols = cols * 3 / 2 + 1) {
    const Problem problem =
        parse_problem(fmt::format("softmax[dtype=bf16]{{rows=7,cols={}}}", cols), softmax().interface);
    bool onchip = false;
    bool streaming = false;
    for (const Candidate& candidate : expand(softmax(), problem, facts_of_an_h200()).legal) {
      onchip |= candidate.config.implementation == "onchip";
      streaming |= candidate.config.implementation == "streaming";
    }
    EXPECT_TRUE(onchip) << cols;
    EXPECT_TRUE(streaming) << cols;
  }
}

/// Compiles configs regardless of their constraints.
class SoftmaxLegality : public ::testing::Test {
 protected:
  void SetUp() override {
    if (NvrtcLibrary::find(nvrtc_search_places()) == nullptr) {
      GTEST_SKIP() << "NVRTC was not found: scripts/setup brings it";
    }
  }

  static CompileResult compile(const std::string& config, const std::string& problem, const std::string& arch) {
    const Candidate candidate = resolve_config(softmax(), Config::parse(config));
    LaunchPlan plan;
    for (const KernelRecipe& kernel : candidate.implementation->recipe.kernels) {
      plan.kernels.emplace_back().entry = kernel.entry;
    }
    const GeneratedSource source = generate_source(softmax(), *candidate.implementation, candidate.config,
                                                   parse_problem(problem, softmax().interface), plan);
    CompileRequest request{source.text, source.name, source.entries, arch, {test_kernels_dir()}, {}};
    return compiler().compile(request);
  }
  static NvrtcCompiler& compiler() {
    static NvrtcCompiler one;
    return one;
  }
  static std::string reason(const std::string& config, const std::string& problem) {
    const Candidate candidate = resolve_config(softmax(), Config::parse(config));
    const auto plan = make_plan(softmax().interface, candidate.implementation->recipe, candidate.config,
                                parse_problem(problem, softmax().interface), facts_of_an_h200());
    const auto* illegal = std::get_if<Illegal>(&plan);
    return illegal == nullptr ? "" : illegal->reason;
  }
};

TEST_F(SoftmaxLegality, what_a_static_assert_forbids_a_constraint_forbids_too) {
  struct Case {
    const char* config;
    const char* message;
  };
  const char* const problem = "softmax[dtype=f32]{rows=8,cols=4096}";
  for (const Case& each : {
           Case{"onchip{num_warps=8,rows_per_block=1,vec=8,chunks=2,ragged=0,warps_per_sm=0,static_dims=0,early_"
                "columns=0}",
                "a vector has at most 16 bytes"},
           Case{"onchip{num_warps=1,rows_per_block=16,vec=4,chunks=16,ragged=0,warps_per_sm=0,static_dims=0,early_"
                "columns=0}",
                "a row needs 4 threads or more"},
           Case{"staged{num_warps=8,vec=8,unroll=2,stages=1,ragged=0,bulk=1}",
                "asynchronous copies move whole vectors of 16 bytes"},
           Case{"streaming{num_warps=8,vec=8,ragged=0,unroll=1}", "a vector has at most 16 bytes"},
       }) {
    const CompileResult result = compile(each.config, problem, "sm_90a");
    EXPECT_FALSE(result.ok) << each.config;
    EXPECT_NE(result.log.find(each.message), std::string::npos) << each.config << '\n' << result.log;
    EXPECT_NE(reason(each.config, problem), "") << each.config;
  }
}

}  // namespace
}  // namespace tilewright::softmax_space_test
