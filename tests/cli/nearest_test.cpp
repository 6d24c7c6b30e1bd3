// SPDX-License-Identifier: Apache-2.0
// For an unknown word the program suggests the nearest known one and exits with 2.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using Nearest = CliTest;

TEST_F(Nearest, word_is_told_for_every_kind_of_word) {
  use_swept_cache();
  std::ofstream(folder / "shapes.csv") << "rows,colls\n2,33\n";
  const std::string shapes = (folder / "shapes.csv").string();
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"swep", "shift"}, "'sweep'"},
      {{"help", "tabel"}, "'table'"},
      {{"completion", "zhs"}, "'zsh'"},
      {{"list", "device"}, "'devices'"},
      // Options and their values.
      {{"sweep", "shift", "--strateg", "race"}, "--strategy"},
      {{"sweep", "shift", "--strategy", "rase"}, "'race'"},
      {{"sweep", "shift", "--regime", "brust"}, "'burst'"},
      {{"sweep", "shift", "--mode", "codl"}, "'cold'"},
      {{"sweep", "shift", "--retry", "crashd"}, "'crashed'"},
      {{"sweep", "shift", "--log-format", "jsn"}, "'json'"},
      {{"table", "shift", "--format", "markdwn"}, "'markdown'"},
      {{"sweep", "shift", "--device", "cpuu"}, "'cpu'"},
      {{"sweep", "shift", "--devices", "cpuu"}, "'cpu'"},
      {{"show", "shift", "--config", "rowwise{variant=0,width=32}", "--arch", "sm_9o"}, "'sm_90'"},
      // Ops, in definitions and in the cache.
      {{"sweep", "shfit"}, "'shift'"},
      {{"query", "shfit", "rows=2", "cols=33"}, "'shift'"},
      {{"table", "shfit"}, "'shift'"},
      {{"show", "shfit"}, "'shift'"},
      {{"regret", "shfit"}, "'shift'"},
      {{"export", "-o", (folder / "out.db").string(), "shfit"}, "'shift'"},
      {{"report", "shfit", "-o", (folder / "out.html").string()}, "'shift'"},
      // Dims, types and attributes, with their values.
      {{"sweep", "shift", "rosw=2"}, "'rows'"},
      {{"sweep", "shift", "--shapes", "rows=2 colls=33"}, "'cols'"},
      {{"sweep", "shift", "--shapes-file", shapes}, "'cols'"},
      {{"query", "shift", "rows=2", "colls=33"}, "'cols'"},
      {{"sweep", "shift", "--dtype", "b16"}, "'bf16'"},
      {{"table", "shift", "--dtype", "f23"}, "'f32'"},
      {{"query", "shift", "rows=2", "cols=33", "dtype=f23"}, "'f32'"},
      {{"sweep", "shift", "--attr", "atc=relu"}, "'act'"},
      {{"sweep", "shift", "act=rleu"}, "'relu'"},
      // Configs: implementations, parameters and their values.
      {{"sweep", "shift", "--config", "rowise{variant=0,width=32}"}, "'rowwise'"},
      {{"show", "shift", "--config", "rowwise{varaint=0,width=32}"}, "'variant'"},
      {{"show", "shift", "--config", "rowwise{variant=0,width=33}"}, "32, 64"},
      // Devices of the cache.
      {{"query", "shift", "rows=2", "cols=33", "--device", "cppu"}, "'cpu'"},
      {{"table", "shift", "--device", "cppu"}, "'cpu'"},
  };
  for (const auto& [words, expected] : mistakes) {
    std::vector<std::string> all = words;
    // Some verbs take no ops.
    const bool takes_ops =
        words[0] != "regret" && words[0] != "export" && words[0] != "completion" && words[0] != "help";
    if (takes_ops) all.insert(all.end(), {"--ops", TILEWRIGHT_TEST_OPS});
    if (words[0] != "completion" && words[0] != "help") all.insert(all.end(), {"--cache", cache()});
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.code, 2) << fmt::format("{}", fmt::join(words, " ")) << "\n" << outcome.err;
    EXPECT_TRUE(contains(outcome.err, expected)) << fmt::format("{}", fmt::join(words, " ")) << "\n" << outcome.err;
  }
}

}  // namespace
}  // namespace tilewright::testing
