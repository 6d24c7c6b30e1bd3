// SPDX-License-Identifier: Apache-2.0
// Masks that are off by one key, with so many visible keys that random scores hide the mistake.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/temporary_folder.hpp"
#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::test::attention_mask_test {
namespace {

using ::testing::StartsWith;

/// Where a kernel's mask, but not the reference's, ends or begins. {} in `text` is what moves it: nothing, " + 1" or
/// " - 1".
struct Mask {
  const char *folder, *header, *text;
  bool is_begin = false;
};
constexpr Mask kOfTiles{"attention", "work.cuh", "clamp(last_token + diagonal + 1{});\n  }}"};
constexpr Mask kOfDecoding{"attention_decode", "split.cuh", "last + 1{} : place.sequence.length"};
constexpr Mask kOfDecodingBegin{"attention_decode", "split.cuh", "has_first ? last - call.left{} - own_key", true};
constexpr Mask kOfGradients{"attention_bwd", "tiles.cuh",
                            "column < present && (!G::kMasked || (distance >= call.first && distance <= call.last{}))"};
constexpr Mask kOfGradientsBegin{"attention_bwd", "tiles.cuh",
                                 "                    !G::kMasked || (distance >= call.first{} && distance", true};

void replace(const std::filesystem::path& file, const std::string& from, const std::string& to) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  std::string source = text.str();
  const std::size_t at = source.find(from);
  if (at == std::string::npos) throw std::logic_error(fmt::format("{} has no '{}'", file.string(), from));
  source.replace(at, from.size(), to);
  std::ofstream(file) << source;
}

/// Copies the mask's folder into `to`, with `more` keys in the mask.
void copy_moved(const Mask& mask, int more, const std::filesystem::path& to) {
  std::filesystem::copy(test_kernels_dir() / mask.folder, to, std::filesystem::copy_options::recursive);
  const auto moved = [&](const char* by) { return fmt::format(fmt::runtime(mask.text), by); };
  replace(to / mask.header, moved(""), moved(more == 0 ? "" : (more > 0) != mask.is_begin ? " + 1" : " - 1"));
}

struct Call {
  const char* name;
  Mask mask;
  const char* key;
  const char* implementation;    // null: the op's base
  std::uint64_t seed;            // of data in which random scores hide one key
  const char* narrow = nullptr;  // the line of a narrow window, which `wide` takes the place of
  const char* wide = nullptr;
};
void PrintTo(const Call& call, std::ostream* out) { *out << call.name; }

class AttentionMask : public ::testing::TestWithParam<Call> {
 protected:
  /// The fault found if the mask leaves `more` keys.
  static std::string fault(int more) {
    const Call& call = GetParam();
    const TemporaryFolder folder;
    const std::string name = std::string(call.key).substr(0, std::string(call.key).find('['));
    copy_moved(call.mask, more, folder.path() / call.mask.folder);
    if (name != call.mask.folder) {
      // What a source names as "FOLDER/HEADER" is looked for beside it first.
      constexpr auto kAll = std::filesystem::copy_options::recursive;
      std::filesystem::copy(test_kernels_dir() / name, folder.path() / name, kAll);
      std::filesystem::copy(folder.path() / call.mask.folder, folder.path() / name / call.mask.folder, kAll);
    }
    if (call.narrow != nullptr) replace(folder.path() / name / (name + ".toml"), call.narrow, call.wide);
    BuiltInOp op(name, {folder.path()});
    const Problem problem = op.problem(call.key);
    const Config config =
        call.implementation == nullptr ? op.definition().base : op.sample(problem, call.implementation, 1).at(0);
    const std::string reason = op.fault(problem, config, {.seed = call.seed});
    // The text after config and problem.
    const std::size_t end = reason.find("}: ");
    return end == std::string::npos ? reason : reason.substr(end + 3);
  }
};

TEST_P(AttentionMask, that_is_right_passes) { EXPECT_EQ(fault(0), ""); }

TEST_P(AttentionMask, with_one_key_more_shows_on_planted_scores_alone) {
  EXPECT_THAT(fault(1), StartsWith("on the sample 'planted': "));
}

TEST_P(AttentionMask, with_one_key_less_shows_on_planted_scores_alone) {
  EXPECT_THAT(fault(-1), StartsWith("on the sample 'planted': "));
}

INSTANTIATE_TEST_SUITE_P(
    Of, AttentionMask,
    ::testing::Values(
        Call{"attention", kOfTiles, "attention[dtype=bf16,causal=yes]{b=1,hq=1,hkv=1,sq=2,sk=65536,d=32,dv=8}", nullptr,
             2},
        Call{"attention_varlen", kOfTiles,
             "attention_varlen[dtype=bf16,causal=yes]{batch=1,tokens_q=2,tokens_k=65536,hq=1,hkv=1,d=32,dv=8}", nullptr,
             2},
        Call{"attention_paged", kOfDecoding,
             "attention_paged[dtype=bf16]{batch=1,hq=1,hkv=1,sq=2,max_pages=4096,page=16,d=32,pages=4096}", "split",
             24},
        Call{"attention_decode", kOfDecoding,
             "attention_decode[dtype=bf16]{batch=1,hq=1,hkv=1,sq=2,sk=65536,d=32,dv=8}", "split", 64},
        Call{"attention_decode_window", kOfDecodingBegin,
             "attention_decode[dtype=bf16,window=yes]{batch=1,hq=1,hkv=1,sq=2,sk=65536,d=32,dv=8}", "split", 16,
             "\nleft = 40\n", "\nleft = 60000\n"},
        Call{"attention_bwd", kOfGradients,
             "attention_bwd[dtype=bf16,causal=yes]{b=1,hq=1,hkv=1,sq=2,sk=32768,d=32,dv=8}", "mma", 2},
        Call{"attention_bwd_window", kOfGradientsBegin,
             "attention_bwd[dtype=bf16,window=yes]{b=1,hq=1,hkv=1,sq=2,sk=65536,d=32,dv=8}", "mma", 4, "\nleft = 3\n",
             "\nleft = 30000\n"}),
    [](const auto& call) { return std::string(call.param.name); });

}  // namespace
}  // namespace tilewright::test::attention_mask_test
