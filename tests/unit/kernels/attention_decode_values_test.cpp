// SPDX-License-Identifier: Apache-2.0
// Decoding by the split kernel and by clusters, over tensors and pages, against float64: all kinds of lengths, and NaN
// in the places without a token.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::attention_decode_values_test {
namespace {

constexpr int kHead = 24, kHeadV = 40, kGap = 8;
constexpr int kWarps = 4, kKeys = 16, kStages = 3, kRows = 16, kBlockD = 32, kBlockDv = 64;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// bf16 bits, and back.
std::uint16_t rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float number(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

struct Call {
  std::vector<int> lengths;
  int heads = 2, key_heads = 1, queries = 1, capacity = 256;
  int left = -1;
  int page = 0;  // 0: tensors
  unsigned blocks = 3;
  unsigned cluster = 0;  // 0: the split kernel
  unsigned side = 1;     // packs side by side in the split kernel
  float scale = 0.25f;
  std::uint64_t seed = 1;
  int poisoned = -1;  // the sequence whose keys and values are NaN
};

/// A tensor of rows with NaN between them, initially all NaN.
struct Rows {
  Rows(int rows, int columns)
      : step(columns + kGap), values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(step), rounded(kNaN)) {}
  std::uint16_t* at(int row) { return values.data() + static_cast<std::ptrdiff_t>(row) * step; }
  void draw(int row, int columns, std::uint64_t& state) {
    for (int i = 0; i < columns; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      at(row)[i] = rounded(static_cast<float>(state >> 40) / 4194304.0f - 2.0f);
    }
  }
  int step;
  std::vector<std::uint16_t> values;
};

class Decoded {
 public:
  explicit Decoded(const Call& call) : call_(call) {
    const int batch = static_cast<int>(call.lengths.size());
    const int page = call.page > 0 ? call.page : call.capacity;
    pages_of_ = call.capacity / page;
    const int pages = batch * pages_of_ + 3;
    q_ = Rows(batch * call.queries * call.heads, kHead);
    k_ = Rows(pages * page * call.key_heads, kHead);
    v_ = Rows(pages * page * call.key_heads, kHeadV);
    o_ = Rows(batch * call.queries * call.heads, kHeadV);
    for (int i = 0; i < batch * call.queries * call.heads; ++i) q_.draw(i, kHead, state_);
    // Sequences take pages from the pool's last one down; unused pages and table entries are poison.
    table_.assign(static_cast<std::size_t>(batch * pages_of_), std::numeric_limits<int>::min());
    for (int n = 0; n < batch; ++n) {
      for (int token = 0; token < call.lengths[static_cast<std::size_t>(n)]; ++token) {
        int& entry = table_[static_cast<std::size_t>(n * pages_of_ + token / page)];
        if (token % page == 0) entry = call.page > 0 ? pages - 1 - (n * pages_of_ + token / page) : n;
        for (int head = 0; head < call.key_heads; ++head) {
          if (n == call.poisoned) continue;
          k_.draw(place(n, token, head), kHead, state_);
          v_.draw(place(n, token, head), kHeadV, state_);
        }
      }
    }
  }

  std::string run();
  [[nodiscard]] std::string fault();

 private:
  [[nodiscard]] int page() const { return call_.page > 0 ? call_.page : call_.capacity; }
  [[nodiscard]] int place(int batch, int token, int head) const {
    const int at = table_[static_cast<std::size_t>(batch * pages_of_ + token / page())];
    return (at * page() + token % page()) * call_.key_heads + head;
  }
  [[nodiscard]] std::string fault_of_row(int batch, int query, int head);

