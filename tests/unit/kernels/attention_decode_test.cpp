// SPDX-License-Identifier: Apache-2.0
// attention_decode and attention_paged as a sweep checks them: all implementations on all samples.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "cache/base/error.hpp"
#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::test::attention_decode_test {
namespace {

void expect_right(BuiltInOp& op, const std::string& key, std::size_t configs) {
  const Problem problem = op.problem(key);
  EXPECT_EQ(op.fault(problem, op.definition().base), "");
  for (const char* implementation : {"split", "cluster"}) {
    const auto sampled = op.sample(problem, implementation, configs);
    EXPECT_EQ(sampled.size(), configs) << problem.key();
    for (const Config& config : sampled) EXPECT_EQ(op.fault(problem, config), "");
  }
}

TEST(AttentionDecode, is_right_for_new_tokens_groups_of_heads_and_windows) {
  BuiltInOp op("attention_decode");
  expect_right(op, "attention_decode[dtype=bf16]{batch=3,hq=4,hkv=2,sq=1,sk=150,d=24,dv=40}", 2);
  expect_right(
      op, "attention_decode[dtype=f16,lse=yes,window=yes,softcap=yes]{batch=2,hq=6,hkv=1,sq=5,sk=70,d=64,dv=64}", 1);
}

TEST(AttentionDecode, has_clusters_that_fill_the_multiprocessors_and_no_more_than_80_configs_of_each_kind) {
  BuiltInOp op("attention_decode");
  const struct {
    const char* dims;
    std::set<std::int64_t> clusters;
  } calls[] = {{"batch=1,hq=32,hkv=8,sq=1,sk=4096", {8, 16}},
               {"batch=1,hq=32,hkv=8,sq=1,sk=512", {2, 4, 8}},
               {"batch=8,hq=64,hkv=8,sq=1,sk=4096", {1, 2, 4, 8}},
               {"batch=64,hq=32,hkv=8,sq=1,sk=8192", {1}}};
  for (const auto& call : calls) {
    const Problem problem = op.problem(fmt::format("attention_decode{{{},d=128,dv=128}}", call.dims));
    std::map<std::string, int> counts;
    std::set<std::int64_t> clusters;
    for (const Candidate& each : expand(op.definition(), problem, facts_of_an_h200()).legal) {
      ++counts[each.config.implementation];
      for (const auto& [name, value] : each.config.values) {
        if (name == "cluster") clusters.insert(value);
      }
    }
    EXPECT_EQ(clusters, call.clusters) << call.dims;
    EXPECT_LE(counts["cluster"], 80) << call.dims;
    EXPECT_LE(counts["split"], 80) << call.dims;
    RecordProperty(call.dims, fmt::format("{} {}", counts["cluster"], counts["split"]));
  }
}

TEST(AttentionPaged, is_right_for_pages_of_any_size) {
  BuiltInOp op("attention_paged");
  expect_right(op, "attention_paged[dtype=bf16,lse=yes]{batch=3,hq=4,hkv=2,sq=2,max_pages=5,page=16,d=24,pages=17}", 1);
  expect_right(op, "attention_paged[dtype=f16,window=yes]{batch=2,hq=2,hkv=2,sq=1,max_pages=9,page=7,d=64,pages=24}",
               1);
}

TEST(AttentionPaged, has_one_plan_for_the_pools_of_a_bucket) {
  BuiltInOp op("attention_paged");
  EXPECT_EQ(op.problem("attention_paged{batch=1,hq=1,hkv=1,sq=1,max_pages=1,page=16,d=8,pages=1000}"),
            op.problem("attention_paged{batch=1,hq=1,hkv=1,sq=1,max_pages=1,page=16,d=8,pages=800}"));
}

TEST(AttentionDecodeDomain, is_up_to_16_new_tokens_and_rows_in_eights_up_to_256) {
  BuiltInOp op("attention_decode");
  for (const char* dims : {"hq=3,hkv=2,sq=1,sk=1,d=8,dv=8", "hq=2,hkv=2,sq=17,sk=1,d=8,dv=8",
                           "hq=2,hkv=2,sq=1,sk=1,d=12,dv=8", "hq=2,hkv=2,sq=1,sk=1,d=8,dv=264"}) {
    EXPECT_THROW((void)op.problem(fmt::format("attention_decode{{batch=1,{}}}", dims)), UsageError) << dims;
  }
}

}  // namespace
}  // namespace tilewright::test::attention_decode_test
