// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>

#include "cache/store/bundle/bundle.hpp"
#include "cache/store/store.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class Prepare : public CliTest {
 protected:
  /// Adds a shape of `shift` to the swept cache, with a time for each of 13 widths: the width `cols` is the best, and
  /// one that never is the best is nearly as good everywhere.
  void add_shape(std::int64_t rows, std::int64_t cols) const {
    Store store{std::filesystem::path(cache())};
    const WinnerRow swept = swept_row(store);
    ProblemKey key{swept.problem, swept.interface_hash, swept.device.fingerprint()};
    key.problem.dims = {{"rows", rows}, {"cols", cols}};
    Winner best = swept.winner;
    Store::Batch batch(store);
    for (std::int64_t width = 32; width <= 416; width += 32) {
      Trial trial = swept.winner.trial;
      trial.config = Config::parse("rowwise{variant=0,width=" + std::to_string(width) + "}");
      trial.timing->median_ns = 1000 + (width == 416 ? 5 : static_cast<double>(std::abs(width - cols)));
      trial.sweep = 0;
      trial.id = store.put_trial(key, swept.implementation_hash, trial);
      if (width == 32 || trial.timing->median_ns < best.trial.timing->median_ns) best.trial = trial;
    }
    store.put_winners(key, MeasureMode::cold, {best});
    batch.commit();
  }
  /// Replaces the times of a sweep of gemm by fixed ones, so that the chosen spares do not depend on the machine's
  /// load.
  void replace_times_of_gemm() const {
    Store store{std::filesystem::path(cache())};
    Store::Batch batch(store);
    const std::vector<Store::Tried> all = store.tried("gemm");
    std::map<std::string, int> places;
    for (const Store::Tried& tried : all) {
      for (const Trial& trial : store.trials(tried.key, tried.implementation_hashes, tried.mode)) {
        places[trial.config.text()] = 0;
      }
    }
    for (int next = 0; auto& place : places) place.second = next++;
    for (const Store::Tried& tried : all) {
      std::vector<Winner> winners(2);
      winners[1].role = WinnerRole::base;
      for (const std::string& hash : tried.implementation_hashes) {
        for (Trial trial : store.trials(tried.key, {hash}, tried.mode)) {
          ASSERT_EQ(trial.status, TrialStatus::ok) << trial.config.text() << ": " << trial.reason;
          const std::string text = trial.config.text();
          const bool is_base = text.starts_with("simt");
          trial.timing->median_ns = is_base ? 4000 : 1000 * (text.starts_with("mma") ? 1 : 2) + places.at(text);
          trial.sweep = 0;
          trial.id = store.put_trial(tried.key, hash, trial);
          Winner& winner = winners[is_base ? 1 : 0];
          if (!winner.trial.timing || trial.timing->median_ns < winner.trial.timing->median_ns) winner.trial = trial;
        }
      }
      store.put_winners(tried.key, tried.mode, winners);
    }
    batch.commit();
  }
  /// Replaces the times of a sweep of shift by fixed ones: the base is the best, and all others are nearly as good.
  void make_the_base_of_shift_the_best() const {
    Store store{std::filesystem::path(cache())};
    Store::Batch batch(store);
    for (const WinnerRow& row :
         store.list_winners({.op = "shift", .mode = MeasureMode::cold, .role = WinnerRole::best})) {
      const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
      std::vector<Winner> winners = store.winners(key, row.mode);
      for (Trial trial : store.trials(key, {row.implementation_hash}, row.mode)) {
        if (trial.status != TrialStatus::ok || !trial.timing) continue;
        const bool is_base = trial.config.text() == "rowwise{variant=0,width=32}";
        trial.timing->median_ns = is_base ? 1000 : 1010;
        trial.sweep = 0;
        trial.id = store.put_trial(key, row.implementation_hash, trial);
        for (Winner& winner : winners) {
          if (is_base) winner.trial = trial;
        }
      }
      store.put_winners(key, row.mode, winners);
    }
    batch.commit();
  }
  [[nodiscard]] static WinnerRow swept_row(const Store& store) {
    for (WinnerRow& row : store.list_winners({.op = "shift", .mode = MeasureMode::cold, .role = WinnerRole::best})) {
      if (row.problem.spec.text() == "shift[dtype=f32,act=none]") return std::move(row);
    }
    throw std::runtime_error("shift was not swept");
  }
  /// The number of tuned shapes of the swept spec.
  [[nodiscard]] std::size_t tuned() const {
    const Store store(cache(), {.access = StoreAccess::read});
    const WinnerRow row = swept_row(store);
    return store.tuned_shapes({row.problem, row.interface_hash, row.device.fingerprint()}, row.mode).size();
  }
  [[nodiscard]] std::size_t stored_model_is_of() const {
    const Store store(cache(), {.access = StoreAccess::read});
    const WinnerRow row = swept_row(store);
    const auto learned = store.learned({row.problem, row.interface_hash, row.device.fingerprint()}, row.mode);
    return learned ? learned->model->shapes() : 0;
  }
};

