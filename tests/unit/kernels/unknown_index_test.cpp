// SPDX-License-Identifier: Apache-2.0
// Invalid indices, which samples leave out since these ops' references do not check them: targets of cross_entropy
// outside of the columns, and positions of rope without angles. embedding's samples have them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::unknown_index_test {
namespace {

constexpr float kUntouched = -77.0f;
constexpr std::size_t kMargin = 64;

/// Results between margins that must stay unwritten.
class Results {
 public:
  explicit Results(std::size_t count) : all_(count + 2 * kMargin, kUntouched) {}

  [[nodiscard]] float* data() { return all_.data() + kMargin; }
  [[nodiscard]] float operator[](std::size_t i) const { return all_[kMargin + i]; }
  [[nodiscard]] bool kept_margins() const {
    const auto is_kept = [](float value) { return value == kUntouched; };
    return std::all_of(all_.begin(), all_.begin() + kMargin, is_kept) &&
           std::all_of(all_.end() - kMargin, all_.end(), is_kept);
  }

 private:
  std::vector<float> all_;
};

std::vector<float> made_values(std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 37 % 19) / 8.0f - 1.0f);
  return values;
}

/// A source file of kernels, for f32, with a config.
std::string source_of(const std::string& file, const std::string& names, const std::string& parameters) {
  return fmt::format(R"(
struct Fixed {{
  using dtype = float;
  static constexpr Name {};
  static constexpr int {};
}};
#include "{}"
)",
                     names, parameters, file);
}

constexpr std::size_t kRows = 7;
constexpr std::int64_t kIgnored = -100;

struct Losses {
  explicit Losses(std::size_t vocab) : dlogits(kRows * vocab) {}

  Results loss{kRows}, lse{kRows}, dlogits;
};

/// A way to compute it: `call` takes the op and the number of rows.
struct LossWay {
  const char* name;
  const char* file;
  const char* call;
  unsigned cluster;
  bool has_gradient;
  unsigned rows_at_once = 2;
};

class CrossEntropyTargets : public ::testing::TestWithParam<LossWay> {
 protected:
  static Losses run(std::size_t vocab, const std::vector<long long>& targets) {
    const LossWay& way = GetParam();
    const EmulatedKernel kernel(
        source_of(way.file,
                  fmt::format("grad{{\"{}\"}}, pitch{{\"dense\"}}, implementation{{\"any\"}}",
                              way.has_gradient ? "yes" : "no"),
                  fmt::format("num_warps = 2, vec = 4, ragged = 1, unroll = 1, cluster = {}, chunks = 2, held = 1, "
                              "blocks = 1, ahead = {}, kept = 0, stages = 3, vocab = 0",
                              way.cluster, way.cluster > 1 ? 0 : 1)) +
        fmt::format(R"(
template <class>
__global__ void kernel(long long rows, long long vocab, const float* logits, const long long* target, const float* dloss,
                       float* loss, float* lse, float* dlogits, float smoothing, long long ignore) {{
  const auto op = op_of<Fixed>(vocab, logits, target, dloss, loss, lse, dlogits, smoothing, ignore, vocab, vocab);
  cross_entropy::{};
}}
)",
                    way.call));
    // Where in a line of 128 bytes a row begins decides which thread adds what.
    struct alignas(128) Line {
      float values[32];
    };
    const std::vector<float> made = made_values(kRows * vocab), dloss(kRows, 0.5f);
    std::vector<Line> lines(made.size() / 32 + 1);
    float* const logits = lines.front().values;
    std::copy(made.begin(), made.end(), logits);
    Losses losses(vocab);
    EmulatedLaunch launch = extents(way.rows_at_once * way.cluster, 64, 8192);
    launch.cluster = {way.cluster, 1, 1};
    const EmulatedOutcome outcome = kernel.run(
        launch, static_cast<long long>(kRows), static_cast<long long>(vocab), static_cast<const float*>(logits),
        static_cast<const long long*>(targets.data()), static_cast<const float*>(dloss.data()), losses.loss.data(),
        losses.lse.data(), losses.dlogits.data(), 0.1f, static_cast<long long>(kIgnored));
    EXPECT_EQ(outcome.text, "");
    return losses;
  }
};

