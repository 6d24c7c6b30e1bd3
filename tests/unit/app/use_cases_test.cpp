// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/store/miss_file.hpp"
#include "tests/temporary_folder.hpp"
#include "tuner/app/bench.hpp"
#include "tuner/app/campaign.hpp"
#include "tuner/app/doctor.hpp"
#include "tuner/app/dry_run.hpp"
#include "tuner/app/export.hpp"
#include "tuner/app/fusion.hpp"
#include "tuner/app/import.hpp"
#include "tuner/app/list.hpp"
#include "tuner/app/misses.hpp"
#include "tuner/app/prepare.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/app/query.hpp"
#include "tuner/app/regret.hpp"
#include "tuner/app/replay.hpp"
#include "tuner/app/report.hpp"
#include "tuner/app/revalidate.hpp"
#include "tuner/app/show.hpp"
#include "tuner/app/sweep.hpp"
#include "tuner/app/table.hpp"
#include "tuner/app/verify.hpp"
#include "tuner/app/work.hpp"

namespace tilewright::app {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Records the reports.
class Told : public Listener {
 public:
  void problem_started(const Problem&, std::size_t, std::size_t, std::size_t, std::size_t) override { ++started; }
  void trial_done(const Problem&, const Trial&, bool) override {
    if (++trials == cancel_at) is_cancelled = true;
  }
  void problem_done(const Problem&, const std::vector<Winner>& winners) override {
    if (!winners.empty()) ++won;
  }
  void note(const std::string& line) override { lines.push_back(line); }
  void tell(const std::string& line) override { lines.push_back(line); }
  void warn(const std::string& line) override { lines.push_back(line); }
  void planned(std::size_t done, std::size_t) override { last_planned = done; }
  void sweep_done(const SweepSummary&, const std::filesystem::path& cache) override { sweeps.push_back(cache); }
  [[nodiscard]] bool cancelled() const override { return is_cancelled; }

  std::size_t last_planned = 0;
  /// Cancels after this many trials; 0: does not cancel.
  int cancel_at = 0;
  int started = 0, trials = 0, won = 0;
  std::vector<std::string> lines;
  std::vector<std::filesystem::path> sweeps;
  bool is_cancelled = false;
};

/// Two problems of an op, swept once for all tests; each test has a copy of the cache.
class UseCases : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<test::TemporaryFolder>();
    Told told;
    swept_ = sweep(problems(shared_->path() / "cache.db", {{"rows", "2,3"}, {"cols", "33"}}), told);
    EXPECT_EQ(told.started, 2);
    EXPECT_EQ(told.won, 2);
    EXPECT_EQ(told.trials, static_cast<int>(swept_->summary.measured));
    EXPECT_THAT(told.sweeps, ElementsAre(shared_->path() / "cache.db"));
  }
  static void TearDownTestSuite() {
    swept_.reset();
    shared_.reset();
  }

  UseCases() {
    for (const auto& file : std::filesystem::directory_iterator(shared_->path())) {
      std::filesystem::copy(file.path(), folder_.path() / file.path().filename());
    }
  }

  static SweepProblems problems(const std::filesystem::path& cache,
                                std::vector<std::pair<std::string, std::string>> named) {
    SweepProblems request;
    request.place = {cache, {TILEWRIGHT_TEST_OPS}};
    request.tuning = tuning();
    request.grids = {{{"shift", std::move(named)}, {}, {}, {}}};
    return request;
  }
  static Tuning tuning() {
    Tuning tuning;
    tuning.work.devices = {"cpu"};
    tuning.search.stop.budget = std::chrono::milliseconds(5);
    tuning.ceilings = false;
    tuning.command = "a test";
    return tuning;
  }
  [[nodiscard]] Place place() const { return {folder_.path() / "cache.db", {TILEWRIGHT_TEST_OPS}}; }
  [[nodiscard]] static ProblemWords two_rows() { return {"shift", {{"rows", "2"}, {"cols", "33"}}}; }

  static inline std::unique_ptr<test::TemporaryFolder> shared_;
  static inline std::optional<SweepResult> swept_;
  test::TemporaryFolder folder_;
  Told told_;
};

TEST(BudgetOfARequest, is_shared_by_problems_however_long_it_is) {
  using namespace std::chrono_literals;
  SharedBudget budget(8760h, 300);
  EXPECT_EQ(budget.start(150), 4380h);
  EXPECT_EQ(SharedBudget(100ns, 3).start(2), 66ns);
  EXPECT_EQ(SharedBudget(0ns, 3).start(2), 0ns);
}

