// SPDX-License-Identifier: Apache-2.0
// The order in which blocks of attention_bwd's wgmma kernels add to the sums of dq.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::attention_bwd_order_test {
namespace {

constexpr const char* kWgmma = "stages = 2, early = 0, order = 1, persistent = 0, key_stages = 1, bulk = 1";
constexpr const char* kAhead = "lead = 0, persistent = 0, joins = 0";
constexpr int kHeads = 4, kKeyHeads = 2, kKeysOfBlock = 128, kRecord = 6;

/// Each block writes its steps: batch and head, block of queries, first key, turn, sum; then the additions to each sum.
std::string source(bool causal, int block_m, const char* parameters) {
  return fmt::format(R"cu(
struct Fixed {{
  using dtype = __nv_bfloat16;
  static constexpr Name causal{{"{}"}}, window{{"no"}}, softcap{{"no"}}, deterministic{{"yes"}};
  static constexpr int block_m = {}, block_d = 128, block_dv = 64, {};
}};
#include "attention_bwd/wgmma_ahead_geometry.cuh"
using namespace tilewright::attention;
template <class>
__global__ void kernel(int* steps, int* counts, int most, long long b, long long hq, long long hkv, long long sq,
                       long long sk, int* pieces, int* stored) {{
  using G = BackwardTiles<Fixed>;
  const BackwardProblem problem = make_backward_problem<Fixed>(b, hq, hkv, sq, sk, -1, -1, 1);
  int* to = steps + static_cast<long long>(blockIdx.x) * most * {};
  for (unsigned index = first_piece<G>(); index < problem.pieces; index = next_piece<G>(index)) {{
    const BackwardWork work = make_backward_work<Fixed>(problem, index);
    if (work.first_key < problem.keys) atomicAdd(stored + work.key_head * (problem.keys / G::kKeys + 1) + work.first_key / G::kKeys, 1);
    for (int step = 0; step < work.steps(); ++step, to += {}) {{
      const int block = work.block<G>(step);
      const Turn turn = turn_of<Fixed>(problem, work, block);
      to[0] = work.batch * problem.heads + work.head(step);
      to[1] = block;
      to[2] = work.first_key;
      to[3] = turn.before;
      to[4] = turn.is_second ? 1 : 0;
      to[5] = tile_of<G>(problem, work, step) == static_cast<long long>(to[0]) * problem.query_blocks + block ? 1 : 0;
    }}
  }}
  if (blockIdx.x > 0) return;
  *pieces = static_cast<int>(problem.pieces);
  for (int block = 0; block < problem.query_blocks; ++block) {{
    const Adders adders = adders_of<Fixed>(problem.queries, problem.keys, block);
    counts[2 * block] = adders.first;
    counts[2 * block + 1] = adders.second;
  }}
}}
)cu",
                     causal ? "yes" : "no", block_m, parameters, kRecord, kRecord);
}

void expect_order(const EmulatedKernel& kernel, bool causal, int block_m, int queries, int keys) {
  SCOPED_TRACE(fmt::format("causal {} block_m {} queries {} keys {}", causal, block_m, queries, keys));
  constexpr int kBatches = 1;
  const int key_blocks = (keys + kKeysOfBlock - 1) / kKeysOfBlock, query_blocks = (queries + block_m - 1) / block_m;
  const int blocks = kBatches * kKeyHeads * (causal ? (key_blocks + 1) / 2 : key_blocks);
  const int most = 2 * query_blocks * (kHeads / kKeyHeads) + 1;
  std::vector<int> steps(static_cast<std::size_t>(blocks * most * kRecord), -1),
      counts(static_cast<std::size_t>(2 * query_blocks)),
      stored(static_cast<std::size_t>(kKeyHeads * (keys / kKeysOfBlock + 1)));
  int pieces = 0;
  ASSERT_EQ(kernel
                .run(extents(static_cast<unsigned>(blocks), 1), steps.data(), counts.data(), most,
                     std::int64_t{kBatches}, std::int64_t{kHeads}, std::int64_t{kKeyHeads}, std::int64_t{queries},
                     std::int64_t{keys}, &pieces, stored.data())
                .text,
            "");
  EXPECT_EQ(pieces, blocks * (causal ? 2 : 1));
  for (int head = 0; head < kKeyHeads; ++head) {
    for (int block = 0; block < key_blocks; ++block) {
      EXPECT_EQ(stored[static_cast<std::size_t>(head * (keys / kKeysOfBlock + 1) + block)], 1) << "of keys " << block;
    }
  }

  std::map<std::pair<int, int>, std::map<int, int>> turns[2];  // by head and block of queries: the block of each turn
  std::set<std::vector<int>> seen;
  for (int block = 0; block < blocks; ++block) {
    for (int step = 0; step < most; ++step) {
      const int* const own = steps.data() + static_cast<std::ptrdiff_t>(block * most + step) * kRecord;
      if (own[0] < 0) break;
      EXPECT_EQ(own[5], 1);
      EXPECT_TRUE(seen.insert(std::vector<int>(own, own + 3)).second) << "twice";
      EXPECT_TRUE(turns[own[4]][std::pair(own[0], own[1])].emplace(own[3], block).second) << "two have turn " << own[3];
    }
  }
  for (int head = 0; head < kHeads; ++head) {
    for (int block = 0; block < query_blocks; ++block) {
      const int last_query = std::min((block + 1) * block_m, queries) - 1;
      for (int key = 0; key < keys; key += kKeysOfBlock) {
        const bool is_seen = !causal || key <= last_query + keys - queries;
        const std::vector<int> step{head, block, key};
        EXPECT_EQ(seen.contains(step), is_seen) << head << ' ' << block << ' ' << key;
      }
      for (int sum = 0; sum < 2; ++sum) {
        const auto& own = turns[sum][{head, block}];
        EXPECT_EQ(static_cast<int>(own.size()), counts[static_cast<std::size_t>(2 * block + sum)]);
        int turn = 0, before = -1;
        for (const auto& [number, adder] : own) {
          EXPECT_EQ(number, turn++);
          EXPECT_GT(adder, before) << "waits for a block that begins after it";
          before = adder;
        }
      }
    }
  }
}

TEST(AttentionBwdOrder, gives_each_sum_of_a_tile_turns_among_blocks_that_begin_one_after_the_other) {
  for (const bool causal : {false, true}) {
    for (const auto& [block_m, parameters] : {std::pair{64, kWgmma}, {80, kWgmma}, {64, kAhead}}) {
      const EmulatedKernel kernel(source(causal, block_m, parameters));
      for (const auto& [queries, keys] : std::vector<std::pair<int, int>>{
               {1024, 1024}, {700, 900}, {900, 500}, {130, 1111}, {640, 640}, {64, 128}, {1, 1}, {300, 40}}) {
        SCOPED_TRACE(parameters);
        expect_order(kernel, causal, block_m, queries, keys);
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::test::attention_bwd_order_test
