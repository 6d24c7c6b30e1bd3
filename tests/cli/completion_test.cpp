// SPDX-License-Identifier: Apache-2.0
// Completion, by the shells' protocol and in the shells themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/terminal.hpp"

namespace tilewright::testing {
namespace {

class Completion : public CliTest {
 protected:
  /// The words offered for the last of `words`.
  [[nodiscard]] std::vector<std::string> offers(std::vector<std::string> words, std::string* kind = nullptr) const {
    words.insert(words.begin(), "complete-words");
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    std::istringstream lines(outcome.out);
    std::string first;
    std::getline(lines, first);
    if (kind != nullptr) *kind = first;
    std::vector<std::string> result;
    for (std::string line; std::getline(lines, line);) result.push_back(line.substr(0, line.find('\t')));
    return result;
  }

  /// A shell script's output, with the program first on the path.
  [[nodiscard]] std::string in_shell(const std::string& shell, const std::string& script) const {
    std::ofstream(folder / "script") << script;
    const std::string bin = std::filesystem::path(TILEWRIGHT_PROGRAM).parent_path().string();
    return output_of(fmt::format("cd {} && env PATH={}:$PATH HOME={} TILEWRIGHT_CACHE={} LC_ALL=C.UTF-8 {} {}",
                                 quoted(folder.string()), quoted(bin), quoted(folder.string()), quoted(cache()), shell,
                                 quoted((folder / "script").string())));
  }
};

[[nodiscard]] bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

[[nodiscard]] bool is_there(const std::string& shell) { return contains(output_of("command -v " + shell), shell); }

using Words = std::vector<std::string>;

TEST_F(Completion, offers_every_verb_and_those_that_begin_so) {
  const std::vector<std::string> verbs = offers({""});
  for (const char* verb : {"sweep", "query", "table", "list", "show", "export", "import", "doctor", "help"}) {
    EXPECT_TRUE(has(verbs, verb)) << verb;
  }
  EXPECT_EQ(offers({"sw"}), Words{"sweep"});
  EXPECT_EQ(offers({"help", "que"}), Words{"query"});
  EXPECT_EQ(offers({"--v"}), Words{"--version"});
}

TEST_F(Completion, offers_the_options_of_a_verb_that_are_not_given_yet) {
  const std::vector<std::string> options = offers({"sweep", "softmax", "--dtype", "bf16", "--"});
  EXPECT_TRUE(has(options, "--strategy"));
  EXPECT_TRUE(has(options, "--help"));
  EXPECT_FALSE(has(options, "--dtype"));
  EXPECT_TRUE(has(offers({"sweep", "softmax", "--ops", "a", "--o"}), "--ops")) << "it may be repeated";
  EXPECT_FALSE(has(offers({"query", "softmax", "--"}), "--strategy"));
}

TEST_F(Completion, offers_the_words_that_a_value_may_be) {
  EXPECT_EQ(offers({"table", "softmax", "--format", ""}), (Words{"text", "json", "csv", "markdown"}));
  EXPECT_EQ(offers({"table", "softmax", "--format=j"}), Words{"--format=json"});
  EXPECT_TRUE(has(offers({"sweep", "--strategy", ""}), "race"));
  EXPECT_EQ(offers({"sweep", "--retry", "crashed,wr"}), Words{"crashed,wrong_result"});
  EXPECT_EQ(offers({"sweep", "--mode", "c"}), Words{"cold"});
  EXPECT_TRUE(has(offers({"sweep", "--device", ""}), "cpu"));
  EXPECT_TRUE(has(offers({"show", "softmax", "--arch", "sm_9"}), "sm_90a"));
  EXPECT_EQ(offers({"completion", ""}), (Words{"bash", "zsh", "fish"}));
  EXPECT_EQ(offers({"list", "d"}), Words{"devices"});
}

TEST_F(Completion, offers_every_word_that_the_program_takes_and_no_other) {
  for (const std::string& mode : offers({"sweep", "--mode", ""})) {
    EXPECT_TRUE(contains(run({"sweep", "softmax", "--mode", mode, "--misses", "extra"}).err, "extra")) << mode;
  }
  const Outcome outcome = run({"sweep", "softmax", "--retry", "crashed,wrong"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "it takes no 'wrong'")) << outcome.err;
}

TEST_F(Completion, offers_ops_dims_types_and_attributes_of_one_s_own_ops_too) {
  EXPECT_TRUE(has(offers({"sweep", ""}), "softmax"));
  EXPECT_EQ(offers({"sweep", "--ops", TILEWRIGHT_TEST_OPS, "shi"}), Words{"shift"});
  const Words shift{"sweep", "--ops", TILEWRIGHT_TEST_OPS, "shift"};
  const auto behind = [&](std::vector<std::string> more) {
    more.insert(more.begin(), shift.begin(), shift.end());
    return more;
  };
  std::string kind;
  const auto first = [&](std::vector<std::string> more, std::size_t count) {
    Words offered = offers(behind(std::move(more)), &kind);
    EXPECT_TRUE(has(offered, "softmax")) << "another op may follow";
    offered.resize(std::min(offered.size(), count));
    return offered;
  };
  EXPECT_EQ(first({""}, 4), (Words{"rows=", "cols=", "dtype=", "act="}));
  EXPECT_EQ(kind, "words unfinished");
  EXPECT_EQ(first({"rows=4", ""}, 3), (Words{"cols=", "dtype=", "act="}));
  EXPECT_EQ(offers(behind({"dtype="})), (Words{"dtype=f32", "dtype=bf16"}));
  EXPECT_EQ(offers(behind({"act=none,"})), Words{"act=none,relu"});
  EXPECT_EQ(offers(behind({"--dtype", "f32,"})), Words{"f32,bf16"});
  EXPECT_EQ(offers(behind({"--attr", "act=r"})), Words{"act=relu"});
  EXPECT_EQ(offers(behind({"--attr", ""})), Words{"act="});
}

TEST_F(Completion, offers_the_devices_of_the_cache_that_is_named) {
  fill_demo_cache(cache(), 1);
  const std::vector<std::string> devices = offers({"query", "shift", "--cache", cache(), "--device", ""});
  EXPECT_TRUE(has(devices, "cpu"));
  EXPECT_GE(devices.size(), 1U);
}

TEST_F(Completion, offers_the_parameters_of_the_op_to_go_by) {
  const Words parameters = offers({"table", "--ops", TILEWRIGHT_TEST_OPS, "shift", "--by", ""});
  EXPECT_EQ(parameters, (Words{"implementation", "variant", "width"}));
  EXPECT_EQ(offers({"table", "softmax", "--by=num"}), Words{"--by=num_warps"});
  EXPECT_TRUE(offers({"table", "nonesuch", "--by", ""}).empty());
}

TEST_F(Completion, offers_the_columns_of_the_table_asked_for) {
  EXPECT_EQ(offers({"table", "softmax", "--sort", "share_of_c"}),
            (Words{"share_of_ceiling", "share_of_compute_ceiling"}));
  EXPECT_EQ(offers({"table", "softmax", "--sort", "cols,-share_of_m"}), Words{"cols,-share_of_memory_ceiling"});
  EXPECT_FALSE(has(offers({"table", "softmax", "--sort", "-cols,"}), "-cols,cols")) << "it is there already";
  EXPECT_TRUE(has(offers({"table", "softmax", "--columns", ""}), "num_warps")) << "parameters are columns, too";
  EXPECT_FALSE(has(offers({"table", "softmax", "--columns", ""}), "registers"));
  EXPECT_TRUE(has(offers({"table", "softmax", "--all", "--columns", ""}), "registers"));
  EXPECT_TRUE(has(offers({"table", "softmax", "--by", "vec", "--sort", ""}), "median_ratio"));
  EXPECT_TRUE(has(offers({"table", "softmax", "--compare", "a.db", "b.db", "--sort", ""}), "speedup"));
}

TEST_F(Completion, offers_no_column_that_the_table_would_refuse) {
  fill_demo_cache(cache(), 2);
  const Words demo{"table", "--ops", TILEWRIGHT_TEST_OPS, "--cache", cache(), "shift"};
  use_swept_cache();
  for (const Words& view : {Words{}, Words{"--all"}, Words{"--by", "width"}}) {
    Words asked = demo;
    asked.insert(asked.end(), view.begin(), view.end());
    asked.emplace_back("--columns");
    Words typed = asked;
    typed.emplace_back("");
    const Words columns = offers(typed);
    EXPECT_GT(columns.size(), 5U);
    typed.back() = fmt::format("{}", fmt::join(columns, ","));
    const Outcome outcome = run(typed);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
}

TEST_F(Completion, offers_configs_that_have_won_and_else_those_of_the_space_piece_by_piece) {
  std::string kind;
  const Words show{"show", "--ops", TILEWRIGHT_TEST_OPS, "--cache", cache(), "shift", "--config"};
  const auto behind = [&](const std::string& typed) {
    Words words = show;
    words.push_back(typed);
    return offers(words, &kind);
  };
  EXPECT_TRUE(has(behind(""), "rowwise{"));
  EXPECT_EQ(kind, "words unfinished");
  EXPECT_EQ(behind("rowwise{"), (Words{"rowwise{variant=", "rowwise{width="}));
  EXPECT_TRUE(has(behind("rowwise{variant="), "rowwise{variant=0,"));
  EXPECT_EQ(behind("rowwise{variant=0,w"), Words{"rowwise{variant=0,width="});
  EXPECT_TRUE(has(behind("rowwise{variant=0,width="), "rowwise{variant=0,width=32}"));
  EXPECT_EQ(kind, "words") << "that is a whole config";
  use_swept_cache();
  EXPECT_EQ(behind("row"), Words{"rowwise{variant=0,width=32}"});
  EXPECT_EQ(offers({"bench", "--ops", TILEWRIGHT_TEST_OPS, "--cache", cache(), "shift", "--against=r"}),
            Words{"--against=rowwise{variant=0,width=32}"});
}

TEST_F(Completion, offers_for_several_ops_what_is_of_the_last) {
  const Words words = offers({"export", "--csv", "-", "softmax", "dtype=bf16", "gemm", "m"});
  EXPECT_EQ(words, (Words{"m=", "math=", "mlp", "mma", "mul"}));
  EXPECT_EQ(offers({"export", "--csv", "-", "softmax", "dtype=bf16,f1"}), Words{"dtype=bf16,f16"});
}

TEST_F(Completion, leaves_files_and_folders_to_the_shell) {
  std::string kind;
  EXPECT_TRUE(offers({"sweep", "--cache", ""}, &kind).empty());
  EXPECT_EQ(kind, "files");
  EXPECT_TRUE(offers({"sweep", "--ops="}, &kind).empty());
  EXPECT_EQ(kind, "folders");
  EXPECT_TRUE(offers({"import", "a.db", ""}, &kind).empty());
  EXPECT_EQ(kind, "files");
  EXPECT_TRUE(offers({"export", "-o", ""}, &kind).empty());
  EXPECT_EQ(kind, "files");
}

TEST_F(Completion, offers_nothing_and_says_nothing_where_it_cannot_tell) {
  EXPECT_TRUE(offers({"sweeep", ""}).empty());
  EXPECT_TRUE(offers({"query", "nonesuch", ""}).empty());
  EXPECT_TRUE(offers({"sweep", "--ops", "/nonexistent", "s"}).empty());
  EXPECT_TRUE(offers({"sweep", "--nonesuch=a"}).empty());
  EXPECT_TRUE(offers({"sweep", "--jobs", ""}).empty());
  EXPECT_TRUE(offers({"completion", "bash", ""}).empty());
}

TEST_F(Completion, is_right_for_every_verb_whatever_stands_in_its_place) {
  for (const std::string& verb : offers({""})) {
    EXPECT_TRUE(has(offers({verb, "--"}), "--help")) << verb;
    (void)offers({verb, ""});
    (void)offers({verb, "softmax", "rows=1", ""});
  }
}

TEST_F(Completion, names_the_shell_that_was_meant) {
  const Outcome outcome = run({"completion", "bsh"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "did you mean 'bash'?")) << outcome.err;
}

TEST_F(Completion, works_in_bash) {
  // Bash's steps at Tab, with the words as readline splits them.
  const std::string told = in_shell("bash", R"sh(
eval "$(tilewright completion bash)"
try() {
  COMP_LINE=$1; COMP_POINT=${#1}; COMPREPLY=()
  compopt() { :; }
  _tilewright tilewright
  printf '<%s>' "${COMPREPLY[@]}"; echo
}
touch some.db; mkdir things
try 'tilewright swee'
try 'tilewright sweep dropou'
try 'tilewright sweep dropout dtype=b'
try 'tilewright sweep softmax --strategy ra'
try 'tilewright table softmax --format=mark'
try 'tilewright import so'
try 'tilewright sweep --ops thi'
try 'tilewright query softmax --cache some.db --dev'
try 'tilewright table softmax --sort -share_of_m'
try 'tilewright show gemm --config simt'
try "tilewright show gemm --config 'simt"
try 'tilewright show gemm --config simt\{block_m=64,block_n=6'
try "tilewright show gemm --config 'simt{block_m=64,block_n=6"
complete -p tilewright
)sh");
  EXPECT_EQ(told,
            "<sweep>\n<dropout>\n<bf16>\n<race><random>\n<markdown>\n<some.db>\n<things>\n<--device>\n"
            "<-share_of_memory_ceiling>\n<simt\\{>\n<simt{>\n<64,>\n<simt{block_m=64,block_n=64,>\n"
            "complete -F _tilewright tilewright\n");
}

TEST_F(Completion, works_at_the_prompt_of_bash) {
  if (!Terminal::is_there()) GTEST_SKIP() << "there is no tmux: scripts/setup --tests brings it";
  const Terminal terminal(folder, 100, 20);
  const std::string bin = std::filesystem::path(TILEWRIGHT_PROGRAM).parent_path().string();
  terminal.type(fmt::format("PATH={}:$PATH; source <(tilewright completion bash); clear; echo ready", bin));
  ASSERT_TRUE(terminal.wait_for("ready\n")) << terminal.screen();
  terminal.put("tilewright swee");
  terminal.press("Tab");
  ASSERT_TRUE(terminal.wait_for("$ tilewright sweep")) << terminal.screen();
  terminal.put("dropou");
  terminal.press("Tab");
  ASSERT_TRUE(terminal.wait_for("$ tilewright sweep dropout")) << terminal.screen();
  terminal.put("dty");
  terminal.press("Tab");
  terminal.put("b");
  terminal.press("Tab");
  ASSERT_TRUE(terminal.wait_for("$ tilewright sweep dropout dtype=bf16")) << terminal.screen();
}

TEST_F(Completion, works_in_zsh) {
  if (!is_there("zsh")) GTEST_SKIP() << "there is no zsh: scripts/setup --tests brings it";
  if (!Terminal::is_there()) GTEST_SKIP() << "there is no tmux: scripts/setup --tests brings it";
  const Terminal terminal(folder, 100, 20);
  const std::string bin = std::filesystem::path(TILEWRIGHT_PROGRAM).parent_path().string();
  terminal.type(fmt::format("cd {}; HOME={} PS1='z> ' zsh -f", quoted(folder.string()), quoted(folder.string())));
  terminal.type(
      fmt::format("path=({} $path); autoload -U compinit; compinit -u -D; "
                  "source <(tilewright completion zsh); clear; echo ready",
                  bin));
  ASSERT_TRUE(terminal.wait_for("ready\n")) << terminal.screen();
  terminal.put("tilewright swee");
  terminal.press("Tab");
  ASSERT_TRUE(terminal.wait_for("z> tilewright sweep")) << terminal.screen();
  terminal.put("dropou");
  terminal.press("Tab");
  ASSERT_TRUE(terminal.wait_for("z> tilewright sweep dropout")) << terminal.screen();
  terminal.put("dty");
  terminal.press("Tab");
  terminal.put("b");
  terminal.press("Tab");
  ASSERT_TRUE(terminal.wait_for("z> tilewright sweep dropout dtype=bf16")) << terminal.screen();
  terminal.put("--strategy=ra");
  terminal.press("Tab");
  terminal.press("Tab");
  ASSERT_TRUE(terminal.wait_for("--strategy=random")) << terminal.screen();
  terminal.press("C-u");
  terminal.put("tilewright show gemm --config skin");
  terminal.press("Tab");
  terminal.put("spl");
  terminal.press("Tab");
  ASSERT_TRUE(terminal.wait_for("z> tilewright show gemm --config skinny\\{split_k=")) << terminal.screen();
}

TEST_F(Completion, works_in_fish) {
  if (!is_there("fish")) GTEST_SKIP() << "there is no fish: scripts/setup --tests brings it";
  const std::string told = in_shell("fish", R"sh(
tilewright completion fish | source
touch some.db; mkdir things
for line in 'tilewright swee' 'tilewright sweep dropou' 'tilewright sweep dropout dtype=b' \
    'tilewright sweep softmax --strategy ra' 'tilewright table softmax --format=mark' 'tilewright import so' \
    'tilewright sweep --ops thi' 'tilewright table softmax --sort cols,-share_of_m' 'tilewright show gemm --config sim' \
    'tilewright show gemm --config simt\{block_m=64,block_n=6'
  string join ' ' -- (complete -C "$line" | string replace -r '\t.*' '')
end
)sh");
  EXPECT_EQ(told,
            "sweep\ndropout\ndtype=bf16\nrace random\n--format=markdown\nsome.db\nthings/\n"
            "cols,-share_of_memory_ceiling\nsimt{\nsimt{block_m=64,block_n=64,\n");
}

}  // namespace
}  // namespace tilewright::testing