TEST_F(UseCases, sweep_tunes_every_problem_and_tells_failures_in_its_summary) {
  ASSERT_TRUE(swept_);
  EXPECT_TRUE(is_whole(swept_->summary));
  ASSERT_THAT(swept_->tables, SizeIs(1));
  EXPECT_THAT(swept_->tables[0].rows, SizeIs(2));
  EXPECT_GT(swept_->summary.failed, 0U) << "variants that are wrong";
  EXPECT_THAT(swept_->refusals, IsEmpty());
}

TEST_F(UseCases, a_warm_up_reads_beforehand_what_queries_need) {
  const std::filesystem::path ops = folder_.path() / "ops";
  std::filesystem::copy(TILEWRIGHT_TEST_OPS, ops, std::filesystem::copy_options::recursive);
  const Place place{folder_.path() / "cache.db", {ops}};
  OpenPlace warm(place), cancelled(place);
  warm_up(warm, [] { return false; });
  warm_up(cancelled, [] { return true; });
  std::filesystem::remove_all(ops / "shift");
  EXPECT_NE(warm.definition("shift"), nullptr);
  EXPECT_EQ(cancelled.definition("shift"), nullptr);
}

TEST_F(UseCases, sweep_of_what_is_known_tries_nothing) {
  const auto again = sweep(problems(*place().cache, {{"rows", "2,3"}, {"cols", "33"}}), told_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->summary.measured, 0U);
  EXPECT_EQ(told_.trials, 0);
}

TEST(SharedBudget, gives_each_op_its_part_and_never_an_unbounded_one) {
  SharedBudget budget(std::chrono::seconds(10), 10);
  EXPECT_EQ(budget.start(4), std::chrono::seconds(4));
  SharedBudget spent(std::chrono::nanoseconds(1), 10);
  EXPECT_GT(spent.start(4).count(), 0) << "0 would be no bound";
  spent.end();
  EXPECT_GT(spent.start(6).count(), 0);
  SharedBudget none(std::chrono::nanoseconds(0), 10);
  EXPECT_EQ(none.start(4).count(), 0);
}

TEST_F(UseCases, sweep_refuses_names_that_the_op_does_not_have) {
  EXPECT_THROW((void)sweep(problems(*place().cache, {{"rows", "2"}, {"colz", "33"}}), told_), UsageError);
}

TEST_F(UseCases, sweep_that_is_cancelled_first_measures_nothing_and_says_so) {
  told_.is_cancelled = true;
  EXPECT_FALSE(sweep(problems(*place().cache, {{"rows", "5"}, {"cols", "33"}}), told_));
  EXPECT_THAT(told_.lines, Contains(HasSubstr("Interrupted before anything was measured")));
}

TEST_F(UseCases, sweep_takes_several_ops_and_each_has_a_table) {
  SweepProblems request = problems(*place().cache, {{"rows", "2"}, {"cols", "33"}});
  request.grids.push_back({{"picky", {}}, {}, {}, {}});
  const auto swept = sweep(request, told_);
  ASSERT_TRUE(swept);
  EXPECT_THAT(swept->tables, SizeIs(2));
  EXPECT_THAT(told_.sweeps, SizeIs(2));
}

TEST_F(UseCases, campaign_is_read_whole_or_refused_with_every_mistake) {
  const std::filesystem::path file = folder_.path() / "night.toml";
  std::ofstream(file) << "[campaign]\ndevices = ['cpu']\nbudget = '5m'\n[[sweep]]\nop = 'shift'\ndtype = ['f32', "
                         "'bf16']\nattributes = { act = 'relu' }\nshapes = ['rows=2,3 cols=33']\n";
  const Campaign campaign = read_campaign(file);
  EXPECT_EQ(campaign.name, "night");
  EXPECT_THAT(campaign.devices, ElementsAre("cpu"));
  EXPECT_EQ(campaign.budget, std::chrono::minutes(5));
  Catalogue catalogue = open_catalogue(place());
  const auto ops = problems_by_op({place(), tuning(), campaign.grids, ""}, catalogue, true);
  ASSERT_THAT(ops, SizeIs(1));
  EXPECT_THAT(ops[0].problems, SizeIs(4));

  std::ofstream(file) << "[campaign]\nbudget = 'soon'\n[[sweep]]\nopp = 'shift'\nshapes = 'rows=2'\n";
  try {
    (void)read_campaign(file);
    FAIL() << "it has three mistakes";
  } catch (const DefinitionError& mistakes) {
    EXPECT_THAT(mistakes.what(), AllOf(HasSubstr("night.toml:2"), HasSubstr("'opp'"), HasSubstr("'shapes'")));
  }
  EXPECT_THROW((void)read_campaign(folder_.path()), UsageError);
}