TEST_P(CrossEntropyTargets, that_are_no_column_make_their_row_nan_and_touch_no_other) {
  constexpr long long kHuge = std::numeric_limits<long long>::max();
  // Vectors begin at the same column of each row, or not.
  for (const std::size_t width : {36, 37}) {
    const auto vocab = static_cast<long long>(width);
    const std::vector<long long> targets{3, kIgnored, vocab, -1, kHuge, -kHuge, vocab - 1};
    const Losses found = run(width, targets), known = run(width, {3, 0, 0, 0, 0, 0, vocab - 1});
    for (std::size_t r = 0; r < kRows; ++r) {
      EXPECT_EQ(found.lse[r], known.lse[r]);
      const bool is_known = targets[r] >= 0 && targets[r] < vocab;
      if (targets[r] == kIgnored) {
        EXPECT_EQ(found.loss[r], 0.0f);
      } else if (is_known) {
        EXPECT_EQ(found.loss[r], known.loss[r]);
      } else {
        EXPECT_TRUE(std::isnan(found.loss[r])) << r;
      }
      for (std::size_t c = 0; c < width; ++c) {
        const float gradient = found.dlogits[r * width + c];
        if (!GetParam().has_gradient) {
          EXPECT_EQ(gradient, kUntouched);
        } else if (targets[r] == kIgnored) {
          EXPECT_EQ(gradient, 0.0f);
        } else if (is_known) {
          EXPECT_EQ(gradient, known.dlogits[r * width + c]);
        } else {
          EXPECT_TRUE(std::isnan(gradient)) << r << ' ' << c;
        }
      }
    }
    EXPECT_TRUE(found.loss.kept_margins() && found.lse.kept_margins() && found.dlogits.kept_margins());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, CrossEntropyTargets,
    ::testing::Values(
        LossWay{"reread", "cross_entropy/cross_entropy.cu", "reread<Fixed>(op, rows)", 1, true},
        LossWay{"resident", "cross_entropy/cross_entropy.cu", "resident<Fixed>(op, rows)", 1, true},
        LossWay{"cluster", "cross_entropy/cross_entropy.cu", "resident<Fixed>(op, rows)", 2, true},
        LossWay{"told", "cross_entropy/told.cu", "told<Fixed>(op, rows)", 2, true, kRows},
        LossWay{"told_without_gradient", "cross_entropy/told.cu", "told<Fixed>(op, rows)", 2, false, kRows},
        LossWay{"told_aside", "cross_entropy/told_aside.cu", "ToldAside<Fixed>(op).run()", 2, true, kRows},
        LossWay{"stream", "cross_entropy/stream.cu", "Stream<Fixed>(op, rows).run()", 1, false}),
    [](const auto& way) { return std::string(way.param.name); });

constexpr std::size_t kTokens = 6, kHead = 16, kRotary = 8, kPositions = 3;

class RopePositions : public ::testing::TestWithParam<const char*> {
 protected:
  static Results run(const char* style, const std::vector<int>& positions) {
    const std::string way = GetParam();
    const bool is_streams = way == "streams";
    const EmulatedKernel kernel(
        source_of(
            fmt::format("rope/{}.cu", way == "tokens" || is_streams ? way : "rope"),
            fmt::format("style{{\"{}\"}}, norm{{\"no\"}}, implementation{{\"{}\"}}", style, way),
            fmt::format("num_warps = 2, threads_per_token = {}, lanes = 2, vec = 4, unroll = {}, hints = 0, blocks "
                        "= 1, sides = 2, reads = 0, writes = 0, table = 1, ahead = 1, d = 0, rot = 0",
                        is_streams ? 4 : 32, is_streams ? 1 : 2)) +
        fmt::format(R"(
template <class>
__global__ void kernel(long long tokens, long long d, long long rot, long long positions, const float* q,
                       const float* cos, const float* sin, const int* position, float* out) {{
  const rope::Tensors<float> tensors{{{{q, 2 * d, d}}, {{q + d, 2 * d, d}}, cos, sin, position, nullptr, nullptr,
                                      {{out, 2 * d, d}}, {{out + d, 2 * d, d}}, 0.0f, tokens, 1, 1, d, rot, positions}};
  rope::{}<Fixed>(tensors{});
}}
)",
                    way, is_streams ? ", 1" : ""));
    const std::vector<float> heads = made_values(kTokens * 2 * kHead), angles = made_values(kPositions * kRotary / 2);
    Results out(heads.size());
    const EmulatedOutcome outcome =
        kernel.run(extents(kTokens / 2, 64), static_cast<long long>(kTokens), static_cast<long long>(kHead),
                   static_cast<long long>(kRotary), static_cast<long long>(kPositions),
                   static_cast<const float*>(heads.data()), static_cast<const float*>(angles.data()),
                   static_cast<const float*>(angles.data()), static_cast<const int*>(positions.data()), out.data());
    EXPECT_EQ(outcome.text, "");
    return out;
  }
};

TEST_P(RopePositions, that_have_no_angles_make_the_pairs_of_their_token_nan_and_nothing_else) {
  const std::vector<int> positions{
      0, kPositions, -1, 2, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
  for (const char* style : {"halved", "interleaved"}) {
    const Results found = run(style, positions), known = run(style, {0, 0, 0, 2, 0, 0});
    for (std::size_t i = 0; i < kTokens * 2 * kHead; ++i) {
      const int position = positions[i / (2 * kHead)];
      if (i % kHead < kRotary && (position < 0 || position >= static_cast<int>(kPositions))) {
        EXPECT_TRUE(std::isnan(found[i])) << style << ' ' << i;
      } else {
        EXPECT_EQ(found[i], known[i]) << style << ' ' << i;
      }
    }
    EXPECT_TRUE(found.kept_margins());
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, RopePositions, ::testing::Values("vectors", "pairs", "tokens", "streams"),
                         [](const auto& way) { return std::string(way.param); });

}  // namespace
}  // namespace tilewright::test::unknown_index_test
