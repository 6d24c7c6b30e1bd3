// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>

#include "cache/store/bundle/bundle.hpp"
#include "cache/store/import.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

class ExportVerb : public CliTest {
 protected:
  /// Runs with the test's cache.
  [[nodiscard]] Outcome run_here(std::vector<std::string> words) const {
    words.insert(words.end(), {"--cache", cache()});
    return run(words);
  }
  [[nodiscard]] nlohmann::json json_here(std::vector<std::string> words) const {
    words.insert(words.end(), {"--format", "json"});
    const Outcome outcome = run_here(std::move(words));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }
  ExportVerb() { fill_demo_cache(cache(), 5); }
  /// The path of a draft left behind, or empty.
  [[nodiscard]] std::string left_over() const {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".new") return entry.path().string();
    }
    return "";
  }
  [[nodiscard]] std::string out() const { return (folder / "winners.db").string(); }
};

TEST_F(ExportVerb, writes_a_cache_of_the_winners_alone) {
  const auto json = json_here({"export", "-o", out()});
  EXPECT_EQ(json["rows"][0]["op"], "demo");
  EXPECT_EQ(json["rows"][0]["problems"], 5);
  EXPECT_EQ(json["rows"][0]["device"], demo_device().fingerprint());
  const Outcome table = run({"table", "demo", "--cache", out()});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_TRUE(contains(table.out, "plain{vec=4}"));
  EXPECT_FALSE(fs::exists(out() + "-wal"));
  EXPECT_EQ(left_over(), "");
}

TEST_F(ExportVerb, replaces_a_file_only_when_told_to) {
  EXPECT_EQ(run_here({"export", "--output", out()}).code, 0);
  const Outcome again = run_here({"export", "-o", out()});
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(contains(again.err, "--force")) << again.err;
  EXPECT_EQ(run_here({"export", "-o", out(), "--force"}).code, 0);
}

TEST_F(ExportVerb, writes_packs_of_what_the_folder_lacks_and_names_what_its_packs_keep) {
  const std::string packs = (folder / "packs").string();
  EXPECT_TRUE(contains(json_here({"export", "--pack", packs})["notes"].dump(), "2 packs written into " + packs));
  const auto again = json_here({"export", "--pack", packs, "demo"});
  EXPECT_THAT(again["notes"],
              ::testing::ElementsAre("Nothing was written: everything is in the packs of " + packs + "."));
  {
    // Timed again, with an interval of twice the width.
    Store store{fs::path(cache())};
    const OpInterface interface = demo_interface();
    const std::array<std::int64_t, 2> dims{3, 64};
    const ProblemKey key{make_problem(parse_spec("demo", interface), interface, dims), interface.hash(),
                         demo_device().fingerprint()};
    const WinnerRow row = store.winner_of(key, MeasureMode::cold, WinnerRole::best).value();
    Winner wide = row.winner;
    wide.trial = store.trial(row.winner.trial.id).value();
    wide.trial.timing->high_ns += wide.trial.timing->high_ns - wide.trial.timing->low_ns;
    ++wide.trial.measured_at;
    wide.trial.id = store.put_trial(key, row.implementation_hash, wide.trial);
    store.put_winners(key, MeasureMode::cold, {wide});
  }
  const auto further = json_here({"export", "--pack", packs});
  ASSERT_EQ(further["notes"].size(), 2U) << further["notes"];
  EXPECT_THAT(further["notes"][0], ::testing::StartsWith("1 pack written into " + packs));
  EXPECT_THAT(further["notes"][1],
              ::testing::MatchesRegex(".* better evidence for other winners of 1 problem, which an import keeps: "
                                      "demo\\[dtype=f32,act=none\\]\\{rows=3,cols=64\\}\\. These packs are "
                                      "demo-f32-plain-[0-9a-f]*.pack\\. .*remove these packs.*"));
}

TEST_F(ExportVerb, takes_the_ops_and_the_device_asked_for) {
  EXPECT_EQ(run_here({"export", "-o", out(), "demo", "--device", "Fictional"}).code, 0);
  const Outcome unknown = run_here({"export", "-o", out() + "2", "dmeo"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "did you mean 'demo'?")) << unknown.err;
  const Outcome none = run_here({"export", "-o", out() + "2", "--device", "cpu"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.err, "nothing was written")) << none.err;
  EXPECT_FALSE(fs::exists(out() + "2"));
}