nlohmann::json prepared_row(const nlohmann::json& table, const std::string& spec) {
  for (const nlohmann::json& row : table.at("rows")) {
    if (row.at("spec") == spec) return row;
  }
  return {};
}

TEST_F(Prepare, compiles_spares_once_and_export_takes_them_along) {
  use_swept_cache();
  make_the_base_of_shift_the_best();
  const nlohmann::json first = json_of({"prepare", "shift", "--configs", "2"});
  ASSERT_FALSE(first.at("rows").empty());
  std::int64_t added = 0;
  for (const nlohmann::json& row : first.at("rows")) {
    EXPECT_LE(row.at("added").get<std::int64_t>(), 2);
    EXPECT_EQ(row.at("failed"), 0);
    EXPECT_EQ(row.at("there"), 0);
    added += row.at("added").get<std::int64_t>();
  }
  ASSERT_GT(added, 0);
  std::int64_t there = 0;
  const nlohmann::json second = json_of({"prepare", "shift", "--configs", "2"});
  for (const nlohmann::json& row : second.at("rows")) {
    there += row.at("there").get<std::int64_t>();
  }
  EXPECT_EQ(there, added);

  const std::filesystem::path file = folder / "shift.bundle";
  ASSERT_EQ(run({"export", "--bundle", file.string(), "--cache", cache()}).code, 0);
  const Bundle bundle(file);
  const Store store(cache(), {.access = StoreAccess::read});
  std::int64_t shipped = 0;
  for (const WinnerRow& row : store.list_winners({.op = "shift", .role = WinnerRole::best})) {
    const std::vector<std::int64_t> dims = shape_of(row.problem);
    const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
    for (const ShapeSummary& shape : bundle.known_shapes(key, row.mode, {dims})) {
      shipped += std::ranges::count_if(shape.configs, &ConfigSummary::is_spare);
    }
  }
  EXPECT_EQ(shipped, added);
}

TEST_F(Prepare, compiles_for_the_dtype_and_attributes_that_are_named_alone) {
  use_swept_cache();
  const Outcome swept =
      run_on_ops({"sweep", "shift", "--shapes", "rows=2 cols=33", "--attr", "act=relu", "--device", "cpu", "--quiet"});
  ASSERT_TRUE(swept.code == 0 || swept.code == 3) << swept.err;
  make_the_base_of_shift_the_best();
  const nlohmann::json table = json_of({"prepare", "shift", "dtype=f32", "act=none", "--configs", "2"});
  ASSERT_EQ(table.at("rows").size(), 2U);
  for (const nlohmann::json& row : table.at("rows")) {
    if (row.at("spec") == "shift[dtype=f32,act=none]") {
      EXPECT_GT(row.at("added"), 0);
    } else {
      EXPECT_EQ(row.at("added"), 0) << row.at("spec");
    }
  }
  const Outcome dims = run_on_ops({"prepare", "shift", "rows=8"});
  EXPECT_EQ(dims.code, 2);
  EXPECT_TRUE(contains(dims.err, "leave out rows=8")) << dims.err;
  const Outcome none = run_on_ops({"prepare", "shift", "dtype=bf16"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.err, "no winner of shift with these dtypes and attributes")) << none.err;
  const Outcome unknown = run_on_ops({"prepare", "shift", "actt=none"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "'act'")) << unknown.err;
}

