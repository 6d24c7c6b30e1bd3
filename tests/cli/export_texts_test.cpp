// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class ExportTexts : public CliTest {
 protected:
  ExportTexts() { fill_demo_cache(cache(), 3); }
  [[nodiscard]] Outcome export_to(const std::string& form, const std::string& file,
                                  std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"export", "--" + form, file, "--cache", cache()});
    return run(more);
  }
  [[nodiscard]] std::string out() const { return (folder / "out").string(); }
  [[nodiscard]] static std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(ExportTexts, are_written_to_a_file_and_told_of) {
  for (const char* form : {"csv", "jsonl", "t4", "google-benchmark"}) {
    const Outcome outcome = export_to(form, out() + form, {"--format", "json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto told = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(told["rows"][0]["op"], "demo") << form;
    EXPECT_EQ(told["rows"][0]["problems"], 3) << form;
    EXPECT_TRUE(std::filesystem::exists(out() + form));
    EXPECT_FALSE(std::filesystem::exists(out() + form + ".new"));
  }
}

TEST_F(ExportTexts, go_to_standard_output_alone_for_a_dash) {
  const auto csv = lines_of(export_to("csv", "-").out);
  EXPECT_EQ(csv.size(), 4U);
  const Outcome jsonl = export_to("jsonl", "-");
  EXPECT_EQ(lines_of(jsonl.out).size(), 3U);
  for (const std::string& line : lines_of(jsonl.out)) EXPECT_EQ(nlohmann::json::parse(line)["op"], "demo");
  EXPECT_TRUE(contains(jsonl.err, "3 trials written")) << jsonl.err;
  EXPECT_EQ(nlohmann::json::parse(export_to("t4", "-").out)["results"].size(), 3U);
  EXPECT_EQ(nlohmann::json::parse(export_to("google-benchmark", "-").out)["benchmarks"].size(), 6U)
      << "winner and base";
}

TEST_F(ExportTexts, take_ops_types_modes_and_devices) {
  EXPECT_EQ(
      lines_of(export_to("jsonl", "-", {"demo", "--dtype", "f32", "--mode", "cold", "--device", "H999"}).out).size(),
      3U);
  const Outcome none = export_to("jsonl", out(), {"--dtype", "bf16"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.err, "no such trial")) << none.err;
  EXPECT_EQ(export_to("google-benchmark", out(), {"--mode", "hot"}).code, 1);
  EXPECT_FALSE(std::filesystem::exists(out()));
  const Outcome wrong = export_to("jsonl", out(), {"--dtype", "bf61"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(contains(wrong.err, "bf16")) << wrong.err;
  EXPECT_TRUE(contains(export_to("csv", out(), {"dmeo"}).err, "did you mean 'demo'?"));
}

TEST_F(ExportTexts, replace_a_file_only_when_told_to) {
  std::ofstream(out()) << "mine";
  const Outcome refused = export_to("csv", out());
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "--force")) << refused.err;
  EXPECT_EQ(std::filesystem::file_size(out()), 4U);
  EXPECT_EQ(export_to("csv", out(), {"--force"}).code, 0);
  EXPECT_GT(std::filesystem::file_size(out()), 4U);
}

TEST_F(ExportTexts, leave_nothing_behind_that_could_not_be_written) {
  const Outcome folderless = export_to("csv", (folder / "no/such/x.csv").string());
  EXPECT_EQ(folderless.code, 1);
  EXPECT_TRUE(contains(folderless.err, "its folder " + (folder / "no/such").string() + " does not exist. Make it"))
      << folderless.err;
  EXPECT_TRUE(contains(folderless.err, "Nothing was written")) << folderless.err;
  const Outcome a_folder = export_to("csv", folder.string());
  EXPECT_EQ(a_folder.code, 1);
  EXPECT_TRUE(contains(a_folder.err, "it is a folder")) << a_folder.err;
  const Outcome full = run({"export", "--csv", out(), "--cache", cache()}, {.most_file_bytes = 100});
  EXPECT_NE(full.code, 0);
  EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(ExportTexts, say_of_a_folder_that_may_not_be_written_which_it_is) {
  if (!nobody_can_run_the_program()) GTEST_SKIP() << "the user nobody cannot reach the program";
  const std::filesystem::path closed = folder / "closed";
  std::filesystem::create_directory(closed);
  std::filesystem::permissions(closed, std::filesystem::perms(0555));
  std::filesystem::permissions(cache(), std::filesystem::perms(0644));
  const Outcome outcome =
      run({"export", "--csv", (closed / "x.csv").string(), "--cache", cache()}, {.as_nobody = true});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "this user may not write in the folder " + closed.string())) << outcome.err;
}

TEST_F(ExportTexts, are_written_into_a_pipe_which_stays_one) {
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  // Opened for reading and writing, so that neither side waits for the other.
  const int end = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(end, 0);
  const Outcome outcome = export_to("csv", pipe);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::string got(1U << 16U, '\0');
  const ssize_t count = ::read(end, got.data(), got.size());
  ::close(end);
  ASSERT_GT(count, 0);
  got.resize(static_cast<std::size_t>(count));
  EXPECT_EQ(got, export_to("csv", "-").out);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(ExportTexts, stand_alone) {
  EXPECT_TRUE(contains(export_to("csv", out(), {"--jsonl", out()}).err, "one file at a time"));
  EXPECT_EQ(export_to("csv", out(), {"--cover", "1.1"}).code, 2);
  EXPECT_EQ(export_to("csv", out(), {"--trials"}).code, 2);
  EXPECT_EQ(export_to("output", "-").code, 2) << "a cache is a file";
  const Outcome dtype = export_to("output", out(), {"--dtype", "f32"});
  EXPECT_EQ(dtype.code, 2);
  EXPECT_TRUE(contains(dtype.err, "--dtype goes with --csv")) << dtype.err;
}

TEST_F(ExportTexts, of_a_swept_cache_have_failures_and_figures_of_the_op) {
  use_swept_cache();
  const Outcome outcome = run_on_ops({"export", "--jsonl", "-", "shift"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::map<std::string, int> statuses;
  for (const std::string& line : lines_of(outcome.out)) {
    const auto trial = nlohmann::json::parse(line);
    ++statuses[trial["status"]];
    EXPECT_EQ(trial["timed_by"], "emulator");
    EXPECT_EQ(trial["bytes"], 2 * 2 * 33 * 4);
    if (trial["status"] != "ok") {
      EXPECT_FALSE(trial["reason"].get<std::string>().empty());
    }
  }
  EXPECT_GT(statuses["ok"], 0);
  EXPECT_GT(statuses["wrong_result"], 0);
  EXPECT_GT(statuses["compile_failed"], 0);
  EXPECT_GT(statuses["crashed"], 0);
}

}  // namespace
}  // namespace tilewright::testing
