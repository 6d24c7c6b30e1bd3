// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/fusion.hpp"

#include <gmock/gmock.h>

#include "tests/unit/definition/helpers.hpp"
#include "tuner/definition/catalogue.hpp"

namespace tilewright::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kTwoSteps = R"toml(
[[fusion.step]]
name = "copy"
op = "copy"
dims = { n = "rows * cols" }
parallel = ["rows", "cols"]

[[fusion.step]]
name = "more"
when = "act == 'gelu'"
bytes = "2 * rows * cols * sizeof(dtype)"
flops = "rows * cols"
)toml";

class FusionSection : public testing::Test {
 protected:
  /// Writes the op `mini` with `text` appended.
  std::filesystem::path write(const std::string& text) const {
    return folder_.write_mini(std::string(kMiniToml) + "\n" + text, kMiniSource);
  }
  OpDefinition load(const std::string& text) const { return load_definition(write(text), {kernels_source_dir()}); }
  std::vector<UnfusedStep> steps(const OpDefinition& definition, const char* key) {
    return unfused_steps(definition, parse_problem(key, definition.interface), catalogue_);
  }
  std::string why_not(const std::string& text) {
    const OpDefinition definition = load(text);
    try {
      static_cast<void>(steps(definition, "mini[dtype=f32,act=gelu]{rows=2,cols=8}"));
    } catch (const DefinitionError& error) {
      return error.what();
    }
    return "nothing";
  }

  const TempFolder folder_;
  Catalogue catalogue_{{}, kernels_source_dir()};
};

TEST_F(FusionSection, may_be_left_out) {
  const OpDefinition mini = load("");
  EXPECT_FALSE(mini.fusion);
  EXPECT_THAT(steps(mini, "mini[dtype=f32]{rows=2,cols=8}"), IsEmpty());
}

TEST_F(FusionSection, names_steps_that_are_ops_and_steps_that_are_not) {
  const OpDefinition mini = load("[fusion]\nshared_bytes = \"cols * sizeof(dtype)\"\n" + std::string(kTwoSteps));
  const std::vector<UnfusedStep> chain = steps(mini, "mini[dtype=bf16,act=gelu]{rows=2,cols=8}");
  ASSERT_EQ(chain.size(), 2U);
  EXPECT_EQ(chain[0].problem->key(), "copy[dtype=bf16,reads=1]{n=16}");
  EXPECT_EQ(chain[0].bytes, 64);
  EXPECT_EQ(chain[1].bytes, 64);
  EXPECT_EQ(chain[1].flops, 16);
  EXPECT_FALSE(chain[1].problem);
  EXPECT_EQ(mini.fusion->shared_bytes->text(), "cols * sizeof(dtype)");
}

TEST_F(FusionSection, leaves_out_steps_whose_condition_is_false) {
  const OpDefinition mini = load("[fusion]\n" + std::string(kTwoSteps));
  EXPECT_EQ(steps(mini, "mini[dtype=f32,act=none]{rows=2,cols=8}").size(), 1U);
}

TEST_F(FusionSection, hands_an_attribute_of_the_fused_op_to_a_step) {
  const std::string text =
      "[fusion]\n[[fusion.step]]\nname = \"a\"\nop = \"activation\"\ndims = { n = \"cols\" }\n"
      "attributes = { act = \"act\" }\n[[fusion.step]]\nname = \"b\"\nop = \"activation\"\ndims = { n = \"cols\" }\n"
      "attributes = { act = \"silu\" }\n";
  const auto chain = steps(load(text), "mini[dtype=f32,act=gelu]{rows=2,cols=8}");
  ASSERT_EQ(chain.size(), 2U);
  EXPECT_EQ(chain[0].problem->key(), "activation[dtype=f32,act=gelu]{n=8}");
  EXPECT_EQ(chain[1].problem->key(), "activation[dtype=f32,act=silu]{n=8}");
}

TEST_F(FusionSection, does_not_count_in_hashes) {
  const OpDefinition without = load("");
  const OpDefinition with = load("[fusion]\n" + std::string(kTwoSteps));
  EXPECT_EQ(without.interface.hash(), with.interface.hash());
  EXPECT_EQ(without.implementations.front().hash, with.implementations.front().hash);
}