TEST_F(UseCases, campaign_that_was_cut_short_goes_on_where_it_stopped) {
  const SweepProblems request = problems(*place().cache, {{"rows", "6,7"}, {"cols", "33"}});
  told_.cancel_at = 2;
  const auto cut = sweep(request, told_);
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->summary.interrupted);
  Told again;
  const auto rest = sweep(request, again);
  ASSERT_TRUE(rest);
  EXPECT_TRUE(is_whole(rest->summary));
  EXPECT_GE(rest->summary.reused, cut->summary.measured);
  EXPECT_EQ(again.won, 2);
}

TEST_F(UseCases, campaigns_of_the_examples_name_what_the_ops_have) {
  Catalogue catalogue = open_catalogue({});
  for (const char* const name : {"new-gpu.toml", "transformer-7b.toml", "transformer-70b.toml"}) {
    const Campaign campaign = read_campaign(std::filesystem::path(TILEWRIGHT_TEST_CAMPAIGNS) / name);
    EXPECT_GT(problems_by_op({{}, {}, campaign.grids, ""}, catalogue, false).size(), 4U) << name;
  }
}

TEST_F(UseCases, forecast_tells_what_a_sweep_would_try_and_writes_nothing) {
  const auto known = forecast(problems(*place().cache, {{"rows", "2"}, {"cols", "33"}}), told_);
  ASSERT_TRUE(known);
  EXPECT_THAT(known->rows, SizeIs(1));
  EXPECT_THAT(known->notes, Contains(HasSubstr("0 configs to try")));
  const std::filesystem::path none = folder_.path() / "none.db";
  const auto unknown = forecast(problems(none, {{"rows", "7"}, {"cols", "33"}}), told_);
  ASSERT_TRUE(unknown);
  EXPECT_EQ(told_.last_planned, 1U);
  EXPECT_THAT(unknown->notes, Contains(Not(HasSubstr("0 configs to try"))));
  EXPECT_FALSE(std::filesystem::exists(none));
}

TEST_F(UseCases, query_serves_what_is_tuned_exactly_and_tells_how_to_tune_the_rest) {
  const QueryResult exact = query({place(), two_rows(), ""});
  EXPECT_TRUE(exact.is_served());
  ASSERT_THAT(exact.lines, SizeIs(1));
  EXPECT_EQ(exact.lines[0].served.match.fit, Fit::exact);
  EXPECT_THAT(table_of(exact, place()).advice, IsEmpty());
  EXPECT_THROW((void)query({place(), {"shift", {{"rows", "2"}}}, ""}), UsageError) << "a dim is missing";
  EXPECT_THROW((void)query({{folder_.path() / "none.db", {}}, two_rows(), ""}), CacheError);
}

TEST_F(UseCases, query_of_an_open_place_follows_what_others_measure_of_the_device) {
  OpenPlace open(place());
  EXPECT_FALSE(query(open, two_rows(), "").lines.at(0).roofline.rate);
  Store(*place().cache).put_compute_rate("cpu", {.flops_per_second = 1e9});
  EXPECT_TRUE(query(open, two_rows(), "").lines.at(0).roofline.rate);
}

TEST_F(UseCases, table_has_winners_all_configs_effects_and_two_sides) {
  TableRequest request;
  request.place = place();
  request.problems = {"shift", {}};
  EXPECT_THAT(table(request).rows, SizeIs(2));
  request.view = View::configs;
  EXPECT_GT(table(request).rows.size(), 4U);
  request.query.top = 1;
  EXPECT_THAT(table(request).rows, SizeIs(1));
  request.query = {};
  request.view = View::effects;
  request.parameter = "width";
  EXPECT_THAT(table(request).rows, Not(IsEmpty()));
  request.parameter = "widht";
  EXPECT_THROW((void)table(request), UsageError);
  request.view = View::comparison;
  request.a = request.b = place().cache->string();
  EXPECT_THAT(table(request).rows, SizeIs(2));
}