TEST_F(Prepare, learns_of_all_shapes_and_anew_where_there_are_spares) {
  use_swept_cache();
  for (std::int64_t i = 0; i < 24; ++i) add_shape(4 + i % 2 * 7, 32 + 32 * (i / 2));
  const std::string spec = "shift[dtype=f32,act=none]";
  const std::size_t shapes = tuned();
  ASSERT_GE(shapes, 24U);
  const nlohmann::json first = json_of({"prepare", "shift", "--configs", "1"});
  EXPECT_EQ(prepared_row(first, spec).at("learned_from"), shapes);
  for (const nlohmann::json& row : first.at("rows")) {
    if (row.at("spec") == spec) continue;
    EXPECT_EQ(row.at("learned_from"), 0) << "of one shape nothing can be learned: " << row;
  }
  EXPECT_EQ(stored_model_is_of(), shapes);
  EXPECT_EQ(prepared_row(first, spec).at("added"), 1);

  add_shape(50, 320);
  const nlohmann::json second = json_of({"prepare", "shift", "--configs", "1"});
  EXPECT_EQ(prepared_row(second, spec).at("learned_from"), shapes + 1);
  EXPECT_EQ(prepared_row(second, spec).at("there"), 1);
  EXPECT_LE(prepared_row(second, spec).at("added"), 1) << "as many as are asked for";
  EXPECT_EQ(stored_model_is_of(), shapes + 1);

  const Outcome text = run_on_ops({"prepare", "shift", "--configs", "1"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "shapes learned from")) << text.out;
  EXPECT_TRUE(contains(text.out, " " + std::to_string(shapes + 1) + " ")) << text.out;
}

TEST_F(Prepare, spares_of_gemm_are_right_where_they_serve) {
  // Winners that need rows of 16 elements, so that k=36 needs another one.
  const Outcome swept =
      run({"sweep", "gemm", "--shapes", "m=32 n=64 k=64,128", "--dtype", "bf16", "--device", "cpu", "--max-configs",
           "8", "--budget-ms", "10", "--no-ceilings", "--quiet", "--cache", cache()});
  ASSERT_EQ(swept.code, 0) << swept.err;
  ASSERT_NO_FATAL_FAILURE(replace_times_of_gemm());
  ASSERT_EQ(run({"prepare", "gemm", "--configs", "4", "--cache", cache()}).code, 0);
  const std::string shipped = (folder / "shipped.db").string();
  ASSERT_EQ(run({"export", "-o", shipped, "--cache", cache()}).code, 0);

  const Store store(shipped, {.access = StoreAccess::read});
  std::set<std::string> spares;
  for (const WinnerRow& row : store.list_winners({.op = "gemm", .role = WinnerRole::best})) {
    const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
    for (const ShapeSummary& shape : store.known_shapes(key, row.mode, store.tuned_shapes(key, row.mode))) {
      for (const ConfigSummary& each : shape.configs) {
        if (each.is_spare) spares.insert(each.id.config.text());
      }
    }
  }
  EXPECT_GE(spares.size(), 4U) << "as many as asked for, and those for shapes at which they are poor";
  EXPECT_LE(spares.size(), 2 * 4U) << "of which there are no more";
  const std::vector<std::string> asked{"gemm",     "m=40", "n=64",    "k=36", "dtype=bf16",
                                       "--device", "cpu",  "--cache", shipped};
  std::vector<std::string> query = asked, show = asked;
  query.insert(query.begin(), "query");
  show.insert(show.begin(), "show");
  for (const char* const word : {"--format", "json"}) query.emplace_back(word);
  const nlohmann::json answer = nlohmann::json::parse(run(query).out)["rows"][0];
  EXPECT_TRUE(spares.contains(answer["winner"].get<std::string>())) << answer;
  for (const char* const unknown : {"time_ns", "measured_at", "measured_shape_key", "mode", "bytes", "flops",
                                    "configs_considered", "configs_failed"}) {
    EXPECT_TRUE(answer[unknown].is_null()) << unknown << " of what nobody timed: " << answer;
  }
  const Outcome told = run(show);
  EXPECT_TRUE(contains(told.out, "nobody has timed the served config")) << told.out << told.err;
  EXPECT_FALSE(contains(told.out, "1970")) << told.out;
  const Outcome measured =
      run({"regret", "gemm", "m=40,7", "n=64", "k=36", "--measure", "--device", "cpu", "--each", "--max-configs", "2",
           "--budget-ms", "10", "--quiet", "--cache", shipped, "--format", "json"});
  EXPECT_EQ(measured.code, 0) << "wrong or illegal: " << measured.out << measured.err;
  const auto rows = nlohmann::json::parse(measured.out, nullptr, false)["rows"];
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) {
    EXPECT_EQ(row["fit"], "nearest");
    EXPECT_TRUE(spares.contains(row["served"].get<std::string>())) << row;
    EXPECT_GT(row["served_ns"].get<double>(), 0);
  }
}

TEST_F(Prepare, of_an_op_without_winners_is_an_error_that_says_what_helps) {
  use_swept_cache();
  const Outcome none = run_on_ops({"prepare", "picky"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.err, "tilewright sweep picky")) << none.err;
  const Outcome unknown = run_on_ops({"prepare", "shfit"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "'shift'")) << unknown.err;
}

}  // namespace
}  // namespace tilewright::testing
