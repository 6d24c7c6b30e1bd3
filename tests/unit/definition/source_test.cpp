// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/source.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <memory>

#include "cache/base/error.hpp"
#include "tests/unit/definition/helpers.hpp"
#include "tuner/definition/space.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Source : public testing::Test {
 protected:
  [[nodiscard]] GeneratedSource generate(const char* config, const char* key) const {
    const Candidate candidate = resolve_config(mix_, Config::parse(config));
    const Problem problem = parse_problem(key, mix_.interface);
    DeviceFacts device = emulator_facts();
    device.compute_capability = 90;
    const auto plan = make_plan(mix_.interface, candidate.implementation->recipe, candidate.config, problem, device);
    if (const auto* illegal = std::get_if<Illegal>(&plan)) throw std::logic_error(illegal->reason);
    return generate_source(mix_, *candidate.implementation, candidate.config, problem, std::get<LaunchPlan>(plan));
  }

  OpDefinition mix_ = load_mix();
};

constexpr const char* kStatic = "tma{block_m=128,block_k=64,split_k=4,cluster=2,static_dims=1}";
constexpr const char* kDynamic = "tma{block_m=128,block_k=64,split_k=4,cluster=2,static_dims=0}";
constexpr const char* kProblem = "mix[dtype=bf16,layout=nn,act=gelu]{m=512,n=4096,k=1024}";

TEST_F(Source, of_a_config_with_constant_dims_is_this) {
  const GeneratedSource source = generate(kStatic, kProblem);
  EXPECT_EQ(source.text, fmt::format(R"(#include "device/config.cuh"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
namespace tilewright_generated {{
struct Config {{
  using dtype = __nv_bfloat16;
  static constexpr tilewright::Name dtype_name{{"bf16"}};
  static constexpr tilewright::Name implementation{{"tma"}};
  static constexpr int block_m = 128;
  static constexpr int block_k = 64;
  static constexpr int split_k = 4;
  static constexpr int cluster = 2;
  static constexpr int static_dims = 1;
  static constexpr tilewright::Name layout{{"nn"}};
  static constexpr tilewright::Name bias{{"no"}};
  static constexpr tilewright::Name act{{"gelu"}};
  static constexpr long long m = 0;
  static constexpr long long n = 4096;
  static constexpr long long k = 1024;
}};
}}
#include "{}/ops/mix/mix.cu"
)",
                                     data_dir().string()));
  EXPECT_EQ(source.name, "mix_tma.cu");
  EXPECT_THAT(source.entries, ElementsAre("mix_tma", "mix_add"));
}

TEST_F(Source, of_a_config_without_constant_dims_is_the_same_for_every_shape) {
  const GeneratedSource one = generate(kDynamic, kProblem);
  const GeneratedSource other = generate(kDynamic, "mix[dtype=bf16,layout=nn,act=gelu]{m=256,n=64,k=256}");
  EXPECT_EQ(one.text, other.text);
  EXPECT_EQ(source_key(one, "hash"), source_key(other, "hash"));
  EXPECT_THAT(one.text, testing::HasSubstr("long long n = 0;"));
}

TEST_F(Source, of_a_config_with_constant_dims_depends_on_those_alone) {
  const GeneratedSource one = generate(kStatic, kProblem);
  EXPECT_EQ(one.text, generate(kStatic, "mix[dtype=bf16,layout=nn,act=gelu]{m=256,n=4096,k=1024}").text);
  EXPECT_NE(one.text, generate(kStatic, "mix[dtype=bf16,layout=nn,act=gelu]{m=512,n=4096,k=2048}").text);
}

TEST_F(Source, depends_on_dtype_attributes_and_parameters) {
  const std::string text = generate(kDynamic, kProblem).text;
  EXPECT_NE(text, generate(kDynamic, "mix[dtype=f16,layout=nn,act=gelu]{m=512,n=4096,k=1024}").text);
  EXPECT_NE(text, generate(kDynamic, "mix[dtype=bf16,layout=nn,act=relu]{m=512,n=4096,k=1024}").text);
  EXPECT_NE(text, generate("tma{block_m=64,block_k=64,split_k=4,cluster=2,static_dims=0}", kProblem).text);
}

TEST_F(Source, names_the_kernels_that_the_config_launches) {
  EXPECT_THAT(generate("tma{block_m=128,block_k=64,split_k=1,cluster=1,static_dims=0}", kProblem).entries,
              ElementsAre("mix_tma"));
  EXPECT_THAT(generate("plain{num_warps=4}", kProblem).entries, ElementsAre("mix_plain"));
}

