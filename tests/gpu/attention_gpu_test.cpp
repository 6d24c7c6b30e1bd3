// SPDX-License-Identifier: Apache-2.0
// The tensor-core kernels of attention's ops on a GPU, against their references: configs of all head sizes, at lengths
// that do not fill tiles, with all masks, and with fewer rows than a tile has. Strides and lengths are the samples'.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tests/gpu/op_fixture.hpp"
#include "tuner/verify/verify.hpp"

namespace tilewright {
namespace {

using namespace tilewright::testing;

struct Case {
  const char* attributes;
  const char* dims;
  const char* op = "attention";
  const char* implementation = "wgmma";
  const char* with = "";  // a part of the config's text
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.op << '[' << each.attributes << "]{" << each.dims << '}';
}

class GpuAttention : public OpOnGpu, public ::testing::WithParamInterface<Case> {
 protected:
  GpuAttention() : OpOnGpu({}, GetParam().op) {}
  void SetUp() override {
    OpOnGpu::SetUp();
    if (!IsSkipped() && device_->facts().compute_capability != 90) GTEST_SKIP() << "needs sm_90a";
  }

  [[nodiscard]] std::vector<Candidate> candidates(const Problem& problem) const {
    std::vector<Candidate> legal = expand(*op_, problem, device_->facts()).legal;
    std::erase_if(legal, [](const Candidate& each) {
      return each.config.implementation != GetParam().implementation ||
             each.config.text().find(GetParam().with) == std::string::npos;
    });
    return legal;
  }
};

TEST_P(GpuAttention, is_right_with_configs_of_all_kinds) {
  const Problem problem =
      parse_problem(fmt::format("{}[{}]{{{}}}", GetParam().op, GetParam().attributes, GetParam().dims), op_->interface);
  const std::vector<Candidate> legal = candidates(problem);
  ASSERT_FALSE(legal.empty()) << problem.key();
  constexpr std::size_t kMost = 4;  // each compiles in a second, in parallel
  const std::size_t step = (legal.size() + kMost - 1) / kMost;
  std::vector<Candidate> chosen;
  for (std::size_t i = 0; i < legal.size(); i += step) chosen.push_back(legal[i]);
  Trials trials = begin(problem, std::move(chosen));
  Verifier verifier(*device_, *op_, problem, trials.reference.get());
  for (std::size_t i = 0; i < trials.configs.size(); ++i) {
    const Loaded loaded = load(trials.configs[i], problem, trials.binaries[i].get());
    EXPECT_EQ(verifier.check(*loaded.executable, loaded.workspaces).reason, "")
        << trials.configs[i].config.text() << " of " << problem.key();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GpuAttention,
    ::testing::Values(Case{"dtype=bf16,causal=no,lse=no", "b=2,hq=4,hkv=2,sq=400,sk=515,d=64,dv=64"},
                      Case{"dtype=f16,causal=yes,lse=yes", "b=1,hq=4,hkv=4,sq=500,sk=500,d=64,dv=64"},
                      Case{"dtype=bf16,causal=yes,lse=yes", "b=2,hq=4,hkv=2,sq=300,sk=200,d=96,dv=96"},
                      Case{"dtype=bf16,causal=yes,lse=no", "b=1,hq=8,hkv=2,sq=333,sk=501,d=128,dv=128"},
                      Case{"dtype=bf16,lse=yes,window=yes,softcap=yes", "b=1,hq=4,hkv=2,sq=300,sk=400,d=128,dv=128"},
                      Case{"dtype=f16,causal=yes,lse=no", "b=2,hq=4,hkv=2,sq=300,sk=200,d=192,dv=128"},
                      Case{"dtype=bf16,causal=yes,lse=yes,window=yes", "b=2,hq=4,hkv=2,sq=300,sk=400,d=256,dv=256"},
                      Case{"dtype=bf16,causal=no,lse=yes", "b=2,hq=8,hkv=1,sq=5,sk=400,d=128,dv=128"},
                      Case{"dtype=bf16,causal=no,lse=yes", "b=1,hq=2,hkv=2,sq=1,sk=1,d=64,dv=64"},
                      Case{"dtype=bf16,causal=no,lse=yes", "b=2,hq=4,hkv=2,sq=70,sk=90,d=8,dv=72"}));

// More pieces than multiprocessors: a block handles several.
auto of_wide_heads(const char* implementation) {
  const auto by = [&](const char* attributes, const char* dims) {
    return Case{attributes, dims, "attention", implementation};
  };
  return ::testing::Values(
      by("dtype=bf16,causal=yes,lse=yes", "b=8,hq=16,hkv=4,sq=400,sk=300,d=192,dv=128"),
      by("dtype=f16,causal=no,lse=no", "b=8,hq=16,hkv=4,sq=300,sk=500,d=256,dv=256"),
      by("dtype=bf16,causal=no,lse=no", "b=16,hq=16,hkv=16,sq=400,sk=60,d=192,dv=128"),
      by("dtype=bf16,causal=yes,lse=yes", "b=64,hq=16,hkv=4,sq=20,sk=300,d=192,dv=128"),
      by("dtype=bf16,causal=yes,window=yes,softcap=yes", "b=8,hq=16,hkv=16,sq=500,sk=600,d=192,dv=192"));
}
INSTANTIATE_TEST_SUITE_P(Wide, GpuAttention, of_wide_heads("wgmma_wide"));
INSTANTIATE_TEST_SUITE_P(Apart, GpuAttention, of_wide_heads("wgmma_apart"));
INSTANTIATE_TEST_SUITE_P(
    Late, GpuAttention,
    ::testing::Values(
        Case{"dtype=bf16,causal=yes,lse=yes", "b=8,hq=16,hkv=4,sq=400,sk=300,d=64,dv=64", "attention", "wgmma_late"},
        Case{"dtype=f16,causal=yes,lse=no", "b=64,hq=16,hkv=4,sq=100,sk=20,d=128,dv=128", "attention", "wgmma_late"},
        Case{"dtype=bf16,causal=no,window=yes,softcap=yes", "b=8,hq=16,hkv=16,sq=500,sk=600,d=96,dv=96", "attention",
             "wgmma_late"}));

constexpr const char* kDecode = "attention_decode";
constexpr const char* kPaged = "attention_paged";
INSTANTIATE_TEST_SUITE_P(
    Decoding, GpuAttention,
    ::testing::Values(
        Case{"dtype=bf16,lse=no", "batch=7,hq=32,hkv=8,sq=1,sk=3001,d=128,dv=128", kDecode, "split"},
        Case{"dtype=bf16,lse=yes", "batch=1,hq=8,hkv=8,sq=1,sk=20000,d=64,dv=64", kDecode, "split"},
        Case{"dtype=f16,lse=yes", "batch=3,hq=16,hkv=2,sq=5,sk=700,d=128,dv=128", kDecode, "split"},
        Case{"dtype=bf16,lse=yes,window=yes,softcap=yes", "batch=5,hq=8,hkv=1,sq=16,sk=301,d=256,dv=64", kDecode,
             "split"},
        Case{"dtype=bf16,lse=yes", "batch=200,hq=4,hkv=4,sq=1,sk=100,d=8,dv=72", kDecode, "split"},
        Case{"dtype=bf16,lse=yes", "batch=9,hq=32,hkv=8,sq=1,max_pages=100,page=16,d=128,pages=1024", kPaged, "split"},
        Case{"dtype=f16,lse=no", "batch=4,hq=8,hkv=2,sq=4,max_pages=33,page=10,d=64,pages=192", kPaged, "split"},
        Case{"dtype=bf16,lse=no", "batch=1,hq=32,hkv=8,sq=1,sk=4096,d=128,dv=128", kDecode, "cluster"},
        Case{"dtype=bf16,lse=yes", "batch=2,hq=64,hkv=8,sq=1,sk=500,d=128,dv=128", kDecode, "cluster"},
        Case{"dtype=f16,lse=yes", "batch=3,hq=16,hkv=2,sq=5,sk=700,d=128,dv=128", kDecode, "cluster"},
        Case{"dtype=bf16,lse=yes,window=yes,softcap=yes", "batch=5,hq=8,hkv=1,sq=16,sk=301,d=256,dv=64", kDecode,
             "cluster"},
        Case{"dtype=bf16,lse=yes", "batch=9,hq=32,hkv=8,sq=1,max_pages=100,page=16,d=128,pages=1024", kPaged,
             "cluster"}));
constexpr const char* kVarlen = "attention_varlen";
INSTANTIATE_TEST_SUITE_P(
    Sequences, GpuAttention,
    ::testing::Values(
        Case{"dtype=bf16,causal=yes,lse=yes", "batch=20,tokens_q=2048,tokens_k=3072,hq=4,hkv=2,d=128,dv=128", kVarlen,
             "mma"},
        Case{"dtype=f16,window=yes,softcap=yes", "batch=5,tokens_q=512,tokens_k=384,hq=2,hkv=2,d=64,dv=40", kVarlen,
             "mma"},
        Case{"dtype=bf16,causal=no,lse=no", "batch=5,tokens_q=2048,tokens_k=2048,hq=4,hkv=2,d=128,dv=128", kVarlen},
        Case{"dtype=bf16,causal=yes,lse=yes", "batch=20,tokens_q=6144,tokens_k=8192,hq=4,hkv=2,d=128,dv=128", kVarlen},
        Case{"dtype=f16,causal=yes,lse=yes", "batch=7,tokens_q=4096,tokens_k=3072,hq=8,hkv=8,d=64,dv=64", kVarlen},
        Case{"dtype=bf16,causal=no,lse=yes", "batch=1500,tokens_q=6144,tokens_k=8192,hq=2,hkv=1,d=96,dv=96", kVarlen},
        Case{"dtype=f16,window=yes,softcap=yes", "batch=5,tokens_q=512,tokens_k=384,hq=2,hkv=2,d=64,dv=40", kVarlen},
        Case{"dtype=bf16,causal=yes,lse=yes,window=yes", "batch=3,tokens_q=768,tokens_k=768,hq=4,hkv=2,d=256,dv=256",
             kVarlen},
        Case{"dtype=bf16,causal=yes,lse=no", "batch=9,tokens_q=3072,tokens_k=3072,hq=4,hkv=4,d=192,dv=128", kVarlen}));
constexpr const char* kBackward = "attention_bwd";
INSTANTIATE_TEST_SUITE_P(
    Gradients, GpuAttention,
    ::testing::Values(
        Case{"dtype=bf16,causal=yes", "b=2,hq=4,hkv=2,sq=333,sk=501,d=128,dv=128", kBackward, "mma"},
        Case{"dtype=bf16,causal=no", "b=1,hq=6,hkv=2,sq=300,sk=200,d=64,dv=64", kBackward, "mma"},
        Case{"dtype=f16,window=yes,softcap=yes", "b=1,hq=2,hkv=2,sq=200,sk=300,d=96,dv=40", kBackward, "mma"},
        Case{"dtype=bf16,causal=no", "b=1,hq=1,hkv=1,sq=64,sk=128,d=128,dv=128", kBackward},
        Case{"dtype=bf16,causal=no", "b=2,hq=4,hkv=4,sq=512,sk=384,d=128,dv=128", kBackward},
        Case{"dtype=bf16,causal=yes", "b=2,hq=4,hkv=2,sq=333,sk=501,d=128,dv=128", kBackward},
        Case{"dtype=f16,causal=no", "b=1,hq=6,hkv=2,sq=300,sk=200,d=64,dv=64", kBackward},
        Case{"dtype=bf16,causal=yes,deterministic=yes", "b=2,hq=4,hkv=2,sq=700,sk=900,d=128,dv=128", kBackward},
        Case{"dtype=bf16,causal=yes,window=yes,deterministic=yes", "b=1,hq=4,hkv=4,sq=700,sk=700,d=64,dv=64",
             kBackward},
        Case{"dtype=bf16,causal=yes", "b=1,hq=4,hkv=4,sq=700,sk=400,d=64,dv=64", kBackward},
        Case{"dtype=bf16,causal=yes", "b=8,hq=32,hkv=32,sq=200,sk=330,d=128,dv=128", kBackward},
        Case{"dtype=bf16,causal=yes,deterministic=yes", "b=8,hq=32,hkv=16,sq=400,sk=330,d=64,dv=64", kBackward},
        Case{"dtype=bf16,causal=yes,window=yes", "b=1,hq=2,hkv=2,sq=200,sk=700,d=96,dv=40", kBackward},
        // Blocks handle several pieces, some without queries.
        Case{"dtype=bf16,causal=yes", "b=4,hq=40,hkv=40,sq=330,sk=330,d=64,dv=64", kBackward, "wgmma", "persistent=2"},
        Case{"dtype=bf16,causal=yes,window=yes", "b=4,hq=40,hkv=40,sq=200,sk=700,d=128,dv=128", kBackward, "wgmma",
             "persistent=2"}));
INSTANTIATE_TEST_SUITE_P(
    GradientsAhead, GpuAttention,
    ::testing::Values(
        Case{"dtype=bf16,causal=no", "b=1,hq=1,hkv=1,sq=64,sk=128,d=128,dv=128", kBackward, "wgmma_ahead"},
        Case{"dtype=f16,causal=no", "b=1,hq=6,hkv=2,sq=300,sk=200,d=64,dv=64", kBackward, "wgmma_ahead"},
        Case{"dtype=bf16,causal=yes,window=yes", "b=1,hq=2,hkv=2,sq=200,sk=700,d=96,dv=40", kBackward, "wgmma_ahead"},
        Case{"dtype=bf16,causal=no,deterministic=yes", "b=2,hq=4,hkv=2,sq=700,sk=900,d=128,dv=128", kBackward,
             "wgmma_ahead"},
        Case{"dtype=bf16,causal=yes,deterministic=yes", "b=8,hq=32,hkv=16,sq=400,sk=330,d=64,dv=64", kBackward,
             "wgmma_ahead"},
        // Blocks handle several pieces, some without queries; a piece's last products overlap with the next one's.
        Case{"dtype=bf16,causal=yes", "b=4,hq=40,hkv=40,sq=330,sk=330,d=64,dv=64", kBackward, "wgmma_ahead",
             "persistent=2,joins=1"},
        Case{"dtype=bf16,causal=yes,window=yes", "b=4,hq=40,hkv=40,sq=200,sk=700,d=128,dv=64", kBackward, "wgmma_ahead",
             "persistent=2,joins=1"}));

/// An op of attention on Hopper, with a test's own tensors.
class OnTensors : public OpOnGpu {
 protected:
  using Tensor = std::vector<std::uint16_t>;
  /// An argument's content: a scalar, or a tensor's bytes.
  using Content = std::variant<std::uint64_t, std::vector<std::byte>>;

  using OpOnGpu::OpOnGpu;
  void SetUp() override {
    OpOnGpu::SetUp();
    if (!IsSkipped() && device_->facts().compute_capability != 90) GTEST_SKIP() << "needs sm_90a";
  }

  template <class T>
  [[nodiscard]] static std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
  }
  [[nodiscard]] static std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

  [[nodiscard]] std::vector<Candidate> candidates(const Problem& problem) const {
    std::vector<Candidate> legal = expand(*op_, problem, device_->facts()).legal;
    std::erase_if(legal, [](const Candidate& each) { return each.config.implementation != "wgmma"; });
    return legal;
  }

  /// The content of the tensor `output` after each of `launches`, which start with the same contents.
  template <class ContentOf>
  [[nodiscard]] std::vector<Tensor> run(const Candidate& candidate, const Problem& problem, const ContentOf& content_of,
                                        std::string_view output, int launches = 1) const {
    const std::string key = candidate.config.text() + problem.key();
    const CompileResult& binary =
        binaries_.contains(key) ? binaries_.at(key) : binaries_.emplace(key, compile(candidate, problem)).first->second;
    const auto executable = device_->load(binary.binary, kernel_facts(binary), op_->interface,
                                          candidate.implementation->recipe, candidate.config, problem);
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    const auto placed = [&](const std::vector<std::byte>& bytes) {
      buffers.push_back(device_->allocate(std::max<std::size_t>(bytes.size(), 1), "a tensor"));
      device_->upload(buffers.back()->address(), bytes);
      return buffers.back()->address();
    };
    LaunchArgs args;
    for (const PlannedWorkspace& workspace : executable->plan().workspaces) {
      args.workspaces.push_back(placed(std::vector<std::byte>(workspace.bytes)));
    }
    Address result = 0;
    std::vector<std::byte> before;
    for (const PlannedArg& arg : executable->plan().args) {
      const Content content = content_of(arg);
      const auto* const bytes = std::get_if<std::vector<std::byte>>(&content);
      args.values.push_back(bytes != nullptr ? placed(*bytes) : std::get<std::uint64_t>(content));
      if (arg.name != output) continue;
      result = args.values.back();
      before = *bytes;
    }
    std::vector<Tensor> results;
    for (int launch = 0; launch < launches; ++launch) {
      device_->upload(result, before);
      executable->run(args);
      Tensor& tensor = results.emplace_back(before.size() / sizeof(std::uint16_t));
      device_->download(std::as_writable_bytes(std::span(tensor)), result);
    }
    return results;
  }

 private:
  mutable std::map<std::string, CompileResult> binaries_;  // by config
};

/// attention_varlen, one head of 64 columns, on 1024 tokens.
class GpuSequences : public OnTensors {
 protected:
  static constexpr std::size_t kTokens = 1024, kHead = 64;
  static constexpr std::uint16_t kNaN = 0x7fc0, kUntouched = 0x4242;

