// SPDX-License-Identifier: Apache-2.0
// attention_varlen as a sweep checks it; and that sequences do not affect their neighbours.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cache/base/error.hpp"
#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::test::attention_varlen_test {
namespace {

TEST(AttentionVarlen, is_right_for_sequences_of_all_lengths) {
  BuiltInOp op("attention_varlen");
  for (const char* key : {"attention_varlen[dtype=bf16]{batch=5,tokens_q=96,tokens_k=128,hq=2,hkv=1,d=24,dv=16}",
                          "attention_varlen[dtype=f16,causal=yes,lse=yes,window=yes,softcap=yes]"
                          "{batch=3,tokens_q=192,tokens_k=96,hq=2,hkv=2,d=64,dv=64}",
                          "attention_varlen[dtype=bf16,causal=yes,lse=yes]"
                          "{batch=40,tokens_q=48,tokens_k=64,hq=1,hkv=1,d=8,dv=40}"}) {
    const Problem problem = op.problem(key);
    const auto configs = op.sample(problem, "mma", 1);
    EXPECT_FALSE(configs.empty()) << key;
    for (const Config& config : configs) EXPECT_EQ(op.fault(problem, config), "");
  }
}

TEST(AttentionVarlen, has_a_base_for_heads_of_every_width_and_rows_at_any_address) {
  BuiltInOp op("attention_varlen");
  for (const char* key :
       {"attention_varlen[dtype=bf16]{batch=5,tokens_q=96,tokens_k=128,hq=2,hkv=1,d=24,dv=16}",
        "attention_varlen[dtype=f16,causal=yes,lse=yes,window=yes,softcap=yes]"
        "{batch=3,tokens_q=192,tokens_k=96,hq=2,hkv=2,d=64,dv=192}",
        "attention_varlen[dtype=bf16,causal=yes,lse=yes]{batch=40,tokens_q=48,tokens_k=64,hq=1,hkv=1,d=200,dv=40}"}) {
    EXPECT_EQ(op.fault(op.problem(key), op.definition().base), "") << key;
  }
}

TEST(AttentionVarlen, has_a_base_of_one_kernel_for_every_width_and_count) {
  BuiltInOp op("attention_varlen");
  const Candidate base = resolve_config(op.definition(), op.definition().base);
  const auto launched = [&](const std::string& dims) {
    const auto plan = make_plan(op.definition().interface, base.implementation->recipe, base.config,
                                op.problem("attention_varlen{" + dims + "}"), facts_of_an_a100());
    const auto& kernels = std::get<LaunchPlan>(plan).kernels;
    EXPECT_EQ(kernels.size(), 1U);
    return fmt::format("{} {} {}", kernels.front().entry, kernels.front().grid.at(0), kernels.front().shared_bytes);
  };
  EXPECT_EQ(launched("batch=64,tokens_q=8192,tokens_k=8192,hq=16,hkv=16,d=96,dv=128"),
            "attention_varlen_simple 3072 81920");
  EXPECT_EQ(launched("batch=1,tokens_q=1,tokens_k=1,hq=1,hkv=1,d=136,dv=64"), "attention_varlen_simple 2 98304");
  EXPECT_EQ(launched("batch=1,tokens_q=268435456,tokens_k=1,hq=512,hkv=1,d=64,dv=64"),
            "attention_varlen_simple 2147483647 81920");
}

TEST(AttentionVarlen, has_one_plan_for_the_tokens_of_a_bucket) {
  BuiltInOp op("attention_varlen");
  EXPECT_EQ(op.problem("attention_varlen{batch=9,tokens_q=5000,tokens_k=5001,hq=1,hkv=1,d=8,dv=8}"),
            op.problem("attention_varlen{batch=9,tokens_q=6100,tokens_k=4097,hq=1,hkv=1,d=8,dv=8}"));
}

constexpr int kHead = 16;
constexpr std::uint16_t kNaN = 0x7fc0, kUntouched = 0x4242;

/// o of sequences with `lengths` queries and keys, of one head. Keys and values of all sequences but `only` are NaN
/// (-1: none is), and the tensors have tokens of NaN after the last sequence.
std::vector<std::uint16_t> attended(const std::vector<int>& lengths, int only) {
  constexpr int kBehind = 70;
  static const EmulatedKernel kMade(R"cu(
struct Fixed {
  using dtype = __nv_bfloat16;
  static constexpr Name causal{"yes"}, lse{"no"}, window{"no"}, softcap{"no"};
  static constexpr int block_m = 64, block_n = 64, block_d = 32, block_dv = 32, pack = 1, vec = 16;
};
#include "attention_varlen/mma.cu"
template <class>
__global__ void kernel(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* cu,
                       __nv_bfloat16* o, long long batch, long long tokens) {
  attention_varlen_mma<Fixed>(q, k, v, cu, cu, o, nullptr, 0.25f, 0, 0, 0.0f, 16, 16, 16, 16, 16, 16, 16, 16, batch,
                              tokens, tokens, 1, 1, 16, 16);
}
)cu");
  std::vector<int> cu{0};
  for (const int length : lengths) cu.push_back(cu.back() + length);
  const auto elements = static_cast<std::size_t>((cu.back() + kBehind) * kHead);
  std::vector<std::uint16_t> q(elements, kNaN), k(elements, kNaN), v(elements, kNaN), o(elements, kUntouched);
  std::uint32_t state = 1;
  const auto drawn = [&] {
    state = state * 1664525U + 1013904223U;
    return static_cast<std::uint16_t>(0x3f00 | (state >> 16 & 0x80ff));  // ±0.5 … ±2
  };
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    for (int i = cu[n] * kHead; i < cu[n + 1] * kHead; ++i) {
      const auto at = static_cast<std::size_t>(i);
      q[at] = drawn();
      k[at] = drawn();
      v[at] = drawn();
      if (only >= 0 && n != static_cast<std::size_t>(only)) k[at] = v[at] = kNaN;
    }
  }
  EmulatedLaunch launch = extents(static_cast<unsigned>((cu.back() + 63) / 64 + static_cast<int>(lengths.size())), 128,
                                  (64 + 2 * 64 * 2) * 128);
  const std::string text =
      kMade
          .run(launch, static_cast<const std::uint16_t*>(q.data()), static_cast<const std::uint16_t*>(k.data()),
               static_cast<const std::uint16_t*>(v.data()), static_cast<const int*>(cu.data()), o.data(),
               static_cast<std::int64_t>(lengths.size()), std::int64_t{cu.back()})
          .text;
  EXPECT_EQ(text, "");
  return o;
}

