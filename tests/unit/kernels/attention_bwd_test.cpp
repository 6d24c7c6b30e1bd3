// SPDX-License-Identifier: Apache-2.0
// attention_bwd as a sweep checks it, and against numeric derivatives of attention, in float64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::test::attention_bwd_test {
namespace {

TEST(AttentionBwd, is_right_for_masks_groups_of_heads_and_odd_lengths) {
  BuiltInOp op("attention_bwd");
  for (const char* key : {"attention_bwd[dtype=bf16]{b=2,hq=4,hkv=2,sq=20,sk=33,d=24,dv=40}",
                          "attention_bwd[dtype=f16]{b=2,hq=4,hkv=2,sq=20,sk=33,d=24,dv=16}",
                          "attention_bwd[dtype=f16,causal=yes]{b=1,hq=3,hkv=1,sq=70,sk=130,d=64,dv=64}",
                          "attention_bwd[dtype=bf16,window=yes,softcap=yes,deterministic=yes]"
                          "{b=1,hq=2,hkv=1,sq=90,sk=40,d=32,dv=16}",
                          "attention_bwd[dtype=bf16,causal=yes]{b=1,hq=2,hkv=1,sq=40,sk=70,d=136,dv=200}"}) {
    const Problem problem = op.problem(key);
    EXPECT_EQ(op.fault(problem, op.definition().base), "");
    const auto configs = op.sample(problem, "mma", 1);
    EXPECT_FALSE(configs.empty()) << key;
    for (const Config& config : configs) EXPECT_EQ(op.fault(problem, config), "");
  }
}

constexpr int kHeads = 2, kQueries = 7, kKeys = 5, kColumns = 8;  // both heads on one key head; 2 queries see no key
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kScale = 0.4, kCap = 3.0;

std::uint16_t rounded(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
double number(std::uint16_t bits) { return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16)}; }

using Values = std::vector<double>;
struct Forward {
  Values o, lse;
};

/// Causal, with a softcap: q and o [queries, heads, columns], k and v [keys, columns].
Forward attend(const Values& q, const Values& k, const Values& v) {
  Forward result{Values(q.size(), 0.0), Values(kHeads * kQueries, -kInfinity)};
  for (int i = 0; i < kQueries; ++i) {
    for (int h = 0; h < kHeads; ++h) {
      const auto row = static_cast<std::size_t>((i * kHeads + h) * kColumns);
      Values weights;
      double sum = 0.0;
      for (int j = 0; j <= i + kKeys - kQueries; ++j) {
        double score = 0.0;
        for (std::size_t x = 0; x < kColumns; ++x) score += q[row + x] * k[static_cast<std::size_t>(j) * kColumns + x];
        weights.push_back(std::exp(kCap * std::tanh(kScale * score / kCap)));
        sum += weights.back();
      }
      for (std::size_t j = 0; j < weights.size(); ++j) {
        for (std::size_t x = 0; x < kColumns; ++x) result.o[row + x] += weights[j] / sum * v[j * kColumns + x];
      }
      if (!weights.empty()) result.lse[static_cast<std::size_t>(h * kQueries + i)] = std::log(sum);
    }
  }
  return result;
}

/// Numeric derivatives of Σ o · d_o by each element of `by`, which is q, k or v.
Values differences(Values& by, const Values& q, const Values& k, const Values& v, const Values& d_o) {
  constexpr double kStep = 1e-5;
  Values gradient;
  for (double& element : by) {
    const double before = element;
    double ends[2];
    for (int side = 0; side < 2; ++side) {
      element = before + (side == 0 ? -kStep : kStep);
      const Values o = attend(q, k, v).o;
      ends[side] = 0.0;
      for (std::size_t i = 0; i < o.size(); ++i) ends[side] += o[i] * d_o[i];
    }
    element = before;
    gradient.push_back((ends[1] - ends[0]) / (2 * kStep));
  }
  return gradient;
}