TEST_F(UseCases, show_has_the_source_of_a_config_the_evidence_of_a_winner_and_an_op) {
  ConfigRequest config{place(), two_rows(), "rowwise{variant=0,width=32}", "cpu", false};
  const ShownConfig source = show_config(config);
  EXPECT_THAT(source.source, HasSubstr("struct Config"));
  EXPECT_FALSE(source.result.ok) << "it was not compiled";
  config.compiles = true;
  const ShownConfig compiled = show_config(config);
  EXPECT_TRUE(compiled.result.ok) << compiled.result.log;
  EXPECT_THAT(table_of(compiled, place()).rows, SizeIs(1));
  config.config = "rowwise{variant=9,width=32}";
  EXPECT_THROW((void)show_config(config), UsageError);

  const Evidence evidence = show_winner({place(), two_rows(), ""});
  EXPECT_THAT(evidence.texts, ElementsAre(HasSubstr("is served by rowwise")));
  EXPECT_THAT(evidence.records.rows, SizeIs(1));
  EXPECT_THAT(show_op("shift", place()).arguments.rows, SizeIs(2));
}

TEST_F(UseCases, lists_have_ops_and_devices) {
  const ListedOps ops = list_ops(place());
  EXPECT_THAT(ops.left_out, IsEmpty());
  EXPECT_GT(ops.table.rows.size(), 2U) << "those of the folder beside the built-in ones";
  EXPECT_THAT(list_devices(place()).rows, SizeIs(1));
}

TEST_F(UseCases, report_is_one_page_of_what_is_there) {
  const Report page = report({place(), "shift", ""});
  EXPECT_THAT(report_page(page.page), StartsWith("<!"));
  EXPECT_EQ(page.problems_served, 2U);
  EXPECT_THROW((void)report({place(), "softmax", ""}), UsageError);
}

TEST_F(UseCases, export_and_import_bring_winners_from_one_cache_to_another) {
  const ExportRequest request{place(), {}, "", {}, {}};
  const std::filesystem::path file = folder_.path() / "winners.db";
  const auto nowhere = [](std::string_view) { FAIL() << "a cache is no text"; };
  EXPECT_THAT(export_cache(request, file, false).lines, SizeIs(1));
  const std::filesystem::path bundle = folder_.path() / "winners.bundle";
  EXPECT_THAT(export_rows(request, RowsForm::bundle, bundle, nowhere).lines, SizeIs(1));
  EXPECT_GT(std::filesystem::file_size(bundle), 0U);
  std::string csv;
  (void)export_text(request, TextForm::csv, [&](std::string_view text) { csv += text; });
  EXPECT_THAT(csv, HasSubstr("rowwise"));
  EXPECT_THAT(cover(request, 1.5, std::nullopt, {}, nowhere).rows, Not(IsEmpty()));

  const Place other{folder_.path() / "other.db", {TILEWRIGHT_TEST_OPS}};
  const ImportResult imported = import_files({other, {file}});
  EXPECT_THAT(imported.table.rows, SizeIs(1));
  EXPECT_THAT(imported.conflicts, IsEmpty());
  EXPECT_TRUE(query({other, two_rows(), ""}).is_served());
  EXPECT_THROW((void)import_files({other, {folder_.path() / "none.db"}}), UsageError);
}

TEST_F(UseCases, verify_tells_right_from_wrong) {
  VerifyRequest request{place(), tuning().work, two_rows(), MeasureMode::cold, {}, {}};
  const auto winner = verify(request, told_);
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->wrong, 0U);
  request.configs = {"rowwise{variant=1,width=64}"};
  const auto wrong = verify(request, told_);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->wrong, 1U) << "it forgets the last column";
}

TEST_F(UseCases, bench_times_winner_base_and_what_is_named) {
  const auto run =
      BenchRun::open({place(), tuning().work, two_rows(), MeasureMode::cold, {"rowwise{variant=0,width=64}"}}, told_);
  ASSERT_TRUE(run);
  ASSERT_THAT(run->timed(), SizeIs(3));
  EXPECT_EQ(run->context().at("device"), "cpu");
  const Message answer = run->answer(0, 3);
  ASSERT_TRUE(answer.contains("rounds_ns")) << answer.dump();
  EXPECT_THAT(run->failures(), IsEmpty());
}

