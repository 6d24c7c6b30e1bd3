// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/space.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cache/base/error.hpp"
#include "tests/unit/definition/helpers.hpp"
#include "tuner/definition/catalogue.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

DeviceFacts hopper() {
  DeviceFacts facts = emulator_facts();
  facts.name = "a Hopper";
  facts.compute_capability = 90;
  facts.sm_count = 132;
  return facts;
}

DeviceFacts ampere() {
  DeviceFacts facts = hopper();
  facts.compute_capability = 80;
  return facts;
}

class Space : public testing::Test {
 protected:
  [[nodiscard]] Expansion expand_for(const char* key, const DeviceFacts& device) const {
    return expand(mix_, parse_problem(key, mix_.interface), device);
  }

  const OpDefinition mix_ = load_mix();
  /// block_m 2 × block_k 2 × split_k 3 × cluster 2 × static_dims 2, and plain's two.
  static constexpr std::size_t kTotal = 2 * 2 * 3 * 2 * 2 + 2;
};

TEST_F(Space, counts_every_config_as_legal_or_forbidden_by_one_rule) {
  for (const DeviceFacts& device : {hopper(), ampere(), emulator_facts()}) {
    for (const char* key : {"mix{m=512,n=4096,k=4096}", "mix{m=1,n=1,k=1}", "mix{m=17,n=32,k=64}"}) {
      const Expansion expansion = expand_for(key, device);
      std::size_t forbidden = 0;
      for (const auto& [rule, count] : expansion.forbidden) forbidden += count;
      EXPECT_EQ(expansion.total, kTotal);
      EXPECT_EQ(expansion.legal.size() + forbidden, kTotal) << key;
    }
  }
}

TEST_F(Space, has_only_what_the_architecture_can_run) {
  const Expansion expansion = expand_for("mix{m=512,n=4096,k=4096}", ampere());
  EXPECT_THAT(expansion.forbidden, ElementsAre(Pair("needs sm_90a", kTotal - 2)));
  std::vector<std::string> legal;
  for (const Candidate& candidate : expansion.legal) legal.push_back(candidate.config.text());
  EXPECT_THAT(legal, ElementsAre("plain{num_warps=4}", "plain{num_warps=8}"));
}

TEST_F(Space, counts_what_each_constraint_forbids) {
  // k = 64 allows block_k · split_k up to 64 (3 of 6), m = 17 no cluster of 2; n is a multiple of 8.
  const Expansion expansion = expand_for("mix{m=17,n=32,k=64}", hopper());
  EXPECT_EQ(expansion.forbidden.at("constraint `k % (block_k * split_k) == 0`"), 3U * 2 * 2 * 2);
  EXPECT_EQ(expansion.forbidden.at("constraint `m % cluster == 0 or cluster == 1`"), 3U * 2 * 2);
}

TEST_F(Space, keeps_the_definitions_order_with_the_last_parameter_fastest) {
  const Expansion expansion = expand_for("mix{m=4096,n=4096,k=4096}", hopper());
  ASSERT_GE(expansion.legal.size(), 4U);
  EXPECT_EQ(expansion.legal[0].config.text(), "tma{block_m=64,block_k=32,split_k=1,cluster=1,static_dims=0}");
  EXPECT_EQ(expansion.legal[1].config.text(), "tma{block_m=64,block_k=32,split_k=1,cluster=1,static_dims=1}");
  EXPECT_EQ(expansion.legal[2].config.text(), "tma{block_m=64,block_k=32,split_k=1,cluster=2,static_dims=0}");
  EXPECT_EQ(expansion.legal.back().config.text(), "plain{num_warps=8}");
  EXPECT_EQ(expansion.legal[0].implementation, &mix_.implementation("tma"));
  EXPECT_EQ(expansion.legal.back().implementation, &mix_.implementation("plain"));
}

TEST_F(Space, always_holds_the_base) {
  for (const char* key : {"mix{m=1,n=1,k=1}", "mix{m=12345,n=3,k=7}"}) {
    bool has_base = false;
    for (const Candidate& candidate : expand_for(key, ampere()).legal)
      has_base = has_base || candidate.config == mix_.base;
    EXPECT_TRUE(has_base) << key;
  }
}

/// The space without pruning: all configs, in order, by make_plan.
Expansion brute_force(const OpDefinition& definition, const Problem& problem, const DeviceFacts& device) {
  Expansion expansion;
  for (const Implementation& implementation : definition.implementations) {
    std::vector<std::size_t> at(implementation.space.size(), 0);
    for (bool is_end = false; !is_end;) {
      Config config{implementation.recipe.name, {}};
      for (std::size_t i = 0; i < at.size(); ++i) {
        config.values.emplace_back(implementation.space[i].name, implementation.space[i].values[at[i]]);
      }
      ++expansion.total;
      const auto plan = make_plan(definition.interface, implementation.recipe, config, problem, device);
      if (std::holds_alternative<LaunchPlan>(plan)) expansion.legal.push_back({config, &implementation});
      std::size_t i = at.size();
      while (i > 0 && ++at[i - 1] == implementation.space[i - 1].values.size()) at[--i] = 0;
      is_end = i == 0;
    }
  }
  return expansion;
}

