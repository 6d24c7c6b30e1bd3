// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using Help = CliTest;

const std::vector<std::string> kVerbs{"sweep",   "query",  "table",  "summary", "fusion",     "gate",   "regret",
                                      "prepare", "list",   "show",   "new",     "check",      "verify", "bench",
                                      "report",  "export", "import", "pin",     "cache",      "key",    "publish",
                                      "promote", "pull",   "serve",  "doctor",  "completion", "help"};

TEST_F(Help, is_the_very_text_of_the_document) {
  std::ifstream file(TILEWRIGHT_CLI_DOCUMENT);
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  const Outcome outcome = run({"help", "--markdown"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, document) << "docs/cli.md is `tilewright help --markdown > docs/cli.md`";
}

TEST_F(Help, of_each_verb_is_the_same_by_two_ways_and_in_the_document) {
  const std::string document = run({"help", "--markdown"}).out;
  for (const std::string& verb : kVerbs) {
    const Outcome outcome = run({verb, "--help"});
    EXPECT_EQ(outcome.code, 0) << verb;
    EXPECT_EQ(outcome.out, run({"help", verb}).out) << verb;
    EXPECT_TRUE(contains(document, outcome.out)) << verb;
    EXPECT_TRUE(contains(outcome.out, "Exit code: ")) << verb;
    EXPECT_TRUE(outcome.err.empty()) << verb;
  }
}

TEST_F(Help, fits_eighty_columns) {
  for (const std::string& verb : kVerbs) {
    const std::string text = run({verb, "--help"}).out;
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = text.find('\n', start);
      const std::string line = text.substr(start, end - start);
      // Commands to type are not wrapped.
      if (!contains(line, "  tilewright ")) {
        EXPECT_LE(line.size(), 80U) << verb << ": " << line;
      }
      start = end + 1;
    }
  }
}

TEST_F(Help, of_the_program_names_every_verb_and_every_exit_code) {
  const Outcome outcome = run({"--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, run({"help"}).out);
  for (const std::string& verb : kVerbs) EXPECT_TRUE(contains(outcome.out, "  " + verb)) << verb;
  EXPECT_TRUE(contains(outcome.out, "Exit code: 0 done, 1 failed, 2"));
}

TEST_F(Help, is_printed_as_an_error_when_nothing_was_asked) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(outcome.out.empty());
  EXPECT_TRUE(contains(outcome.err, "Usage: tilewright VERB"));
}

TEST_F(Help, has_the_version_beside_it) {
  const Outcome outcome = run({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.rfind("tilewright 0.", 0), 0U) << outcome.out;
}

TEST_F(Help, is_pointed_to_by_mistakes_in_the_command_line) {
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"sweeep", "softmax"}, "did you mean 'sweep'?"},
      {{"sweep", "softmax", "--formt", "json"}, "did you mean --format?"},
      {{"sweep", "softmax", "--dtype"}, "--help"},
      {{"sweep", "softmax", "--cache", "a", "--cache", "b"}, "--cache was given 2 times"},
      {{"sweep", "softmax", "--again=yes"}, "--help"},
      {{"sweep"}, "sweep needs the name of an op"},
      {{"doctor", "please"}, "does not know what to do with 'please'"},
      {{"table", "softmax", "--format", "jsn"}, "did you mean 'json'?"},
      {{"sweep", "softmax", "--mode", "warm"}, "known: cold, hot, events"},
      {{"sweep", "softmax", "--jobs", "none"}, "--jobs must be a whole number of at least 1"},
      {{"sweep", "softmax", "--budget-ms", "0"}, "--budget-ms must be a whole number of at least 1"},
      {{"list", "opps"}, "did you mean 'ops'?"},
      {{"help", "quary"}, "did you mean 'query'?"},
  };
  for (const auto& [words, expected] : mistakes) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, expected)) << outcome.err;
    EXPECT_TRUE(outcome.out.empty()) << outcome.out;
  }
}

TEST_F(Help, that_cannot_be_written_is_a_failure) {
  const Outcome outcome = run({"help"}, {.standard_output = "/dev/full"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "No space left on device")) << outcome.err;
}

}  // namespace
}  // namespace tilewright::testing