  Call call_;
  int pages_of_ = 0;
  std::uint64_t state_ = 12345;
  Rows q_{0, 0}, k_{0, 0}, v_{0, 0}, o_{0, 0};
  std::vector<int> table_;
  std::vector<float> lse_;
  std::vector<std::uint32_t> counters_;
};

/// With clusters and without a window, the first copies do not wait for lengths.
EmulatedKernel make_kernel(unsigned cluster, unsigned side, bool window) {
  return EmulatedKernel(fmt::format(
      R"cu(
struct Fixed {{
  using dtype = __nv_bfloat16;
  static constexpr Name lse{{"yes"}}, window{{"{}"}}, softcap{{"no"}};
  static constexpr int block_m = {}, block_d = {}, block_dv = {}, num_warps = {}, keys = {}, stages = {}, cluster = {},
                       toll = 1, side = {};
}};
#include "attention_decode/cluster.cuh"
using namespace tilewright::attention;
template <class Cache>
__device__ void run(const SplitArguments<Fixed>& arguments, const DecodeCall& call, const Cache& cache, float scale) {{
  if constexpr (Fixed::cluster > 0) {{
    decode_by_clusters<Fixed>(arguments, call, cache, make_scale<false>(scale, 0.0f));
  }} else {{
    decode_split<Fixed>(arguments, call, cache, make_scale<false>(scale, 0.0f));
  }}
}}
template <class>
__global__ void kernel(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* table,
                       const int* lengths, __nv_bfloat16* o, float* lse, float* parts, unsigned* counters, float scale,
                       int left, long long batch, long long hq, long long hkv, long long sq, long long capacity,
                       long long page, long long max_pages, int paged) {{
  constexpr long long kQ = {}, kV = {};
  const DecodeCall call = make_decode_call(lengths, batch, hq, hkv, sq, capacity, left);
  const Rows4<__nv_bfloat16> to{{o, sq * hq * kV, hq * kV, kV}};
  const SplitArguments<Fixed> arguments{{{{q, sq * hq * kQ, hq * kQ, kQ}}, to, lse, parts, counters, {}, {}}};
  const Rows4<const __nv_bfloat16> keys{{k, page * hkv * kQ, hkv * kQ, kQ}}, values{{v, page * hkv * kV, hkv * kV, kV}};
  const Pages<__nv_bfloat16> pages{{keys, values, table, static_cast<int>(max_pages), static_cast<int>(page)}};
  if (paged == 0) run(arguments, call, DenseCache<__nv_bfloat16>{{keys, values}}, scale);
  if (paged == 1) run(arguments, call, PagedCache<__nv_bfloat16, false>{{pages}}, scale);
  if (paged == 2) run(arguments, call, PagedCache<__nv_bfloat16, true>{{pages}}, scale);
}}
)cu",
      window ? "yes" : "no", kRows, kBlockD, kBlockDv, kWarps, kKeys, kStages, cluster, side, kHead + kGap,
      kHeadV + kGap, kHead, kHeadV));
}

const EmulatedKernel& kernel(unsigned cluster, unsigned side, bool window) {
  static std::map<std::tuple<unsigned, unsigned, bool>, EmulatedKernel> made;
  const std::tuple key(cluster, side, window);
  const auto found = made.find(key);
  return found != made.end() ? found->second : made.emplace(key, make_kernel(cluster, side, window)).first->second;
}