TEST(AttentionVarlen, of_a_sequence_is_the_same_whatever_its_neighbours_hold) {
  const std::vector<int> lengths{5, 0, 64, 65, 1, 130, 0, 3};
  const std::vector<std::uint16_t> right = attended(lengths, -1);
  std::size_t begin = 0;
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    const std::size_t end = begin + static_cast<std::size_t>(lengths[n] * kHead);
    const std::vector<std::uint16_t> alone = attended(lengths, static_cast<int>(n));
    EXPECT_TRUE(std::equal(right.begin() + static_cast<std::ptrdiff_t>(begin),
                           right.begin() + static_cast<std::ptrdiff_t>(end),
                           alone.begin() + static_cast<std::ptrdiff_t>(begin)))
        << "sequence " << n;
    begin = end;
  }
  EXPECT_EQ(std::ranges::count_if(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(begin),
                                  [](std::uint16_t bits) { return (bits & 0x7f80) == 0x7f80 || bits == kUntouched; }),
            0)
      << "NaN, or not written";
  EXPECT_TRUE(std::all_of(right.begin() + static_cast<std::ptrdiff_t>(begin), right.end(), [](std::uint16_t bits) {
    return bits == kUntouched;
  })) << "behind the last sequence";
}

}  // namespace
}  // namespace tilewright::test::attention_varlen_test
