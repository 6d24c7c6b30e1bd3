// SPDX-License-Identifier: Apache-2.0
// Masks that are off by one key, where so many keys are seen that random scores hide it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/temporary_folder.hpp"
#include "tests/unit/kernels/built_in_op.hpp"

namespace tilewright::test {
namespace {

using ::testing::StartsWith;

constexpr const char* kRow = "[&](const DenseRow& of) {";

/// What is found wrong with the op's base when it sees other keys than it should; the reference sees the right ones.
std::string fault(const std::string& mistake, std::uint64_t seed) {
  const TemporaryFolder folder;
  const std::filesystem::path op = folder.path() / "attention";
  std::filesystem::copy(test_kernels_dir() / "attention", op, std::filesystem::copy_options::recursive);
  std::stringstream text;
  text << std::ifstream(op / "attention.cu").rdbuf();
  std::string source = text.str();
  // The base is the first that works on one.
  const std::size_t at = source.find(kRow);
  if (at == std::string::npos) throw std::logic_error("attention.cu names its rows in other words");
  source.replace(at, std::string(kRow).size(), "[&](DenseRow of) {\n" + mistake);
  std::ofstream(op / "attention.cu") << source;

  BuiltInOp attention("attention", {folder.path()});
  const Problem problem = attention.problem("attention[dtype=bf16,causal=yes]{b=1,hq=1,hkv=1,sq=2,sk=65536,d=32,dv=8}");
  const std::string reason = attention.fault(problem, attention.definition().base, {.seed = seed});
  // Behind config and problem.
  const std::size_t end = reason.find("}: ");
  return end == std::string::npos ? reason : reason.substr(end + 3);
}

TEST(AttentionMask, that_is_right_passes) { EXPECT_EQ(fault("", 1), ""); }

TEST(AttentionMask, with_one_key_more_shows_on_planted_scores_alone) {
  EXPECT_THAT(fault("if (of.last < sk) ++of.last;", 2), StartsWith("on the sample 'planted': o["));
}

TEST(AttentionMask, with_one_key_less_shows_on_planted_scores_alone) {
  EXPECT_THAT(fault("if (of.last < sk) --of.last;", 1), StartsWith("on the sample 'planted': o["));
}

}  // namespace
}  // namespace tilewright::test