std::string Decoded::run() {
  const int batch = static_cast<int>(call_.lengths.size());
  const int rows = call_.queries * (call_.heads / call_.key_heads);
  const auto packs = static_cast<unsigned>(batch * call_.key_heads * ((rows + kRows - 1) / kRows));
  std::vector<float> parts(call_.blocks * call_.side * 2 * kRows * (kBlockDv + 4), kNaN);
  o_.values.assign(o_.values.size(), rounded(-7.0f));
  lse_.assign(static_cast<std::size_t>(batch * call_.queries * call_.heads), kNaN);
  // The counters keep the previous launch's values.
  counters_.resize(packs, 0);
  const int paged = call_.page == 0 ? 0 : call_.page % kKeys == 0 ? 2 : 1;
  const bool is_cluster = call_.cluster > 0;
  constexpr std::size_t kShared =
      kRows * 128 + kWarps * kStages * kKeys * 256 + 32 * (kBlockDv + 8) * 4 + 12 * kWarps * kRows + 128;
  constexpr std::size_t kSharedOfCluster =
      kRows * 128 + kWarps * kStages * kKeys * 256 + kRows * (kBlockDv * 4 + 16 + 12 * kWarps);
  EmulatedLaunch launch = is_cluster ? extents(packs * call_.cluster, 32 * kWarps, kSharedOfCluster)
                                     : extents(call_.blocks * call_.side, 32 * kWarps, kShared);
  if (is_cluster) launch.cluster = {call_.cluster, 1, 1};
  launch.seed = call_.seed;
  return kernel(call_.cluster, call_.side, !is_cluster || call_.left >= 0)
      .run(launch, static_cast<const std::uint16_t*>(q_.values.data()),
           static_cast<const std::uint16_t*>(k_.values.data()), static_cast<const std::uint16_t*>(v_.values.data()),
           static_cast<const int*>(table_.data()), static_cast<const int*>(call_.lengths.data()), o_.values.data(),
           lse_.data(), parts.data(), counters_.data(), call_.scale, call_.left, std::int64_t{batch},
           std::int64_t{call_.heads}, std::int64_t{call_.key_heads}, std::int64_t{call_.queries},
           std::int64_t{call_.capacity}, std::int64_t{page()}, std::int64_t{pages_of_}, paged)
      .text;
}

std::string Decoded::fault_of_row(int batch, int query, int head) {
  const int length = call_.lengths[static_cast<std::size_t>(batch)];
  const int row = (batch * call_.queries + query) * call_.heads + head;
  const int key_head = head / (call_.heads / call_.key_heads);
  const int end = length - call_.queries + query + 1;
  const int first = call_.left >= 0 ? std::max(0, end - 1 - call_.left) : 0;
  std::vector<double> scores;
  double largest = -kInfinity, sum = 0.0;
  for (int token = first; token < end; ++token) {
    double score = 0.0;
    const std::uint16_t* const key = k_.at(place(batch, token, key_head));
    for (int i = 0; i < kHead; ++i) score += double{number(q_.at(row)[i])} * double{number(key[i])};
    scores.push_back(score * double{call_.scale});
    largest = std::max(largest, scores.back());
  }
  std::vector<double> expected(kHeadV, 0.0);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double weight = std::exp(scores[j] - largest);
    sum += weight;
    const std::uint16_t* const value = v_.at(place(batch, first + static_cast<int>(j), key_head));
    for (int i = 0; i < kHeadV; ++i) expected[static_cast<std::size_t>(i)] += weight * double{number(value[i])};
  }
  const double lse = scores.empty() ? -kInfinity : largest + std::log(sum);
  const double got_lse = lse_[static_cast<std::size_t>((batch * call_.heads + head) * call_.queries + query)];
  if (!(got_lse == lse || std::abs(got_lse - lse) <= 2e-5 + 1e-5 * std::abs(lse))) {
    return fmt::format("lse {} for {}", got_lse, lse);
  }
  for (int i = 0; i < kHeadV + kGap; ++i) {
    const double got = number(o_.at(row)[i]);
    if (i >= kHeadV && got != -7.0) return "written between rows";
    if (i >= kHeadV) continue;
    const double right = scores.empty() ? 0.0 : expected[static_cast<std::size_t>(i)] / sum;
    if (!(std::abs(got - right) <= 8e-3 + 1.6e-2 * std::abs(right))) {
      return fmt::format("{} for {} in column {}", got, right, i);
    }
  }
  return "";
}

std::string Decoded::fault() {
  for (int batch = 0; batch < static_cast<int>(call_.lengths.size()); ++batch) {
    if (batch == call_.poisoned) continue;
    for (int query = 0; query < call_.queries; ++query) {
      for (int head = 0; head < call_.heads; ++head) {
        const std::string fault = fault_of_row(batch, query, head);
        if (!fault.empty()) return fmt::format("sequence {} query {} head {}: {}", batch, query, head, fault);
      }
    }
  }
  return "";
}