TEST_F(UseCases, misses_are_tuned_and_forgotten) {
  const std::filesystem::path file = folder_.path() / "misses";
  ::setenv("TILEWRIGHT_MISSES", file.c_str(), 1);
  EXPECT_FALSE(sweep_misses({place(), tuning(), ""}, told_).table);
  ASSERT_TRUE(MissFile(file).append(std::vector{Miss{"shift[dtype=f32,act=none]{rows=4,cols=33}", "cpu", 3, 1, 1}}));
  EXPECT_THAT(list_misses().rows, SizeIs(1));
  const MissesResult tuned = sweep_misses({place(), tuning(), ""}, told_);
  EXPECT_TRUE(tuned.whole);
  ASSERT_TRUE(tuned.table);
  EXPECT_THAT(tuned.table->rows, SizeIs(1));
  EXPECT_THAT(list_misses().rows, IsEmpty());
  ::unsetenv("TILEWRIGHT_MISSES");
}

TEST(NamesOp, tells_an_op_from_the_words_behind_it) {
  for (const char* op : {"softmax", "softmax[dtype=bf16]", "softmax{rows=8}"}) EXPECT_TRUE(names_op(op)) << op;
  for (const char* word : {"dtype=bf16", "rows=8", "rows=", "x=[1]"}) EXPECT_FALSE(names_op(word)) << word;
}

TEST(CheckedDevices, are_the_names_with_the_first_gpu_by_its_number) {
  EXPECT_THAT(checked_devices({"cuda", "cuda:1"}), ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(checked_devices({"auto"}), ElementsAre("auto"));
  EXPECT_THAT(checked_devices({"cpu", "cpu"}), ElementsAre("cpu", "cpu"));
  EXPECT_THROW((void)checked_devices({"cuda:0", "cuda"}), UsageError);
  EXPECT_THROW((void)checked_devices({"cuda:-1"}), UsageError);
  EXPECT_THROW((void)checked_devices({""}), UsageError);
}

TEST_F(UseCases, revalidate_tells_that_nothing_is_stale) {
  const RevalidateResult result = revalidate({place(), tuning(), "", {}}, told_);
  EXPECT_FALSE(result.table);
  EXPECT_TRUE(result.whole);
  EXPECT_THAT(told_.lines, Contains(HasSubstr("is stale: nothing to time again")));
}

TEST_F(UseCases, replay_compares_strategies_on_what_was_measured_wholly) {
  ReplayRequest request;
  request.place = place();
  request.recording = *place().cache;
  request.strategies = {"exhaustive", "random"};
  EXPECT_THAT(replay(request).rows, SizeIs(4)) << "two strategies, two problems";
  request.device = "H200";
  EXPECT_THROW((void)replay(request), UsageError);
}

TEST_F(UseCases, prepare_and_regret_say_what_too_few_shapes_teach) {
  const PrepareResult prepared = prepare({place(), tuning().work, {"shift", {}}, "", MeasureMode::cold, 4}, told_);
  EXPECT_THAT(prepared.table.rows, SizeIs(1));
  const auto left_out = regret({place(), {"shift", {}}, {}, "", MeasureMode::cold, {}, true, {}}, told_);
  ASSERT_TRUE(left_out);
  EXPECT_EQ(left_out->shapes, 2U);
  EXPECT_THAT(left_out->table.rows, SizeIs(2));
}

TEST_F(UseCases, fusion_accounts_by_bytes_where_nothing_is_tuned) {
  const FusionResult result =
      fusion({place(), {"add_rmsnorm_silu", {{"rows", "64"}, {"cols", "128"}}}, "", MeasureMode::cold, {}}, told_);
  EXPECT_TRUE(result.whole);
  EXPECT_THAT(result.accounts, SizeIs(1));
  EXPECT_THROW((void)fusion({place(), two_rows(), "", MeasureMode::cold, {}}, told_), Error) << "shift is no fusion";
}

TEST_F(UseCases, doctor_tells_of_the_cache) {
  const DoctorResult found = doctor(place());
  EXPECT_TRUE(found.ready);
  EXPECT_GT(found.table.rows.size(), 3U);
  EXPECT_FALSE(doctor({folder_.path() / "main.cpp", {folder_.path() / "none"}}).ready);
}

}  // namespace
}  // namespace tilewright::app
