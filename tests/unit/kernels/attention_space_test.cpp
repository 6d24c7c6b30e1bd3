// SPDX-License-Identifier: Apache-2.0
// The spaces of attention on Hopper: their sizes, their configs, and their dependence on the dims.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tests/unit/kernels/built_in_op.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"
#include "tuner/compile/nvrtc_search.hpp"
#include "tuner/compile/source.hpp"

namespace tilewright::test::attention_space_test {
namespace {

using ::testing::IsSupersetOf;

BuiltInOp& attention() {
  static BuiltInOp op("attention");
  return op;
}

std::vector<Config> configs(const std::string& implementation, const std::string& key) {
  std::vector<Config> found;
  const Problem problem = attention().problem(key);
  for (const Candidate& candidate : expand(attention().definition(), problem, facts_of_an_h200()).legal) {
    if (candidate.config.implementation == implementation) found.push_back(candidate.config);
  }
  return found;
}

std::set<std::int64_t> values(const std::vector<Config>& configs, const std::string& parameter) {
  std::set<std::int64_t> found;
  for (const Config& config : configs) {
    for (const auto& [name, value] : config.values) {
      if (name == parameter) found.insert(value);
    }
  }
  return found;
}

/// block_m and block_n.
std::set<std::pair<std::int64_t, std::int64_t>> tiles(const std::vector<Config>& configs) {
  std::set<std::pair<std::int64_t, std::int64_t>> found;
  for (const Config& config : configs) {
    std::map<std::string, std::int64_t> named(config.values.begin(), config.values.end());
    found.emplace(named["block_m"], named["block_n"]);
  }
  return found;
}

std::string long_sequences(int d, int dv, const char* mask = "no", int tokens = 2048) {
  return fmt::format("attention[dtype=bf16,causal={}]{{b=4,hq=16,hkv=16,sq={},sk={},d={},dv={}}}", mask, tokens, tokens,
                     d, dv);
}

TEST(AttentionSpace, has_the_tiles_of_every_head_size_and_no_more_than_80_configs) {
  using Tiles = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const struct {
    int d, dv;
    Tiles tiles;
  } sizes[] = {{64, 64, {{192, 96}, {192, 112}, {192, 128}, {256, 64}, {128, 128}, {128, 192}}},
               {96, 96, {{192, 96}, {128, 128}, {128, 144}, {128, 160}}},
               {128, 128, {{128, 96}, {128, 112}, {128, 128}, {128, 144}}},
               {192, 128, {{128, 112}, {128, 128}}},
               {192, 192, {{128, 80}, {128, 96}, {128, 112}}},
               {256, 256, {{128, 64}, {128, 80}}}};
  for (const auto& size : sizes) {
    for (const char* mask : {"no", "yes"}) {
      const auto found = configs("wgmma", long_sequences(size.d, size.dv, mask));
      EXPECT_THAT(tiles(found), IsSupersetOf(size.tiles)) << size.d << '/' << size.dv;
      EXPECT_GE(found.size(), 16U) << size.d << '/' << size.dv;
      EXPECT_LE(found.size(), 80U) << size.d << '/' << size.dv;
    }
  }
}

TEST(AttentionSpace, takes_turns_under_a_mask_only_where_the_rings_have_room_for_the_warpgroup_that_is_behind) {
  const auto stages_of_turns = [](const std::string& attributes) {
    std::set<std::int64_t> found;
    for (const Config& config :
         configs("wgmma", "attention[dtype=bf16," + attributes + "]{b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64,dv=64}")) {
      std::map<std::string, std::int64_t> named(config.values.begin(), config.values.end());
      if (named["block_m"] == 256 && named["pingpong"] == 1) found.insert(named["stages"]);
    }
    return found;
  };
  EXPECT_EQ(stages_of_turns("causal=no"), (std::set<std::int64_t>{2, 3}));
  EXPECT_EQ(stages_of_turns("causal=yes"), (std::set<std::int64_t>{3}));
  EXPECT_EQ(stages_of_turns("causal=no,window=yes"), (std::set<std::int64_t>{3}));
}

TEST(AttentionSpace, adds_up_rounded_weights_by_ones_wherever_they_fit) {
  const std::set<std::int64_t> with{1}, without{0};
  EXPECT_EQ(values(configs("wgmma", long_sequences(64, 64)), "ones"), with);
  EXPECT_EQ(values(configs("wgmma", long_sequences(96, 96)), "ones"), without);
  EXPECT_EQ(values(configs("wgmma", long_sequences(256, 256)), "ones"), without);
}

TEST(AttentionSpace, packs_query_heads_where_they_have_few_rows) {
  const auto pack = [](const std::string& dims) {
    return values(configs("wgmma", "attention[dtype=bf16]{b=64," + dims + ",sk=4096,d=128,dv=128}"), "pack");
  };
  EXPECT_EQ(pack("hq=32,hkv=8,sq=1"), (std::set<std::int64_t>{4}));
  EXPECT_EQ(pack("hq=32,hkv=2,sq=1"), (std::set<std::int64_t>{8}));
  EXPECT_EQ(pack("hq=24,hkv=8,sq=1"), (std::set<std::int64_t>{1}));
  EXPECT_EQ(pack("hq=32,hkv=8,sq=4096"), (std::set<std::int64_t>{1}));
}

TEST(AttentionSpace, has_mma_for_any_address_on_every_gpu) {
  for (const int d : {8, 64, 72, 128, 256}) {
    for (const int tokens : {1, 2048}) {
      const auto found = configs("mma", long_sequences(d, d, "yes", tokens));
      EXPECT_EQ(values(found, "vec"), (std::set<std::int64_t>{2, 16})) << d;
      EXPECT_LE(found.size(), 12U) << d;
    }
  }
}

// Those to compile: one, or with TILEWRIGHT_COMPILE_HALF=0 and 1 the one and the other half of all.
std::vector<Candidate> to_compile(const std::vector<Candidate>& all) {
  const char* half = std::getenv("TILEWRIGHT_COMPILE_HALF");
  if (half == nullptr) return {all.at(all.size() / 2)};
  std::vector<Candidate> taken;
  for (std::size_t i = std::string_view(half) == "1" ? 1 : 0; i < all.size(); i += 2) taken.push_back(all[i]);
  return taken;
}

// Compiles configs of each problem. The compiler serialises a product whose registers it cannot keep in place, which is
// far slower.
void expect_products_in_place(const std::string& name, const std::vector<std::string>& problems, int most_spilled = 64,
                              const std::string& implementation = "wgmma") {
  if (NvrtcLibrary::find(nvrtc_search_places()) == nullptr) {
    GTEST_SKIP() << "NVRTC was not found: scripts/setup brings it";
  }
  const BuiltInOp op(name);
  NvrtcCompiler compiler;
  for (const std::string& key : problems) {
    const Problem problem = op.problem(key);
    std::vector<Candidate> candidates = expand(op.definition(), problem, facts_of_an_h200()).legal;
    std::erase_if(candidates, [&](const Candidate& each) { return each.config.implementation != implementation; });
    ASSERT_FALSE(candidates.empty()) << key;
    EXPECT_LE(candidates.size(), 80U) << key;
    for (const Candidate& each : to_compile(candidates)) {
      const auto plan =
          make_plan(op.definition().interface, each.implementation->recipe, each.config, problem, facts_of_an_h200());
      const GeneratedSource source =
          generate_source(op.definition(), *each.implementation, each.config, problem, std::get<LaunchPlan>(plan));
      const CompileResult result =
          compiler.compile({source.text, source.name, source.entries, "sm_90a", {test_kernels_dir()}, {}});
      ASSERT_TRUE(result.ok) << each.config.text() << '\n' << result.log;
      EXPECT_EQ(result.log.find("serialized"), std::string::npos) << each.config.text() << '\n' << result.log;
      for (const CompiledKernel& kernel : result.kernels) {
        EXPECT_LE(kernel.resources.spill_store_bytes, most_spilled) << kernel.entry << " of " << each.config.text();
      }
    }
  }
}

TEST(AttentionSpace, compiles_without_serialized_products_and_nearly_without_spills) {
  std::vector<std::string> problems;
  for (const auto& [d, dv] : {std::pair{64, 64}, {96, 96}, {128, 128}, {192, 128}, {192, 192}, {256, 256}}) {
    problems.push_back(long_sequences(d, dv, "yes"));
  }
  expect_products_in_place("attention", problems);
}

TEST(AttentionSpace, of_wide_heads_is_for_one_stage_of_queries_and_compiles_as_the_other_does) {
  for (const char* implementation : {"wgmma_wide", "wgmma_apart"}) {
    EXPECT_TRUE(configs(implementation, long_sequences(128, 128)).empty());
    std::vector<std::string> problems;
    for (const auto& [d, dv] : {std::pair{192, 128}, {192, 192}, {256, 256}}) {
      problems.push_back(long_sequences(d, dv, "yes"));
      EXPECT_EQ(values(configs(implementation, problems.back()), "query_stages"), (std::set<std::int64_t>{1}));
    }
    expect_products_in_place("attention", problems, 96, implementation);
  }
}

TEST(AttentionSpace, of_heads_of_192_and_128_has_ones_beside_blocks_of_128_keys_where_stages_share_them) {
  const auto ones_of_128 = [](const char* implementation) {
    std::set<std::int64_t> found;
    for (const Config& config : configs(implementation, long_sequences(192, 128))) {
      std::map<std::string, std::int64_t> named(config.values.begin(), config.values.end());
      if (named["block_n"] == 128) found.insert(named["ones"]);
    }
    return found;
  };
  EXPECT_EQ(ones_of_128("wgmma"), (std::set<std::int64_t>{0}));
  EXPECT_EQ(ones_of_128("wgmma_apart"), (std::set<std::int64_t>{1}));
}

TEST(AttentionSpace, takes_pieces_late_where_they_differ_and_blocks_have_several) {
  EXPECT_TRUE(configs("wgmma_late", long_sequences(128, 128)).empty());
  EXPECT_TRUE(configs("wgmma_late", long_sequences(128, 128, "yes", 128)).empty());
  std::vector<std::string> problems;
  for (const int d : {64, 96, 128}) {
    problems.push_back(long_sequences(d, d, "yes"));
    EXPECT_EQ(values(configs("wgmma_late", problems.back()), "query_stages"), (std::set<std::int64_t>{2}));
  }
  expect_products_in_place("attention", problems, 64, "wgmma_late");
}

TEST(AttentionSpace, of_sequences_behind_one_another_compiles_as_that_of_equal_ones_does) {
  std::vector<std::string> problems;
  for (const auto& [d, dv] : {std::pair{64, 64}, {96, 96}, {128, 128}, {192, 128}, {256, 256}}) {
    problems.push_back(fmt::format(
        "attention_varlen[dtype=bf16,causal=yes]{{batch=64,tokens_q=65536,tokens_k=65536,hq=16,hkv=16,d={},dv={}}}", d,
        dv));
  }
  expect_products_in_place("attention_varlen", problems);
}

TEST(AttentionSpace, of_gradients_compiles_without_serialized_products) {
  std::vector<std::string> problems;
  for (const char* attributes : {"causal=no", "causal=yes", "causal=yes,window=yes", "causal=no,deterministic=yes"}) {
    for (const int d : {64, 128}) {
      problems.push_back(
          fmt::format("attention_bwd[dtype=bf16,{}]{{b=4,hq=16,hkv=16,sq=2048,sk=2048,d={},dv={}}}", attributes, d, d));
    }
  }
  // Spills of the copying warps are outside of the products' loop.
  expect_products_in_place("attention_bwd", problems, 320);
  expect_products_in_place("attention_bwd", problems, 384, "wgmma_ahead");
}

}  // namespace
}  // namespace tilewright::test::attention_space_test