TEST(PrunedSpace, is_the_whole_space_judged_config_by_config) {
  Catalogue catalogue({}, kernels_source_dir());
  for (const char* op : {"softmax", "add_rmsnorm"}) {
    const OpDefinition& definition = catalogue.find(op);
    for (const char* shape : {"[dtype=f32]{rows=3,cols=61}", "[dtype=bf16]{rows=4096,cols=8192}",
                              "[dtype=f16,pitch=strided]{rows=7,cols=65537}"}) {
      const Problem problem = parse_problem(op + std::string(shape), definition.interface);
      for (const DeviceFacts& device : {hopper(), emulator_facts()}) {
        const Expansion pruned = expand(definition, problem, device);
        const Expansion whole = brute_force(definition, problem, device);
        EXPECT_EQ(pruned.total, whole.total);
        ASSERT_EQ(pruned.legal.size(), whole.legal.size()) << op << shape;
        EXPECT_FALSE(pruned.legal.empty());
        for (std::size_t i = 0; i < whole.legal.size(); ++i) {
          EXPECT_EQ(pruned.legal[i].config, whole.legal[i].config);
          EXPECT_EQ(pruned.legal[i].implementation, whole.legal[i].implementation);
        }
      }
    }
  }
}

/// The small definition, whose `simple` has another parameter and these constraints.
OpDefinition constrained(const char* constraints) {
  const TempFolder folder;
  std::string toml = replaced(kMiniToml, "\"num_warps * 32 <= max_threads_per_block\"", constraints);
  toml = replaced(toml, "space = { num_warps = [1, 4],", "space = { split = [0, 1, 2], num_warps = [1, 4],");
  toml = replaced(toml, "simple{num_warps=4,", "simple{split=1,num_warps=4,");
  return load_definition(folder.write_mini(toml, kMiniSource), {kernels_source_dir()});
}

TEST(PrunedSpace, lets_a_constraint_rely_on_those_before_it) {
  // The second constraint's parameter comes first: on its own it would divide by zero.
  const OpDefinition mini = constrained("\"num_warps > 0 and split > 0\", \"12 / split > 6\"");
  const Expansion expansion = expand(mini, parse_problem("mini{rows=3,cols=5}", mini.interface), emulator_facts());
  std::vector<std::string> legal;
  for (const Candidate& candidate : expansion.legal) legal.push_back(candidate.config.text());
  EXPECT_THAT(legal, testing::Contains("simple{split=1,num_warps=4,static_dims=0}"));
  EXPECT_EQ(expansion.forbidden.at("constraint `num_warps > 0 and split > 0`"), 4U);
  EXPECT_EQ(expansion.forbidden.at("constraint `12 / split > 6`"), 4U);
}

TEST(PrunedSpace, reports_a_constraint_that_nothing_before_it_guards) {
  const OpDefinition mini = constrained("\"cols % (rows - 77) >= 0\"");
  EXPECT_THROW(static_cast<void>(expand(mini, parse_problem("mini{rows=77,cols=5}", mini.interface), emulator_facts())),
               DefinitionError);
}

TEST(PrunedSpace, tells_for_each_implementation_what_forbids_its_configs) {
  const OpDefinition mini = constrained("\"cols != 77\", \"split < 2\"");
  const Problem problem = parse_problem("mini[act=gelu]{rows=3,cols=77}", mini.interface);
  EXPECT_EQ(refusals(mini, problem, ampere()),
            fmt::format("no config of mini can serve mini[dtype=f32,act=gelu]{{rows=3,cols=77}} on {}:\n"
                        "  simple: constraint `cols != 77` (12 of 12)\n"
                        "  mapped: needs sm_90 (2 of 2)",
                        ampere().fingerprint()));
}

TEST(PrunedSpace, tells_of_the_configs_that_are_named_why_they_cannot_serve) {
  const OpDefinition mini = constrained("\"cols != 77\", \"split < 2\"");
  const Problem problem = parse_problem("mini[act=gelu]{rows=3,cols=77}", mini.interface);
  EXPECT_EQ(refusals(mini, {"simple{split=1,num_warps=4,static_dims=0}"}, problem, ampere()),
            "simple{split=1,num_warps=4,static_dims=0} cannot serve mini[dtype=f32,act=gelu]{rows=3,cols=77}: "
            "constraint `cols != 77` is false (cols=77)");
}

std::string refusal(const OpDefinition& definition, const char* text) {
  try {
    return resolve_config(definition, Config::parse(text)).config.text();
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST_F(Space, resolves_a_config_into_the_definitions_order) {
  const Candidate candidate =
      resolve_config(mix_, Config::parse("tma{static_dims=1,cluster=2,split_k=4,block_k=64,block_m=128}"));
  EXPECT_EQ(candidate.config.text(), "tma{block_m=128,block_k=64,split_k=4,cluster=2,static_dims=1}");
  EXPECT_EQ(candidate.implementation, &mix_.implementation("tma"));
}

TEST_F(Space, refuses_configs_that_it_does_not_hold) {
  EXPECT_EQ(refusal(mix_, "tmaa{}"), "mix has no implementation 'tmaa'; did you mean 'tma'?");
  EXPECT_EQ(refusal(mix_, "plain{num_warp=4}"), "plain has no parameter 'num_warp'; did you mean 'num_warps'?");
  EXPECT_EQ(refusal(mix_, "plain{}"), "plain{} has no value for 'num_warps'; its values: 4, 8");
  EXPECT_EQ(refusal(mix_, "plain{num_warps=5}"), "num_warps=5 is not in the space of plain; its values: 4, 8");
  EXPECT_THROW(static_cast<void>(resolve_config(mix_, {"plain", {{"num_warps", 4}, {"num_warps", 8}}})), UsageError);
}

}  // namespace
}  // namespace tilewright::test
