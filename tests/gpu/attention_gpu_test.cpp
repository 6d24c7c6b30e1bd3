// SPDX-License-Identifier: Apache-2.0
// The tensor-core kernels of attention's ops on a GPU, against their references: configs of all head sizes, at lengths
// that do not fill tiles, with all masks, and with fewer rows than a tile has. Strides and lengths are the samples'.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
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

  [[nodiscard]] std::vector<Candidate> candidates(const Problem& problem,
                                                  std::string_view implementation = "wgmma") const {
    std::vector<Candidate> legal = expand(*op_, problem, device_->facts()).legal;
    std::erase_if(legal, [&](const Candidate& each) { return each.config.implementation != implementation; });
    return legal;
  }

  /// Compiles the configs of problems in parallel; run() then finds them.
  void prepare(const std::vector<std::pair<Candidate, Problem>>& configs) const {
    static_cast<void>(device_->compiler());  // opened before threads share it
    std::vector<std::future<CompileResult>> compiling;
    for (const auto& config : configs) {
      compiling.push_back(
          std::async(std::launch::async, [this, &config] { return compile(config.first, config.second); }));
    }
    for (std::size_t i = 0; i < configs.size(); ++i) {
      binaries_.insert_or_assign(key_of(configs[i].first, configs[i].second), compiling[i].get());
    }
  }

  /// The contents of the tensors `outputs` after each of `launches`, which start with the same contents.
  template <class ContentOf>
  [[nodiscard]] std::vector<std::vector<Tensor>> run(const Candidate& candidate, const Problem& problem,
                                                     const ContentOf& content_of,
                                                     const std::vector<std::string_view>& outputs,
                                                     int launches = 1) const {
    const std::string key = key_of(candidate, problem);
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
    struct Output {
      Address address = 0;
      std::vector<std::byte> before{};
    };
    std::map<std::string_view, Output> places;
    for (const PlannedArg& arg : executable->plan().args) {
      const Content content = content_of(arg);
      const auto* const bytes = std::get_if<std::vector<std::byte>>(&content);
      args.values.push_back(bytes != nullptr ? placed(*bytes) : std::get<std::uint64_t>(content));
      if (std::ranges::find(outputs, arg.name) != outputs.end()) {
        places.insert_or_assign(arg.name, Output{args.values.back(), *bytes});
      }
    }
    std::vector<std::vector<Tensor>> results;
    for (int launch = 0; launch < launches; ++launch) {
      for (const auto& [name, output] : places) device_->upload(output.address, output.before);
      executable->run(args);
      std::vector<Tensor>& of_launch = results.emplace_back();
      for (const std::string_view name : outputs) {
        const Output& output = places.at(name);
        Tensor& tensor = of_launch.emplace_back(output.before.size() / sizeof(std::uint16_t));
        device_->download(std::as_writable_bytes(std::span(tensor)), output.address);
      }
    }
    return results;
  }

 private:
  [[nodiscard]] static std::string key_of(const Candidate& candidate, const Problem& problem) {
    return candidate.config.text() + problem.key();
  }

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
    return run(candidate, problem, content_of, {"o"}).front().front();
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

/// attention_bwd on dense bf16 tensors of any values: the gradients are functions of o and lse, whatever these are.
class GpuGradients : public OnTensors {
 protected:
  struct Shape {
    std::size_t batch, heads, key_heads, queries, keys, head;

    [[nodiscard]] std::size_t heads_of(std::string_view tensor) const { return of_keys(tensor) ? key_heads : heads; }
    [[nodiscard]] std::size_t tokens_of(std::string_view tensor) const { return of_keys(tensor) ? keys : queries; }
    [[nodiscard]] static bool of_keys(std::string_view tensor) {
      return tensor == "k" || tensor == "v" || tensor == "dk" || tensor == "dv";
    }
  };
  static constexpr std::uint16_t kNaN = 0x7fc0;

  GpuGradients() : OnTensors({}, "attention_bwd") {}

  [[nodiscard]] Problem problem_of(const Shape& shape, std::string_view attributes) const {
    return parse_problem(
        fmt::format("attention_bwd[dtype=bf16,{}]{{b={},hq={},hkv={},sq={},sk={},d={},dv={}}}", attributes, shape.batch,
                    shape.heads, shape.key_heads, shape.queries, shape.keys, shape.head, shape.head),
        op_->interface);
  }
  /// The gradients are NaN before a launch. `lse` has a value per head and query.
  [[nodiscard]] static Content content(const PlannedArg& arg, const Shape& shape, const std::vector<float>& lse) {
    if (arg.name == "scale") return bits_of(0.088F);
    if (arg.name == "lse") return bytes_of(lse);
    const std::string_view of = std::string_view(arg.name).substr(0, arg.name.find('_'));
    const std::size_t token = shape.heads_of(of) * shape.head;
    if (arg.name.ends_with("_batch")) return std::uint64_t{shape.tokens_of(of) * token};
    if (arg.name.ends_with("_token")) return std::uint64_t{token};
    if (arg.name.ends_with("_head")) return std::uint64_t{shape.head};
    Tensor tensor(shape.batch * shape.tokens_of(of) * token, kNaN);
    if (arg.role == ArgRole::out) return bytes_of(tensor);
    auto state = static_cast<std::uint32_t>(arg.name.size() * 7919 + static_cast<unsigned char>(arg.name.front()));
    for (std::uint16_t& each : tensor) {
      state = state * 1664525U + 1013904223U;
      each = static_cast<std::uint16_t>(0x3f00 | (state >> 16 & 0x80ff));  // ±0.5 … ±2
    }
    return bytes_of(tensor);
  }
  [[nodiscard]] static float value_of(std::uint16_t bf16) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bf16) << 16);
  }
  [[nodiscard]] static bool is_finite(std::uint16_t bf16) { return (bf16 & 0x7f80) != 0x7f80; }

  struct Config {
    Candidate candidate;
    Problem problem;
    Shape shape;
  };
  /// The first and the last config of both implementations, for each shape and each of `attributes`, compiled.
  [[nodiscard]] std::vector<Config> configs_of(const std::vector<Shape>& shapes,
                                               const std::vector<std::string_view>& attributes) const {
    std::vector<Config> configs;
    std::vector<std::pair<Candidate, Problem>> to_compile;
    for (const Shape& shape : shapes) {
      for (const std::string_view each : attributes) {
        const Problem problem = problem_of(shape, each);
        for (const std::string_view implementation : {"wgmma", "wgmma_ahead"}) {
          const std::vector<Candidate> legal = candidates(problem, implementation);
          EXPECT_GE(legal.size(), 2U) << implementation << " of " << problem.key();
          if (legal.empty()) continue;
          for (const Candidate& candidate : {legal.front(), legal.back()}) {
            configs.push_back({candidate, problem, shape});
            to_compile.emplace_back(candidate, problem);
          }
        }
      }
    }
    prepare(to_compile);
    return configs;
  }
};