/// Over tensors, over pages that hold a warp's whole step, and over other pages; by clusters and by the split kernel,
/// in one row of packs and, if their number is even, in two. Each launch follows another.
void expect_right(Call call) {
  for (const int page : {0, 32, 13}) {
    call.page = page;
    if (page > 0) call.capacity = (call.capacity + page - 1) / page * page;
    struct Kind {
      unsigned cluster, side;
    };
    for (const auto& [cluster, side] : {Kind{0, 1}, Kind{0, 2}, Kind{1, 1}, Kind{4, 1}}) {
      const int rows = call.queries * (call.heads / call.key_heads);
      if (call.key_heads * ((rows + kRows - 1) / kRows) % static_cast<int>(side) != 0) continue;
      call.cluster = cluster;
      call.side = side;
      Decoded decoded(call);
      const std::string name =
          fmt::format("lengths {} sq {} heads {}/{} left {} page {} blocks {} cluster {} side {}", call.lengths,
                      call.queries, call.heads, call.key_heads, call.left, page, call.blocks, cluster, side);
      ASSERT_EQ(decoded.run(), "") << name;
      ASSERT_EQ(decoded.run(), "") << name;
      EXPECT_EQ(decoded.fault(), "") << name;
    }
  }
}

TEST(AttentionDecodeValues, are_right_at_lengths_of_all_kinds) {
  expect_right({.lengths = {1}, .blocks = 1});
  expect_right({.lengths = {17, 0, 256, 64, 65, 1, 0}, .blocks = 5});
  expect_right({.lengths = {63, 128, 255}, .heads = 4, .key_heads = 2, .queries = 3, .blocks = 7});
  expect_right({.lengths = {0, 0, 0}});
}

TEST(AttentionDecodeValues, are_right_where_one_sequence_is_long) {
  expect_right({.lengths = {3, 5, 1000, 2, 0, 9}, .capacity = 1000, .blocks = 6});
  expect_right({.lengths = {1000}, .heads = 6, .key_heads = 2, .capacity = 1000, .blocks = 13});
}

TEST(AttentionDecodeValues, of_a_sequence_know_nothing_of_its_neighbours) {
  for (int poisoned = 0; poisoned < 4; ++poisoned) {
    expect_right({.lengths = {90, 33, 256, 17}, .heads = 4, .key_heads = 2, .blocks = 5, .poisoned = poisoned});
  }
}

TEST(AttentionDecodeValues, are_right_with_more_blocks_than_units) { expect_right({.lengths = {70, 3}, .blocks = 16}); }

TEST(AttentionDecodeValues, are_causal_among_new_tokens_also_before_the_first_key) {
  expect_right({.lengths = {100, 16, 5, 0}, .heads = 4, .key_heads = 1, .queries = 16, .blocks = 5});
  expect_right({.lengths = {70, 2}, .heads = 3, .key_heads = 3, .queries = 7});
}

TEST(AttentionDecodeValues, of_windows_begin_at_their_edge) {
  for (const int left : {0, 1, 40, 300}) {
    expect_right({.lengths = {200, 41, 1, 0}, .queries = 4, .left = left, .blocks = 5});
  }
}

TEST(AttentionDecodeValues, are_right_for_scores_of_all_sizes_and_either_sign) {
  for (const float scale : {0.0f, -0.3f, 20.0f}) expect_right({.lengths = {150, 30}, .scale = scale});
}

TEST(AttentionDecodeValues, are_right_in_whatever_order_threads_run) {
  for (const std::uint64_t seed : {2U, 3U, 4U}) expect_right({.lengths = {130, 20}, .seed = seed});
}

}  // namespace
}  // namespace tilewright::test::attention_decode_values_test
