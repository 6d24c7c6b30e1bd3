// SPDX-License-Identifier: Apache-2.0
// Cases of attention by mma that verification's inputs do not cover, against float64: masks at planted scores, edges of
// windows, rows without a key, scores of all sizes, data beyond the last key. For the base: rows that are all aligned.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::attention_mma_test {
namespace {

constexpr long long kHead = 24, kHeadV = 40;
constexpr int kBlockM = 64, kBlockN = 64;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// bf16 bits, and back.
std::uint16_t rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float number(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// One batch. Each tensor has `behind` tokens of NaN after the last one, and each row 8 such elements.
struct Call {
  long long heads = 2, key_heads = 1, queries = 1, keys = 1;
  float scale = 0.25f;
  int left = -1, right = -1;
  float softcap = 0.0f;
  bool causal = false;
  int pack = 1;
  int vec = 16;
  /// If `plants`, each query matches the key `planted` from its diagonal, with a score of 12.
  bool plants = false;
  long long planted = 0;
  float spread = 1.0f;  // of q and k
  std::string entry = "attention_mma";
  long long unseen = 0;  // keys before the others, outside of all windows and not in memory
};

class Tensors {
 public:
  explicit Tensors(const Call& call) : call_(call) {
    fill(q_, call.queries, call.heads, kHead, call.spread);
    fill(k_, call.keys, call.key_heads, kHead, call.spread);
    fill(v_, call.keys, call.key_heads, kHeadV, 1.0f);
    if (call.plants) plant();
    o_.assign(static_cast<std::size_t>((call.queries + kBehind) * call.heads * (kHeadV + kGap)), rounded(-7.0f));
    lse_.assign(static_cast<std::size_t>(call.queries * call.heads), kNaN);
  }

  /// Launches; returns the emulator's error, or an empty text.
  std::string run(std::uint64_t seed);
  /// The first difference from float64, or an empty text.
  [[nodiscard]] std::string fault() const;

 private:
  static constexpr long long kBehind = 3, kGap = 8;
  using Values = std::vector<std::uint16_t>;

  [[nodiscard]] static std::size_t at(long long token, long long head, long long heads, long long columns) {
    return static_cast<std::size_t>((token * heads + head) * (columns + kGap));
  }
  void fill(Values& values, long long tokens, long long heads, long long columns, float spread) {
    values.assign(static_cast<std::size_t>((tokens + kBehind) * heads * (columns + kGap)), rounded(kNaN));
    for (long long token = 0; token < tokens; ++token) {
      for (long long head = 0; head < heads; ++head) {
        for (long long i = 0; i < columns; ++i) {
          // A sum of three numbers between -1 and 1: nearly normal.
          float sum = 0.0f;
          for (int n = 0; n < 3; ++n) {
            state_ = state_ * 6364136223846793005u + 1442695040888963407u;
            sum += static_cast<float>(state_ >> 40) / 8388608.0f - 1.0f;
          }
          values[at(token, head, heads, columns) + static_cast<std::size_t>(i)] = rounded(spread * sum);
        }
      }
    }
  }
  void plant() {
    for (long long token = 0; token < call_.queries; ++token) {
      const long long key = std::clamp(token + call_.keys - call_.queries + call_.planted, 0LL, call_.keys - 1);
      for (long long head = 0; head < call_.heads; ++head) {
        const std::size_t from = at(key, head / (call_.heads / call_.key_heads), call_.key_heads, kHead);
        const std::size_t to = at(token, head, call_.heads, kHead);
        float square = 0.0f;
        for (std::size_t i = 0; i < kHead; ++i) square += number(k_[from + i]) * number(k_[from + i]);
        for (std::size_t i = 0; i < kHead; ++i)
          q_[to + i] = rounded(number(k_[from + i]) * 12.0f / call_.scale / square);
      }
    }
  }

  Call call_;
  std::uint64_t state_ = 12345;
  Values q_, k_, v_, o_;
  std::vector<float> lse_;
};

const EmulatedKernel& kernel_of(const Call& call) {
  static std::vector<std::pair<std::string, EmulatedKernel>> kernels;
  const std::string source = fmt::format(
      R"cu(
struct Fixed {{
  using dtype = __nv_bfloat16;
  static constexpr Name causal{{"{}"}}, lse{{"yes"}}, window{{"{}"}}, softcap{{"{}"}};
  static constexpr int block_m = {}, block_n = {}, block_d = 32, block_dv = 64, pack = {}, vec = {}, num_warps = 4;
}};
#include "attention/attention.cu"
template <class>
__global__ void kernel(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, __nv_bfloat16* o,
                       float* lse, float scale, int left, int right, float softcap, long long q_row, long long k_row,
                       long long v_row, long long o_row, long long hq, long long hkv, long long sq, long long sk) {{
  {}<Fixed>(q, k, v, o, lse, scale, left, right, softcap, 0, hq * q_row, q_row, 0, hkv * k_row, k_row, 0,
                       hkv * v_row, v_row, 0, hq * o_row, o_row, 1, hq, hkv, sq, sk, {}, {});
}}
)cu",
      call.causal ? "yes" : "no", call.left >= 0 || call.right >= 0 ? "yes" : "no", call.softcap > 0 ? "yes" : "no",
      kBlockM, kBlockN, call.pack, call.vec, call.entry, kHead, kHeadV);
  for (const auto& [text, kernel] : kernels) {
    if (text == source) return kernel;
  }
  return kernels.emplace_back(source, EmulatedKernel(source)).second;
}

std::string Tensors::run(std::uint64_t seed) {
  const long long rows = call_.queries * call_.pack;
  const auto blocks = static_cast<unsigned>((rows + kBlockM - 1) / kBlockM * (call_.heads / call_.pack));
  const std::size_t shared = call_.entry == "attention_mma" ? (kBlockM + 2 * kBlockN * 2) * 128 : 96 * 1024;
  EmulatedLaunch launch = extents(blocks, 2 * kBlockM, shared);
  launch.seed = seed;
  const auto behind = [&](const Values& values, long long columns) {
    const auto bytes = static_cast<std::uintptr_t>(call_.unseen * call_.key_heads * (columns + kGap) * 2);
    return reinterpret_cast<const std::uint16_t*>(reinterpret_cast<std::uintptr_t>(values.data()) - bytes);
  };
  const std::uint16_t *q = q_.data(), *k = behind(k_, kHead), *v = behind(v_, kHeadV);
  return kernel_of(call_)
      .run(launch, q, k, v, o_.data(), lse_.data(), call_.scale, call_.left, call_.right, call_.softcap, kHead + kGap,
           kHead + kGap, kHeadV + kGap, kHeadV + kGap, call_.heads, call_.key_heads, call_.queries,
           call_.unseen + call_.keys)
      .text;
}

std::string Tensors::fault() const {
  for (long long token = 0; token < call_.queries + kBehind; ++token) {
    for (long long head = 0; head < call_.heads; ++head) {
      const std::size_t to = at(token, head, call_.heads, kHeadV);
      for (std::size_t i = token < call_.queries ? kHeadV : 0; i < kHeadV + kGap; ++i) {
        if (o_[to + i] != rounded(-7.0f)) return fmt::format("written between rows, token {} head {}", token, head);
      }
      if (token >= call_.queries) continue;
      const long long diagonal = token + call_.keys - call_.queries;
      long long first = 0, end = call_.keys;
      if (call_.causal) end = std::min(end, diagonal + 1);
      if (call_.left >= 0) first = std::max(first, diagonal - call_.left);
      if (call_.right >= 0) end = std::min(end, diagonal + call_.right + 1);

      std::vector<double> scores;
      double largest = -std::numeric_limits<double>::infinity();
      for (long long key = first; key < end; ++key) {
        const std::size_t from = at(key, head / (call_.heads / call_.key_heads), call_.key_heads, kHead);
        double score = 0.0;
        for (std::size_t i = 0; i < kHead; ++i) {
          score += double{number(q_[at(token, head, call_.heads, kHead) + i])} * double{number(k_[from + i])};
        }
        score *= double{call_.scale};
        if (call_.softcap > 0) score = double{call_.softcap} * std::tanh(score / double{call_.softcap});
        scores.push_back(score);
        largest = std::max(largest, score);
      }
      double sum = 0.0;
      std::vector<double> expected(kHeadV);
      for (std::size_t j = 0; j < scores.size(); ++j) {
        const double weight = std::exp(scores[j] - largest);
        const std::size_t from =
            at(first + static_cast<long long>(j), head / (call_.heads / call_.key_heads), call_.key_heads, kHeadV);
        sum += weight;
        for (std::size_t i = 0; i < kHeadV; ++i) expected[i] += weight * double{number(v_[from + i])};
      }
      const double lse = scores.empty() ? -std::numeric_limits<double>::infinity() : largest + std::log(sum);
      const double got_lse = lse_[static_cast<std::size_t>(head * call_.queries + token)];
      if (!(got_lse == lse || std::abs(got_lse - lse) <= 2e-5 + 1e-5 * std::abs(lse))) {
        return fmt::format("lse {} for {}, token {} head {}", got_lse, lse, token, head);
      }
      for (std::size_t i = 0; i < kHeadV; ++i) {
        const double right = scores.empty() ? 0.0 : expected[i] / sum, got = number(o_[to + i]);
        if (!(std::abs(got - right) <= 8e-3 + 1.6e-2 * std::abs(right))) {
          return fmt::format("{} for {}, token {} head {} column {}", got, right, token, head, i);
        }
      }
    }
  }
  return "";
}

void expect_right(const Call& call, std::uint64_t seed = 1) {
  Tensors tensors(call);
  const std::string name = fmt::format("sq={} sk={} left={} right={} planted={} scale={} pack={} vec={}", call.queries,
                                       call.keys, call.left, call.right, call.planted, call.scale, call.pack, call.vec);
  ASSERT_EQ(tensors.run(seed), "") << name;
  EXPECT_EQ(tensors.fault(), "") << name;
}

TEST(AttentionMma, is_right_at_one_key_few_queries_and_odd_lengths) {
  for (const bool causal : {false, true}) {
    for (const auto& [queries, keys] : {std::pair{1, 1}, {1, 77}, {64, 64}, {65, 129}, {77, 3}, {200, 131}}) {
      expect_right({.queries = queries, .keys = keys, .causal = causal});
    }
  }
}

TEST(AttentionMma, sees_planted_scores_where_the_diagonal_and_the_last_key_are) {
  for (const long long planted : {-1, 0, 1, 1000}) {
    expect_right({.queries = 130, .keys = 140, .causal = true, .plants = true, .planted = planted});
    expect_right({.queries = 130, .keys = 140, .plants = true, .planted = planted});
  }
}

TEST(AttentionMma, sees_planted_scores_at_both_edges_of_windows) {
  for (const auto& [left, right] : {std::pair{0, 0}, {3, 1}, {70, -1}, {-1, 5}, {200, 64}}) {
    for (const long long planted : {-left - 1, -left, right, right + 1}) {
      const Call call{.queries = 90, .keys = 150, .left = left, .right = right, .plants = true, .planted = planted};
      expect_right(call);
    }
  }
  expect_right({.queries = 90, .keys = 150, .left = 20, .right = 7, .causal = true, .plants = true, .planted = 1});
}

TEST(AttentionMma, gives_zeros_and_minus_infinity_where_a_row_sees_no_key) {
  expect_right({.queries = 100, .keys = 40, .causal = true});
  expect_right({.queries = 20, .keys = 10, .left = 2, .right = 1});
  expect_right({.queries = 5, .keys = 200, .left = 0, .right = 0, .softcap = 3.0f});
}

TEST(AttentionMma, is_right_for_scores_of_all_sizes_and_either_sign) {
  for (const float scale : {0.0f, -0.3f, 5.0f, 40.0f, 300.0f}) {
    expect_right({.queries = 70, .keys = 300, .scale = scale});
    expect_right({.queries = 70, .keys = 300, .scale = scale, .softcap = 30.0f});
  }
  expect_right({.queries = 70, .keys = 300, .scale = 1e-3f, .spread = 1e-18f});
}

TEST(AttentionMma, packs_query_heads_and_reads_any_address) {
  for (const int pack : {1, 2, 4}) {
    for (const int vec : {2, 16}) {
      for (const long long queries : {1, 9, 37}) {
        expect_right(
            {.heads = 8, .key_heads = 2, .queries = queries, .keys = 100, .causal = true, .pack = pack, .vec = vec});
      }
    }
  }
}

TEST(AttentionBase, is_right_where_32_bits_do_not_count_the_keys) {
  const Call call{.queries = 65,
                  .keys = 129,
                  .left = 20,
                  .right = 7,
                  .softcap = 3.0f,
                  .entry = "attention_simple",
                  .unseen = 1LL << 28};
  expect_right(call);
}

TEST(AttentionBase, is_right_where_rows_are_aligned) {
  for (const auto& [queries, keys] : {std::pair{1, 77}, {65, 129}, {77, 3}}) {
    expect_right({.queries = queries, .keys = keys, .causal = true, .entry = "attention_simple"});
    const Call call{
        .queries = queries, .keys = keys, .left = 20, .right = 7, .softcap = 3.0f, .entry = "attention_simple"};
    expect_right(call);
  }
}

TEST(AttentionMma, is_right_in_whatever_order_threads_run) {
  for (const std::uint64_t seed : {2, 3, 4, 5}) expect_right({.queries = 70, .keys = 200, .causal = true}, seed);
}

}  // namespace
}  // namespace tilewright::test::attention_mma_test