TEST_F(ExportVerb, takes_the_problems_asked_for_in_the_words_of_other_verbs) {
  const auto problems = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"export", "-o", out(), "--force"});
    return json_here(words)["rows"][0]["problems"].get<int>();
  };
  EXPECT_EQ(problems({"demo", "dtype=f32"}), 5);
  EXPECT_EQ(problems({"demo", "rows=2,4", "cols=64"}), 2);
  EXPECT_EQ(problems({"demo[dtype=f32,act=none]", "rows=3"}), 1);
  EXPECT_EQ(problems({"demo{rows=3,cols=64}"}), 1);
  EXPECT_EQ(problems({"demo", "rows=1", "demo", "rows=2"}), 2) << "of an op that is named twice either";
  EXPECT_TRUE(contains(run({"table", "demo", "--cache", out()}).out, "plain{vec=4}"));
  // All formats take selections.
  for (const char* form : {"--csv", "--jsonl", "--t4"}) {
    const Outcome some = run_here({"export", form, "-", "demo", "rows=2"});
    EXPECT_EQ(some.code, 0) << some.err;
    EXPECT_FALSE(contains(some.out, "{rows=3,cols=64}")) << form;
  }
  EXPECT_EQ(json_here({"export", "--trials", "-o", out(), "--force", "demo", "rows=2"})["rows"][0]["problems"], 1);
}

TEST_F(ExportVerb, tells_what_stays_behind_and_how_to_take_it_along) {
  use_swept_cache();
  const Outcome outcome = run_here({"export", "-o", out()});
  EXPECT_TRUE(contains(outcome.out, "stay behind, pruned, older, or of problems without a winner: --csv and --jsonl"))
      << outcome.out;
  const std::string exported = run({"export", "--csv", "-", "--cache", out()}).out;
  EXPECT_TRUE(contains(exported, ",compile_failed,")) << "failures come along\n" << exported;
  const Outcome part = run_here({"export", "-o", out(), "--force", "demo", "rows=2"});
  EXPECT_FALSE(contains(part.out, "stay behind")) << "of a part, what is beside it is not meant\n" << part.out;
  // The options that the message names take them along.
  EXPECT_GT(std::ranges::count(run_here({"export", "--csv", "-"}).out, '\n'), std::ranges::count(exported, '\n'));
  const std::string recording = (folder / "recording.db").string();
  EXPECT_EQ(run_here({"export", "--trials", "-o", recording}).code, 0);
  EXPECT_TRUE(contains(run({"export", "--csv", "-", "--cache", recording}).out, "compile_failed"));
  // A verb that does not read the file names the verbs that do.
  const Outcome imported = run({"import", recording, "--cache", (folder / "other.db").string()});
  EXPECT_EQ(imported.code, 1);
  EXPECT_TRUE(contains(imported.out, "tilewright sweep OP --replay FILE")) << imported.out;
}

TEST_F(ExportVerb, says_what_is_wrong_with_the_problems_asked_for) {
  const auto says = [&](std::vector<std::string> words, const std::string& what, int code) {
    words.insert(words.begin(), {"export", "-o", out()});
    const Outcome outcome = run_here(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, what)) << outcome.err;
    EXPECT_FALSE(fs::exists(out()));
  };
  says({"dtype=f32", "demo"}, "'dtype=f32' stands before its op: write OP dtype=f32", 2);
  says({"demo", "dtpe=f32"}, "demo has no dim or attribute 'dtpe'; did you mean 'dtype'?", 2);
  says({"demo", "dtype=f23"}, "did you mean 'f32'?", 2);
  says({"demo", "rows=two"}, "dim 'rows' is 'two', which is not a whole number", 2);
  says({"demo", "rows=1", "rows=2"}, "'rows' is given twice", 2);
  says({"demo[dtype=f32"}, "has an unclosed", 2);
  says({"demo", "rows=999"}, "no such winner to export", 1);
}

TEST_F(ExportVerb, writes_a_bundle) {
  const std::string file = (folder / "winners.bundle").string();
  const auto json = json_here({"export", "--bundle", file});
  EXPECT_EQ(json["rows"][0]["op"], "demo");
  EXPECT_EQ(json["rows"][0]["problems"], 5);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_EQ(run_here({"export", "--bundle", file}).code, 2) << "it is there already";
  EXPECT_EQ(run_here({"export", "--bundle", file, "--force"}).code, 0);
  const Outcome imported = run_here({"import", file});
  EXPECT_EQ(imported.code, 2);
  EXPECT_TRUE(contains(imported.err, "is a bundle")) << imported.err;
}

TEST_F(ExportVerb, tells_the_fewest_configs_and_writes_nothing) {
  const auto json = json_here({"export", "--cover", "1.05"});
  ASSERT_EQ(json["rows"].size(), 1U);
  EXPECT_EQ(json["rows"][0]["shapes"], 5);
  EXPECT_EQ(json["rows"][0]["chosen"], 1) << "one config is the best of all shapes";
  EXPECT_EQ(json["rows"][0]["proven"], true);
}