TEST_F(GpuGradients, have_the_same_bits_on_every_launch_where_that_is_asked_for) {
  // More pieces than multiprocessors: the last configs of 64 columns have persistent blocks.
  const std::vector<Shape> shapes{{2, 24, 24, 300, 640, 64}, {2, 24, 24, 300, 640, 128}};
  const std::vector<std::string_view> outputs{"dq", "dk", "dv"};
  for (const auto& [candidate, problem, shape] :
       configs_of(shapes, {"causal=no,deterministic=yes", "causal=yes,deterministic=yes"})) {
    const std::vector<float> lse(shape.batch * shape.heads * shape.queries, 8.0F);
    const std::string what = candidate.config.text() + " of " + problem.key();
    const auto content_of = [&of = shape, &lse](const PlannedArg& arg) { return content(arg, of, lse); };
    const auto launches = run(candidate, problem, content_of, outputs, 5);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(std::ranges::all_of(launches.front()[i], is_finite)) << outputs[i] << " of " << what;
      for (const std::vector<Tensor>& launch : launches) {
        EXPECT_TRUE(launch[i] == launches.front()[i]) << outputs[i] << " of " << what;
      }
    }
  }
}

TEST_F(GpuGradients, of_queries_that_see_no_key_are_zero_and_add_nothing_to_those_of_keys) {
  // Under a causal mask the first 133 queries see no key: more than a tile. Their lse is -inf; their q, o and do
  // are as good as others'. The base works by the definition, in fp32.
  const std::vector<Shape> shapes{{1, 4, 2, 333, 200, 64}, {1, 4, 2, 333, 200, 128}};
  const std::vector<std::string_view> outputs{"dq", "dk", "dv"};
  const std::vector<Config> configs = configs_of(shapes, {"causal=yes", "causal=yes,deterministic=yes"});
  std::vector<std::pair<Candidate, Problem>> bases;
  for (const Config& each : configs) {
    const bool is_new = bases.empty() || bases.back().second.key() != each.problem.key();
    if (is_new) bases.emplace_back(candidates(each.problem, "simple").at(0), each.problem);
  }
  prepare(bases);
  std::map<std::string, std::vector<Tensor>> right;  // by problem
  for (const auto& [candidate, problem, shape] : configs) {
    std::vector<float> lse(shape.batch * shape.heads * shape.queries, 6.0F);
    const std::size_t blind = shape.queries - shape.keys;
    for (std::size_t i = 0; i < lse.size(); ++i) {
      if (i % shape.queries < blind) lse[i] = -std::numeric_limits<float>::infinity();
    }
    const auto content_of = [&of = shape, &lse](const PlannedArg& arg) { return content(arg, of, lse); };
    std::vector<Tensor>& expected = right[problem.key()];
    if (expected.empty()) {
      expected = run(candidates(problem, "simple").at(0), problem, content_of, outputs).front();
    }
    const std::string what = candidate.config.text() + " of " + problem.key();
    const std::vector<Tensor> made = run(candidate, problem, content_of, outputs).front();
    // One batch: the blind queries are the first rows of dq.
    const std::span<const std::uint16_t> of_blind(made[0].data(), blind * shape.heads * shape.head);
    EXPECT_TRUE(std::ranges::all_of(of_blind, [](std::uint16_t bits) { return (bits & 0x7fff) == 0; })) << what;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ASSERT_EQ(made[i].size(), expected[i].size());
      EXPECT_TRUE(std::ranges::all_of(made[i], is_finite)) << outputs[i] << " of " << what;
      // Weights are rounded to bf16, and so are the results of both.
      float most = 0, off = 0;
      for (std::size_t at = 0; at < made[i].size(); ++at) {
        most = std::max(most, std::abs(value_of(expected[i][at])));
        off = std::max(off, std::abs(value_of(made[i][at]) - value_of(expected[i][at])));
      }
      EXPECT_GT(most, 0) << outputs[i] << " of " << what;
      EXPECT_LE(off, most / 64) << outputs[i] << " of " << what;
    }
  }
}

}  // namespace
}  // namespace tilewright
