// SPDX-License-Identifier: Apache-2.0
// Progress as shown in a real terminal, in a log, and as events for programs.
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/cli/program.hpp"
#include "tests/cli/terminal.hpp"

namespace tilewright::testing {
namespace {

class ProgressTest : public CliTest {
 protected:
  /// A long sweep: many problems, each with its own configs.
  [[nodiscard]] std::string long_sweep() const {
    return fmt::format(
        "{} sweep shift --ops {} --cache {} --device cpu --jobs 1 --budget-ms 10 --no-ceilings --dtype f32,bf16 "
        "--attr act=none,relu --shapes 'rows=2..40+2 cols=31..39+2'",
        TILEWRIGHT_PROGRAM, TILEWRIGHT_TEST_OPS, cache());
  }
};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class InTerminal : public ProgressTest {
 protected:
  void SetUp() override {
    if (!Terminal::is_there()) GTEST_SKIP() << "there is no tmux: scripts/setup --tests brings it";
  }
};

TEST_F(InTerminal, is_one_block_that_goes_when_the_sweep_is_interrupted) {
  const Terminal terminal(folder, 100, 30);
  terminal.type(long_sweep());
  ASSERT_TRUE(terminal.wait_for("/400 problems, ")) << terminal.screen();
  ASSERT_TRUE(terminal.wait_for("best ")) << terminal.screen();
  const std::string screen = terminal.screen();
  EXPECT_EQ(count_of(screen, "/400 problems, "), 1U) << screen;
  EXPECT_TRUE(contains(screen, "shift[dtype=f32,act=none]{rows=")) << screen;
  terminal.press("C-c");
  ASSERT_TRUE(terminal.wait_for("Interrupted: all measured trials are stored")) << terminal.screen();
  EXPECT_TRUE(terminal.is_sane()) << terminal.screen();
  EXPECT_EQ(count_of(terminal.screen(true), "/400 problems, "), 0U) << terminal.screen(true);
}

using Size = std::pair<int, int>;
// Each narrow or short size hides rows of a block, which the next larger size shows again.
constexpr std::array<Size, 9> kSizes{Size{40, 30},  Size{100, 30}, Size{30, 8},  Size{100, 30}, Size{100, 4},
                                     Size{100, 30}, Size{26, 4},   Size{100, 4}, Size{120, 40}};

TEST_F(InTerminal, stays_one_block_when_the_window_gets_narrow_or_short_and_large_again) {
  const Terminal terminal(folder, 120, 30);
  terminal.type(long_sweep());
  ASSERT_TRUE(terminal.wait_for("best ")) << terminal.screen();
  for (const auto& [columns, rows] : kSizes) {
    terminal.resize(columns, rows);
    const bool settled = terminal.wait_for([&](const std::string& screen) {
      return count_of(screen, "/400 problem") == 1 && count_of(screen, "\n  best") <= 1 &&
             count_of(screen, "\nfailed: ") <= 1;
    });
    EXPECT_TRUE(settled) << columns << "x" << rows << "\n" << terminal.screen();
  }
  terminal.press("C-c");
  ASSERT_TRUE(terminal.wait_for("Interrupted")) << terminal.screen();
  EXPECT_TRUE(terminal.is_sane()) << terminal.screen();
}

TEST_F(InTerminal, has_nothing_of_the_block_left_anywhere_after_any_change_of_size) {
  for (const int before : {0, 3, 60}) {
    const Terminal terminal(folder, 100, 30);
    terminal.type(fmt::format("clear; for ((i = 0; i < {}; i++)); do echo before; done; {}", before,
                              quoted(TILEWRIGHT_LIVE_BLOCK_PROGRAM)));
    ASSERT_TRUE(terminal.wait_for("LIVE 1 ")) << terminal.screen();
    for (const auto& [columns, rows] : kSizes) {
      terminal.resize(columns, rows);
      const bool whole = terminal.wait_for([&](const std::string& screen) {
        return contains(screen, fmt::format("LIVE 1 of {}x{}", columns, rows)) && count_of(screen, "LIVE ") <= 5 &&
               count_of(screen, "LIVE 1 ") == 1;
      });
      EXPECT_TRUE(whole) << columns << "x" << rows << "\n" << terminal.screen(true);
    }
    // The last size is the largest, so all hidden rows are shown again.
    EXPECT_EQ(count_of(terminal.screen(true), "LIVE "), 5U) << terminal.screen(true);
    terminal.press("C-c");
    ASSERT_TRUE(terminal.wait_for("the result")) << terminal.screen();
    const std::string all = terminal.screen(true);
    EXPECT_EQ(count_of(all, "LIVE "), 0U) << all;
    EXPECT_EQ(count_of(all, "before\n"), static_cast<std::size_t>(before)) << "what others wrote is still there\n"
                                                                           << all;
  }
}

TEST_F(InTerminal, leaves_a_sane_terminal_whatever_kills_the_program) {
  for (const char* signal : {"TERM", "SEGV", "KILL"}) {
    std::filesystem::remove(cache());
    const Terminal terminal(folder, 100, 30);
    terminal.type(long_sweep() + " & echo $! > " + (folder / "pid").string() + "; fg");
    ASSERT_TRUE(terminal.wait_for("best ")) << terminal.screen();
    (void)output_of(fmt::format("kill -{} $(cat {})", signal, (folder / "pid").string()));
    const bool ended = terminal.wait_for([](const std::string& screen) {
      return contains(screen, "Interrupted") || contains(screen, "Segmentation fault") || contains(screen, "Killed");
    });
    EXPECT_TRUE(ended) << signal << "\n" << terminal.screen();
    EXPECT_TRUE(terminal.is_sane()) << signal << "\n" << terminal.screen();
  }
}

TEST_F(InTerminal, gives_the_shell_its_terminal_on_ctrl_z_and_goes_on_below_after_fg) {
  const Terminal terminal(folder, 100, 40);
  terminal.type(long_sweep());
  ASSERT_TRUE(terminal.wait_for("best ")) << terminal.screen();
  terminal.press("C-z");
  ASSERT_TRUE(terminal.wait_for("Stopped")) << terminal.screen();
  EXPECT_TRUE(terminal.is_sane()) << terminal.screen();
  terminal.type("echo before; fg");
  // Includes the scrolled text: the sweep prints much about this op.
  const bool below = terminal.wait_for([&](const std::string&) {
    const std::string screen = terminal.screen(true);
    const std::size_t line = screen.find("before\n");
    return line != std::string::npos && screen.find("/400 problems", line) != std::string::npos;
  });
  const std::string screen = terminal.screen(true);
  EXPECT_TRUE(below) << screen;
  EXPECT_TRUE(contains(screen, "Stopped")) << "what the shell said is still there\n" << screen;
  terminal.press("C-c");
  ASSERT_TRUE(terminal.wait_for("Interrupted")) << terminal.screen();
  EXPECT_TRUE(terminal.is_sane()) << terminal.screen();
}

TEST_F(ProgressTest, is_timed_lines_where_there_is_no_terminal) {
  use_swept_cache();
  const Outcome outcome = run_on_ops({"sweep", "shift", "--device", "cpu", "--budget-ms", "10", "--no-ceilings",
                                      "--again", "--config", "rowwise{variant=0,width=32}"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, " s] 1/1 shift[dtype=f32,act=none]{rows=2,cols=33}: 1 config, 0 known"))
      << outcome.err;
  EXPECT_FALSE(contains(outcome.err, "\x1b")) << outcome.err;
}

TEST_F(ProgressTest, is_not_told_when_it_is_quiet) {
  use_swept_cache();
  std::vector<std::string> words = kSweep;
  words.insert(words.end(), {"--quiet", "--again", "--config", "rowwise{variant=0,width=32}"});
  const Outcome outcome = run_on_ops(words);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(ProgressTest, is_one_event_a_line_for_programs_each_of_them_documented) {
  use_swept_cache();
  std::vector<std::string> words = kSweep;
  words.insert(words.end(), {"--again", "--retry", "all", "--log-format", "json"});
  const Outcome outcome = run_on_ops(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::ifstream file(TILEWRIGHT_PROGRESS_DOCUMENT);
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  std::map<std::string, nlohmann::json> last;
  for (const std::string& line : lines_of(outcome.err)) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(event.is_object()) << line;
    EXPECT_EQ(event["time"].get<std::string>().size(), std::string("2026-03-01T14:05:00.123Z").size()) << line;
    for (const auto& [key, value] : event.items()) {
      EXPECT_TRUE(contains(document, "`" + key + "`")) << key << " is not in docs/progress.md";
    }
    EXPECT_TRUE(contains(document, "| `" + event["event"].get<std::string>() + "` |")) << line;
    last[event["event"]] = event;
  }
  ASSERT_TRUE(last.count("problem_started") == 1 && last.count("trial") == 1 && last.count("problem_done") == 1)
      << outcome.err;
  EXPECT_EQ(last["problem_started"]["problem"], "shift[dtype=f32,act=none]{rows=2,cols=33}");
  EXPECT_EQ(last["problem_started"]["of"], 1);
  EXPECT_TRUE(contains(last["problem_done"]["winner"].get<std::string>(), "rowwise{variant=0,"));
  EXPECT_GT(last["problem_done"]["median_ns"].get<double>(), 0);
  EXPECT_TRUE(contains(outcome.err, "1 problem in ")) << outcome.err;
  EXPECT_TRUE(contains(last["message"]["text"].get<std::string>(), "1 wrong_result, 1 crashed")) << outcome.err;
  ASSERT_EQ(last.count("sweep_done"), 1U) << outcome.err;
  EXPECT_EQ(last["sweep_done"]["outcome"], "done");
  EXPECT_EQ(last["sweep_done"]["problems"], 1);
  EXPECT_GT(last["sweep_done"]["seconds"], 0);
  EXPECT_GT(last["sweep_done"]["measured"], 0);
  EXPECT_GT(last["sweep_done"]["wall_ms"], 0);
}

TEST_F(ProgressTest, ends_with_an_event_that_says_why) {
  use_swept_cache();
  const Outcome stopped = run_on_ops({"sweep", "shift", "--device", "cpu", "--no-ceilings", "--log-format", "json",
                                      "--shapes", "rows=2..40+2 cols=31..39+2"},
                                     {.interrupt = Interrupt{"\"problem_done\""}});
  EXPECT_EQ(stopped.code, 3) << stopped.err;
  EXPECT_TRUE(contains(stopped.err, "\"event\":\"sweep_done\"")) << stopped.err;
  EXPECT_TRUE(contains(stopped.err, "\"outcome\":\"interrupted\"")) << stopped.err;
}

TEST_F(ProgressTest, has_mistakes_of_the_command_line_among_the_events) {
  const Outcome outcome = run({"sweep", "sofmax", "--log-format", "json"});
  EXPECT_EQ(outcome.code, 2);
  const auto event = nlohmann::json::parse(outcome.err, nullptr, false);
  ASSERT_TRUE(event.is_object()) << outcome.err;
  EXPECT_EQ(event["event"], "error");
  EXPECT_TRUE(contains(event["text"].get<std::string>(), "did you mean 'softmax'?")) << outcome.err;
}

}  // namespace
}  // namespace tilewright::testing