TEST_F(Source, holds_kernels_that_other_shapes_may_launch_unless_the_shape_is_constant) {
  for (Implementation& implementation : mix_.implementations) {
    if (implementation.recipe.name == "tma") implementation.recipe.kernels[1].when = Formula::parse("k > 100000");
  }
  EXPECT_THAT(generate(kDynamic, kProblem).entries, ElementsAre("mix_tma", "mix_add"));
  EXPECT_THAT(generate(kStatic, kProblem).entries, ElementsAre("mix_tma"));
  mix_.implementations[0].recipe.kernels[1].when = Formula::parse("sm_count > 1000");
  EXPECT_THAT(generate(kStatic, kProblem).entries, ElementsAre("mix_tma", "mix_add"));
}

TEST_F(Source, of_a_reference_has_no_parameters_and_no_constant_dims) {
  const Problem problem = parse_problem("mix[dtype=f16,bias=yes]{m=3,n=4,k=5}", mix_.interface);
  const GeneratedSource source = generate_reference(mix_, problem);
  EXPECT_EQ(source.text, fmt::format(R"(#include "device/config.cuh"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
namespace tilewright_generated {{
struct Config {{
  using dtype = __half;
  static constexpr tilewright::Name dtype_name{{"f16"}};
  static constexpr tilewright::Name layout{{"nt"}};
  static constexpr tilewright::Name bias{{"yes"}};
  static constexpr tilewright::Name act{{"none"}};
  static constexpr long long m = 0;
  static constexpr long long n = 0;
  static constexpr long long k = 0;
}};
}}
#include "{}/ops/mix/mix.cu"
)",
                                     data_dir().string()));
  EXPECT_EQ(source.name, "mix_reference.cu");
  EXPECT_THAT(source.entries, ElementsAre("mix_reference"));
}

TEST_F(Source, of_a_reference_has_those_of_ops_that_make_inputs_before_it) {
  OpDefinition other = mix_;
  other.interface.dims = {"n", "rows"};
  other.interface.attributes = {{"layout", {"nt", "nn"}}, {"form", {"round", "square"}}};
  other.reference = {"/ops/other.cu", "other_reference", Formula::parse("1")};
  mix_.samples["a"] = {"made"};
  mix_.samples["a"].made =
      MadeInput{std::make_shared<const OpDefinition>(other), "d", {{"form", "square"}}, {{"n", Formula::parse("n")}}};
  mix_.more_samples = {{"more", mix_.samples}};
  const Problem problem = parse_problem("mix[dtype=f16,layout=nn]{m=3,n=4,k=5}", mix_.interface);
  const GeneratedSource source = generate_reference(mix_, problem);
  EXPECT_THAT(source.text, HasSubstr("  static constexpr tilewright::Name act{\"none\"};\n"
                                     "  static constexpr tilewright::Name form{\"square\"};\n"
                                     "  static constexpr long long m = 0;\n"
                                     "  static constexpr long long n = 0;\n"
                                     "  static constexpr long long k = 0;\n"
                                     "  static constexpr long long rows = 0;\n"));
  EXPECT_THAT(source.text, HasSubstr("#include \"/ops/other.cu\"\n#include \"" + data_dir().string()));
  EXPECT_THAT(source.entries, ElementsAre("mix_reference", "other_reference"));

  GeneratedSource moved = source;
  moved.text = replaced(moved.text, "/ops/other.cu", "/elsewhere/other.cu");
  EXPECT_EQ(source_key(moved, "hash"), source_key(source, "hash"));
}

TEST_F(Source, has_a_key_of_its_content_wherever_the_op_lies) {
  GeneratedSource source = generate(kStatic, kProblem);
  const std::string key = source_key(source, "hash");
  EXPECT_EQ(key.size(), 32U);
  GeneratedSource moved = source;
  moved.text = replaced(moved.text, data_dir().string(), "/elsewhere");
  EXPECT_EQ(source_key(moved, "hash"), key);

  EXPECT_NE(source_key(source, "another hash"), key);
  GeneratedSource edited = source;
  edited.text = replaced(edited.text, "block_m = 128", "block_m = 64");
  EXPECT_NE(source_key(edited, "hash"), key);
  source.entries.pop_back();
  EXPECT_NE(source_key(source, "hash"), key);
}

TEST_F(Source, cannot_lie_in_a_folder_that_an_include_cannot_name) {
  for (const char* path : {"/a \"quoted\"/mix.cu", "/back\\slash/mix.cu", "/line\nbreak/mix.cu"}) {
    mix_.reference.source = path;
    const Problem problem = parse_problem("mix{m=3,n=4,k=5}", mix_.interface);
    EXPECT_THROW(static_cast<void>(generate_reference(mix_, problem)), UsageError) << path;
  }
}

}  // namespace
}  // namespace tilewright::test
