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
#include <string>

#include "tests/temporary_folder.hpp"
#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::test::attention_mask_test {
namespace {

using ::testing::StartsWith;

/// Where a kernel's mask, but not the reference's, ends: `text` with one number in it, which is 1 where it is right.
struct Mask {
  const char *folder, *header, *text;
};
constexpr Mask kOfTiles{"attention", "work.cuh", "clamp(last_token + diagonal + {});\n  }}"};
constexpr Mask kOfDecoding{"attention_decode", "split.cuh", "last + {} : place.sequence.length"};

/// Copies the mask's folder into `to`, with the mask's end moved.
void copy_moved(const Mask& mask, int keys, const std::filesystem::path& to) {
  std::filesystem::copy(test_kernels_dir() / mask.folder, to, std::filesystem::copy_options::recursive);
  std::stringstream text;
  text << std::ifstream(to / mask.header).rdbuf();
  std::string source = text.str();
  const std::string right = fmt::format(fmt::runtime(mask.text), 1);
  const std::size_t at = source.find(right);
  if (at == std::string::npos) throw std::logic_error(fmt::format("{} has masks in other words", mask.header));
  source.replace(at, right.size(), fmt::format(fmt::runtime(mask.text), keys));
  std::ofstream(to / mask.header) << source;
}

struct Call {
  const char* name;
  Mask mask;
  const char* key;
  const char* implementation;  // null: the op's base
  std::uint64_t seed;          // of data in which random scores hide one key
};
void PrintTo(const Call& call, std::ostream* out) { *out << call.name; }

class AttentionMask : public ::testing::TestWithParam<Call> {
 protected:
  /// The fault found if the mask ends `keys` keys after the diagonal (exclusive); 1 is right.
  static std::string fault(int keys) {
    const Call& call = GetParam();
    const TemporaryFolder folder;
    const std::string name = std::string(call.key).substr(0, std::string(call.key).find('['));
    copy_moved(call.mask, keys, folder.path() / call.mask.folder);
    if (name != call.mask.folder) {
      // What a source names as "FOLDER/HEADER" is looked for beside it first.
      constexpr auto kAll = std::filesystem::copy_options::recursive;
      std::filesystem::copy(test_kernels_dir() / name, folder.path() / name, kAll);
      std::filesystem::copy(folder.path() / call.mask.folder, folder.path() / name / call.mask.folder, kAll);
    }
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

TEST_P(AttentionMask, that_is_right_passes) { EXPECT_EQ(fault(1), ""); }

TEST_P(AttentionMask, with_one_key_more_shows_on_planted_scores_alone) {
  EXPECT_THAT(fault(2), StartsWith("on the sample 'planted': "));
}

TEST_P(AttentionMask, with_one_key_less_shows_on_planted_scores_alone) {
  EXPECT_THAT(fault(0), StartsWith("on the sample 'planted': "));
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
             24}),
    [](const auto& call) { return std::string(call.param.name); });

}  // namespace
}  // namespace tilewright::test::attention_mask_test