  GpuSequences() : OnTensors({}, "attention_varlen") {}

  /// o, with NaN as keys and values of all sequences but `only` (-1: no NaN). The tensors have tokens of NaN after the
  /// last sequence.
  [[nodiscard]] Tensor attended(const Candidate& candidate, const Problem& problem, const std::vector<int>& cu,
                                int only) const {
    Tensor q(kTokens * kHead, kNaN), k = q, v = q;
    std::uint32_t state = 1;
    const auto drawn = [&] {
      state = state * 1664525U + 1013904223U;
      return static_cast<std::uint16_t>(0x3f00 | (state >> 16 & 0x80ff));  // ±0.5 … ±2
    };
    for (std::size_t n = 0; n + 1 < cu.size(); ++n) {
      for (auto at = static_cast<std::size_t>(cu[n]) * kHead; at < static_cast<std::size_t>(cu[n + 1]) * kHead; ++at) {
        q[at] = drawn();
        k[at] = drawn();
        v[at] = drawn();
        if (only >= 0 && n != static_cast<std::size_t>(only)) k[at] = v[at] = kNaN;
      }
    }
    const auto content_of = [&](const PlannedArg& arg) -> Content {
      if (arg.name == "scale") return bits_of(0.125F);
      if (arg.role == ArgRole::scalar) return std::uint64_t{kHead};
      if (arg.name.starts_with("cu_")) return bytes_of(cu);
      if (arg.name == "o") return bytes_of(Tensor(kTokens * kHead, kUntouched));
      return bytes_of(arg.name == "q" ? q : arg.name == "k" ? k : v);
    };
    return run(candidate, problem, content_of, "o").front();
  }
};

TEST_F(GpuSequences, of_a_sequence_is_the_same_whatever_its_neighbours_hold) {
  const std::vector<int> cu{0, 5, 5, 69, 134, 135, 265, 265, 268, 700};
  for (const char* causal : {"no", "yes"}) {
    const Problem problem = parse_problem(fmt::format("attention_varlen[dtype=bf16,causal={}]"
                                                      "{{batch={},tokens_q={},tokens_k={},hq=1,hkv=1,d=64,dv=64}}",
                                                      causal, cu.size() - 1, kTokens, kTokens),
                                          op_->interface);
    const std::vector<Candidate> legal = candidates(problem);
    ASSERT_FALSE(legal.empty());
    for (const Candidate& candidate : {legal.front(), legal.back()}) {
      const Tensor right = attended(candidate, problem, cu, -1);
      const auto of = [](const Tensor& tensor, int from, int to) {
        return std::span(tensor).subspan(static_cast<std::size_t>(from) * kHead,
                                         static_cast<std::size_t>(to - from) * kHead);
      };
      for (std::size_t n = 0; n + 1 < cu.size(); ++n) {
        const Tensor alone = attended(candidate, problem, cu, static_cast<int>(n));
        EXPECT_TRUE(std::ranges::equal(of(right, cu[n], cu[n + 1]), of(alone, cu[n], cu[n + 1])))
            << "sequence " << n << ", " << candidate.config.text();
      }
      EXPECT_TRUE(std::ranges::none_of(of(right, 0, cu.back()), [](std::uint16_t bits) {
        return (bits & 0x7f80) == 0x7f80 || bits == kUntouched;
      })) << "NaN, or not written";
      EXPECT_TRUE(std::ranges::all_of(of(right, cu.back(), static_cast<int>(kTokens)), [](std::uint16_t bits) {
        return bits == kUntouched;
      })) << "behind the last sequence";
    }
  }
}

class GpuGradients : public OnTensors {
 protected:
  GpuGradients() : OnTensors({}, "attention_bwd") {}
};

TEST_F(GpuGradients, have_the_same_bits_on_every_launch_where_that_is_asked_for) {
  constexpr std::size_t kHeads = 8, kTokens = 2048, kHead = 128;
  const Problem problem = parse_problem(fmt::format("attention_bwd[dtype=bf16,causal=no,deterministic=yes]"
                                                    "{{b=1,hq={},hkv={},sq={},sk={},d={},dv={}}}",
                                                    kHeads, kHeads, kTokens, kTokens, kHead, kHead),
                                        op_->interface);
  const auto content_of = [](const PlannedArg& arg) -> Content {
    if (arg.name == "scale") return bits_of(0.088F);
    if (arg.name == "lse") return bytes_of(std::vector<float>(kHeads * kTokens, 8.0F));
    if (arg.name.ends_with("_batch")) return std::uint64_t{kHeads * kTokens * kHead};
    if (arg.name.ends_with("_token")) return std::uint64_t{kHeads * kHead};
    if (arg.name.ends_with("_head")) return std::uint64_t{kHead};
    Tensor tensor(kHeads * kTokens * kHead);
    auto state = static_cast<std::uint32_t>(arg.name.size() * 7919 + static_cast<unsigned char>(arg.name.front()));
    for (std::uint16_t& each : tensor) {
      state = state * 1664525U + 1013904223U;
      each = static_cast<std::uint16_t>(0x3f00 | (state >> 16 & 0x80ff));
    }
    return bytes_of(tensor);
  };
  const std::vector<Candidate> legal = candidates(problem);
  ASSERT_FALSE(legal.empty());
  for (const Candidate& candidate : {legal.front(), legal.back()}) {
    for (const std::string_view output : {"dq", "dk", "dv"}) {
      const std::vector<Tensor> made = run(candidate, problem, content_of, output, 5);
      for (const Tensor& each : made) {
        EXPECT_TRUE(std::ranges::equal(each, made.front())) << output << " of " << candidate.config.text();
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