const EmulatedKernel& kernel() {
  static const EmulatedKernel made(R"cu(
struct Fixed {
  using dtype = __nv_bfloat16;
  static constexpr Name causal{"yes"}, window{"no"}, softcap{"yes"};
  static constexpr int num_warps = 4, block_n = 32, block_d = 32, block_dv = 32;
};
#include "attention_bwd/attention_bwd.cu"
#include "attention_bwd/mma.cu"
template <class>
__global__ void kernel(int part, const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                       const __nv_bfloat16* o, const __nv_bfloat16* d_o, const float* lse, float* delta,
                       __nv_bfloat16* dq, __nv_bfloat16* dk, __nv_bfloat16* dv) {
  if (part == 0) {
    attention_bwd_simple<Fixed>(q, k, v, o, d_o, lse, dq, dk, dv, 0.4f, 0, 0, 3.0f, 0, 16, 8, 0, 8, 8, 0, 8, 8, 0, 16, 8,
                                0, 16, 8, 0, 16, 8, 0, 8, 8, 0, 8, 8, 1, 2, 1, 7, 5, 8, 8);
  } else if (part == 1) {
    attention_bwd_delta<Fixed>(o, d_o, delta, 0, 16, 8, 0, 16, 8, 1, 2, 7, 8);
  } else if (part == 2) {
    attention_bwd_keys<Fixed>(q, k, v, d_o, lse, delta, dk, dv, 0.4f, 0, 0, 3.0f, 0, 16, 8, 0, 8, 8, 0, 8, 8, 0, 16, 8, 0,
                              8, 8, 0, 8, 8, 1, 2, 1, 7, 5, 8, 8);
  } else {
    attention_bwd_queries<Fixed>(q, k, v, d_o, lse, delta, dq, 0.4f, 0, 0, 3.0f, 0, 16, 8, 0, 8, 8, 0, 8, 8, 0, 16, 8, 0,
                                 16, 8, 1, 2, 1, 7, 5, 8, 8);
  }
}
)cu");
  return made;
}

struct Gradients {
  std::vector<std::uint16_t> dq, dk, dv;
  friend bool operator==(const Gradients&, const Gradients&) = default;
};

class AttentionBwdGradients : public ::testing::Test {
 protected:
  AttentionBwdGradients() {
    std::uint32_t state = 7;
    for (Values* values : {&q_, &k_, &v_, &d_o_}) {
      for (double& value : *values) {
        state = state * 1664525U + 1013904223U;
        value = number(rounded(static_cast<double>(state >> 8) / 8388608.0 - 1.0));
      }
    }
  }

  Gradients run(std::vector<int> parts, std::uint64_t seed) const {
    const Forward forward = attend(q_, k_, v_);
    const auto bits = [](const Values& values) {
      std::vector<std::uint16_t> all;
      for (const double value : values) all.push_back(rounded(value));
      return all;
    };
    const auto q = bits(q_), k = bits(k_), v = bits(v_), o = bits(forward.o), d_o = bits(d_o_);
    const std::vector<float> lse(forward.lse.begin(), forward.lse.end());
    std::vector<float> delta(lse.size());
    Gradients made{q, k, v};
    for (const int part : parts) {
      EmulatedLaunch launch = extents(part < 2 ? 4 : part == 2 ? 1 : kHeads, 128, (64 + 2 * 32) * 2 * 128 + 16 * 32);
      launch.seed = seed;
      EXPECT_EQ(kernel()
                    .run(launch, part, q.data(), k.data(), v.data(), o.data(), d_o.data(), lse.data(), delta.data(),
                         made.dq.data(), made.dk.data(), made.dv.data())
                    .text,
                "");
    }
    return made;
  }

  void expect_near(const Values& right, const std::vector<std::uint16_t>& got, const char* what) const {
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_NEAR(number(got[i]), right[i], 0.015 + 0.01 * std::abs(right[i])) << what << " " << i;
    }
  }

  Values q_ = Values(kQueries * kHeads * kColumns), k_ = Values(kKeys * kColumns), v_ = Values(kKeys * kColumns);
  Values d_o_ = Values(kQueries * kHeads * kColumns);
};

TEST_F(AttentionBwdGradients, are_those_of_differences_and_zero_for_queries_without_a_key) {
  const Values dq = differences(q_, q_, k_, v_, d_o_), dk = differences(k_, q_, k_, v_, d_o_);
  const Values dv = differences(v_, q_, k_, v_, d_o_);
  for (const std::vector<int>& parts : {std::vector{0}, {1, 2, 3}}) {
    const Gradients got = run(parts, 1);
    expect_near(dq, got.dq, "dq");
    expect_near(dk, got.dk, "dk");
    expect_near(dv, got.dv, "dv");
    for (std::size_t i = 0; i < 2 * kHeads * kColumns; ++i) EXPECT_EQ(number(got.dq[i]), 0.0);
  }
}

TEST_F(AttentionBwdGradients, have_the_same_bits_whatever_the_order_of_threads) {
  const Gradients first = run({1, 2, 3}, 1);
  for (const std::uint64_t seed : {2, 3, 4}) EXPECT_EQ(run({1, 2, 3}, seed), first);
}

}  // namespace
}  // namespace tilewright::test::attention_bwd_test
