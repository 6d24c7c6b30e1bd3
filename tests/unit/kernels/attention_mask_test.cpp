// SPDX-License-Identifier: Apache-2.0
// Masks that are off by one key, with so many visible keys that random scores hide the mistake.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/temporary_folder.hpp"
#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::test::attention_mask_test {
namespace {

using ::testing::StartsWith;

/// A piece of the header that defines the base's masks, but not the reference's.
constexpr const char* kCausal = "clamp(last_token + diagonal + 1);\n  }";

/// The fault found in the op's base if its mask ends `keys` keys after the diagonal (exclusive); 1 is right.
std::string fault(int keys, std::uint64_t seed) {
  const TemporaryFolder folder;
  const std::filesystem::path op = folder.path() / "attention";
  std::filesystem::copy(test_kernels_dir() / "attention", op, std::filesystem::copy_options::recursive);
  std::stringstream text;
  text << std::ifstream(op / "work.cuh").rdbuf();
  std::string source = text.str();
  const std::size_t at = source.find(kCausal);
  if (at == std::string::npos) throw std::logic_error("work.cuh has masks in other words");
  source.replace(at, std::string(kCausal).size(), fmt::format("clamp(last_token + diagonal + {});\n  }}", keys));
  std::ofstream(op / "work.cuh") << source;

  BuiltInOp attention("attention", {folder.path()});
  const Problem problem = attention.problem("attention[dtype=bf16,causal=yes]{b=1,hq=1,hkv=1,sq=2,sk=65536,d=32,dv=8}");
  const std::string reason = attention.fault(problem, attention.definition().base, {.seed = seed});
  // The text after config and problem.
  const std::size_t end = reason.find("}: ");
  return end == std::string::npos ? reason : reason.substr(end + 3);
}

TEST(AttentionMask, that_is_right_passes) { EXPECT_EQ(fault(1, 1), ""); }

TEST(AttentionMask, with_one_key_more_shows_on_planted_scores_alone) {
  EXPECT_THAT(fault(2, 2), StartsWith("on the sample 'planted': o["));
}

TEST(AttentionMask, with_one_key_less_shows_on_planted_scores_alone) {
  EXPECT_THAT(fault(0, 2), StartsWith("on the sample 'planted': o["));
}

}  // namespace
}  // namespace tilewright::test::attention_mask_test