TEST_F(FusionSection, has_its_mistakes_told_with_their_places) {
  EXPECT_THAT(mistakes_of(write("[fusion]\n")), ElementsAre(HasSubstr("[fusion] has no 'step'")));
  EXPECT_THAT(mistakes_of(write("[fusion]\nstep = [{ name = \"a\", bytes = 1, flops = 1 }]\n")),
              ElementsAre(HasSubstr("fewer than two steps")));
  EXPECT_THAT(mistakes_of(write("[fusion]\nstep = [{ name = \"a\" }, { name = \"b\", bytes = 1, flops = 1 }]\n")),
              ElementsAre(HasSubstr("step 'a' of [fusion] has no 'bytes', and no 'op' that counts them"),
                          HasSubstr("has no 'flops'")));
  EXPECT_THAT(mistakes_of(write("[fusion]\nstep = [{ name = \"a\", bytes = 1, flops = 1 }, "
                                "{ name = \"a\", bytes = 1, flops = 1 }]\n")),
              ElementsAre(HasSubstr("step 'a' of [fusion] appears twice")));
  EXPECT_THAT(mistakes_of(write("[fusion]\nstep = [{ name = \"a\", bytes = \"rowz\", flops = 1 }, "
                                "{ name = \"b\", bytes = 1, flops = 1, parallel = [\"col\"], byte = 2 }]\n")),
              ElementsAre(AllOf(HasSubstr(":32: unknown name 'rowz'"), HasSubstr("did you mean 'rows'?")),
                          AllOf(HasSubstr("which is not a dim"), HasSubstr("did you mean 'cols'?")),
                          AllOf(HasSubstr("unknown key 'byte' in step 'b' of [fusion]"), HasSubstr("'bytes'"))));
  EXPECT_THAT(mistakes_of(write("[fusion]\nstep = [{ name = \"a\", bytes = 1, flops = 1, dims = { n = 1 } }, "
                                "{ name = \"b\", op = \"copy\" }]\n")),
              ElementsAre(HasSubstr("step 'a' of [fusion] has dims, and no 'op' that they are of"),
                          HasSubstr("step 'b' of [fusion] has no 'dims'")));
  EXPECT_THAT(mistakes_of(write("[fusion]\nstep = [{ name = \"a\", bytes = \"1 / (rows - rows)\", flops = 1 }, "
                                "{ name = \"b\", bytes = 1, flops = 1 }]\n")),
              ElementsAre(HasSubstr("division by zero")));
  EXPECT_THAT(mistakes_of(write("[fusion]\nshared = 1\nstep = [1, { name = \"b\", bytes = 1, flops = 1 }]\n")),
              ElementsAre(HasSubstr("unknown key 'shared' in [fusion]"), HasSubstr("each step of [fusion] must be")));
}

TEST_F(FusionSection, says_of_ops_that_do_not_fit_where_they_are_named) {
  const auto with = [](const std::string& step) {
    return "[fusion]\nstep = [{ name = \"b\", bytes = 1, flops = 1 },\n{ name = \"a\", " + step + " }]\n";
  };
  EXPECT_THAT(why_not(with("op = \"kopy\", dims = { n = 1 }")),
              AllOf(HasSubstr("mini.toml:"), HasSubstr(":21: step 'a' of [fusion]: "), HasSubstr("'copy'")));
  EXPECT_THAT(why_not(with("op = \"copy\", dims = { m = 1 }")), AllOf(HasSubstr("step 'a'"), HasSubstr("'m'")));
  EXPECT_THAT(why_not(with("op = \"copy\", dims = { n = \"rows - 2\" }")), HasSubstr("step 'a'"));
  EXPECT_THAT(why_not(with("op = \"copy\", dims = { n = 1 }, attributes = { raeds = \"2\" }")),
              AllOf(HasSubstr("step 'a'"), HasSubstr("'reads'")));
}

TEST(ShippedFusion, chains_name_ops_that_exist_for_every_problem) {
  Catalogue catalogue({}, kernels_source_dir());
  std::size_t chains = 0;
  for (const std::string& op : catalogue.names()) {
    const OpDefinition& definition = catalogue.find(op);
    if (!definition.fusion) continue;
    ++chains;
    for (const Attribute& attribute : definition.interface.attributes) {
      for (const std::string& value : attribute.values) {
        const OpSpec spec = parse_spec(op + "[" + attribute.name + "=" + value + "]", definition.interface);
        const std::vector<std::int64_t> dims(definition.interface.dims.size(), 64);
        const Problem problem = make_problem(spec, definition.interface, dims);
        for (const UnfusedStep& step : unfused_steps(definition, problem, catalogue)) {
          EXPECT_TRUE(step.problem) << op << " " << step.step->name;
          EXPECT_GT(step.bytes, 0) << problem.key();
        }
      }
    }
  }
  EXPECT_EQ(chains, 12U);
}

}  // namespace
}  // namespace tilewright::test