TEST_F(ExportVerb, writes_the_fewest_configs_of_what_was_swept_as_a_bundle_that_serves) {
  use_swept_cache();
  const std::string file = (folder / "winners.bundle").string();
  const auto json = json_here({"export", "--cover", "1.05", "--bundle", file});
  const Bundle bundle(file);
  EXPECT_NO_THROW(bundle.check()) << "every value and binary can be read";
  EXPECT_THAT(bundle.ops(), ::testing::ElementsAre("shift"));
  const OpInterface interface = bundle.interface_of("shift").value();
  const Store store(cache(), {.access = StoreAccess::read});
  std::size_t shapes = 0;
  for (const WinnerRow& row : selected_winners(store, {.ops = {"shift"}})) {
    if (row.winner.role != WinnerRole::best) continue;
    ++shapes;
    const ProblemKey key{row.problem, interface.hash(), row.device.fingerprint()};
    const auto served = bundle.winner_of(key, row.mode, WinnerRole::best);
    ASSERT_TRUE(served) << row.problem.key();
    const double best_ns = row.winner.trial.timing->median_ns;
    EXPECT_LE(served->winner.trial.timing->median_ns, 1.05 * best_ns) << row.problem.key();
    EXPECT_FALSE(bundle.binary(bundle.build(served->winner.trial.build_key)->binary_hash).empty());
  }
  EXPECT_EQ(json["rows"][0]["shapes"], shapes);
}

TEST_F(ExportVerb, takes_one_file_at_a_time_and_a_sensible_ratio) {
  EXPECT_TRUE(contains(run_here({"export", "-o", out(), "--bundle", out()}).err, "one file at a time"));
  EXPECT_EQ(run_here({"export", "--trials", "--bundle", out()}).code, 2);
  EXPECT_EQ(run_here({"export", "--cover", "1.05", "-o", out()}).code, 2);
  for (const char* ratio : {"0.9", "much", "1.05x", "nan"}) {
    EXPECT_EQ(run_here({"export", "--cover", ratio}).code, 2) << ratio;
  }
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(ExportVerb, writes_no_header_of_winners_without_binaries) {
  const Outcome outcome = run_here({"export", "--header", (folder / "winners.hpp").string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "has no stored binary")) << outcome.err;
  EXPECT_FALSE(fs::exists(folder / "winners.hpp"));
}

TEST_F(ExportVerb, writes_no_header_of_the_emulators_winners) {
  const std::string emulated = (folder / "emulated.db").string();
  const Outcome swept = run({"sweep", "add", "n=64", "--device", "cpu", "--max-configs", "1", "--cache", emulated});
  ASSERT_EQ(swept.code, 0) << swept.err;
  const Outcome outcome = run({"export", "--header", (folder / "winners.hpp").string(), "--cache", emulated});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "these winners are the emulator's; sweep on a GPU first")) << outcome.err;
  EXPECT_FALSE(fs::exists(folder / "winners.hpp"));
}

TEST_F(ExportVerb, names_what_is_missing) {
  const Outcome outcome = run_here({"export"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "-o winners.db")) << outcome.err;
  const Outcome folderless = run_here({"export", "-o", (folder / "no/such/folder/x.db").string()});
  EXPECT_EQ(folderless.code, 0) << folderless.err;  // made, as for a cache
}

TEST_F(ExportVerb, never_replaces_the_cache_that_it_reads_by_whatever_name) {
  const std::string link = (folder / "link.db").string();
  const std::string twin = (folder / "twin.db").string();
  fs::create_symlink(cache(), link);
  fs::create_hard_link(cache(), twin);
  const std::string before = read_file(cache());
  for (const char* option : {"--output", "--bundle", "--header", "--csv", "--jsonl", "--t4", "--google-benchmark"}) {
    for (const std::string& file : {cache(), link, twin, cache() + "-wal"}) {
      const Outcome outcome = run_here({"export", option, file, "--force"});
      EXPECT_EQ(outcome.code, 2) << option << outcome.err;
      EXPECT_TRUE(contains(outcome.err, "would be lost; name another file")) << outcome.err;
    }
  }
  EXPECT_EQ(run_here({"export", "--trials", "-o", link, "--force"}).code, 2);
  EXPECT_EQ(read_file(cache()), before);
}

TEST_F(ExportVerb, of_a_cache_makes_a_regular_file_alone_and_follows_links) {
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& target : {pipe, folder.string()}) {
    for (const char* option : {"--output", "--bundle"}) {
      const Outcome outcome = run_here({"export", option, target, "--force"});
      EXPECT_EQ(outcome.code, 2);
      EXPECT_TRUE(contains(outcome.err, "makes a regular file")) << outcome.err;
    }
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  const fs::path link = folder / "link.db";
  fs::create_symlink("winners.db", link);
  for (const char* option : {"--output", "--bundle"}) {
    EXPECT_EQ(run_here({"export", option, link.string(), "--force"}).code, 0);
    EXPECT_TRUE(fs::is_symlink(link)) << option;
    EXPECT_TRUE(fs::is_regular_file(out())) << option;
  }
}

}  // namespace
}  // namespace tilewright::testing
