// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/dry_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "cache/base/error.hpp"
#include "cache/base/scratch_folder.hpp"
#include "cache/base/units.hpp"
#include "cache/base/version.hpp"
#include "cache/store/history.hpp"
#include "tuner/app/stored_devices.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/sweep/forecast.hpp"

namespace tilewright::app {
namespace {

constexpr std::size_t kRulesTold = 3;
constexpr std::size_t kAllCounts = std::numeric_limits<std::size_t>::max();

/// A device model that would measure, opened or not.
struct Model {
  DeviceFacts facts;
  std::optional<int> driver;
  /// How many devices of the model share the problems.
  std::size_t chips = 1;
};

/// One problem on one device.
struct DryLine {
  Forecast forecast;
  std::string device;
  /// Binaries in the cache, and binaries that neither the cache nor an earlier line has.
  std::size_t in_cache = 0;
  std::size_t to_compile = 0;
  bool binaries_known = false;
  std::optional<double> seconds;
};

/// The cache as it is at this moment; a temporary empty one if there is none yet.
class Glance {
 public:
  explicit Glance(const std::filesystem::path& path) : store_(open(path)) {}
  [[nodiscard]] Store& store() { return store_; }

 private:
  Store open(const std::filesystem::path& path) {
    if (std::filesystem::exists(path)) return Store(path, {.access = StoreAccess::copy});
    return Store(empty_.emplace("plan without a cache").path() / "empty.db");
  }

  std::optional<ScratchFolder> empty_;
  Store store_;
};

bool is_here(const std::string& name) {
  return name == "auto" || name == "all" || name == "cpu" || name == "cuda" || name.starts_with("cuda:");
}

std::vector<Model> models_of(const Work& work, const Store& store, Listener& listener) {
  std::vector<Model> models;
  if (work.devices.size() == 1 && !is_here(work.devices.front())) {
    for (const DeviceFacts& facts : choose_devices(store, work.devices.front())) models.push_back({facts, {}});
    return models;
  }
  const std::vector<std::string> names = checked_devices(work.devices);
  if (names.front() == "cpu") return {{emulator_facts(), 0, names.size()}};
  const auto devices = open_devices(work, listener);
  if (!devices) return models;
  devices->wait_for_all();
  for (const TrialDevice* each : devices->state().open) {
    const auto told = std::find_if(models.begin(), models.end(), [&](const Model& model) {
      return model.facts.fingerprint() == each->facts().fingerprint();
    });
    if (told == models.end()) {
      models.push_back({each->facts(), each->driver_version()});
    } else {
      ++told->chips;
    }
  }
  return models;
}

/// The versions that would compile and measure now. A device that is not here is assumed to have the driver of its
/// newest trial; without a compiler here, the compiler of that trial is assumed, too.
Versions versions_of(const Work& work, const Listener& listener, const Store& store, const Model& model) {
  const Versions newest = store.newest_versions(model.facts.fingerprint()).value_or(Versions());
  Versions versions{model.driver.value_or(newest.driver), newest.compiler, version()};
  try {
    versions.compiler = open_compiler(work, model.facts.is_cpu(), listener)->version();
  } catch (const Error&) {  // NOLINT: then it is as the cache says
  }
  return versions;
}

/// The `most` reasons with the highest counts.
std::string counts_text(const std::map<std::string, std::size_t>& counts, std::size_t most) {
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [reason, count] : sorted) {
    if (texts.size() == most) break;
    texts.push_back(fmt::format("{} ({})", reason, count));
  }
  std::string text = fmt::format("{}", fmt::join(texts, "; "));
  if (sorted.size() > texts.size()) text += fmt::format(" and {} more rules", sorted.size() - texts.size());
  return text;
}

std::size_t sum_of(const std::map<std::string, std::size_t>& counts) {
  std::size_t sum = 0;
  for (const auto& [reason, count] : counts) sum += count;
  return sum;
}

Cell count(std::size_t value) { return static_cast<std::int64_t>(value); }

Table lines_table(const std::vector<DryLine>& lines) {
  Table table;
  table.title = "A sweep would";
  const auto if_known = [](const DryLine& line, std::size_t value) {
    return line.binaries_known ? count(value) : Cell();
  };
  fill(table,
       std::vector<Source<DryLine>>{
           {column("problem", "problem"), [](const DryLine& line) { return Cell(line.forecast.problem.key()); }},
           {column("state", "cache"), [](const DryLine& line) { return Cell(std::string(name(line.forecast.state))); }},
           {spare_column("space", "space"), [](const DryLine& line) { return count(line.forecast.total); }},
           {spare_column("forbidden", "forbidden"),
            [](const DryLine& line) { return count(sum_of(line.forecast.forbidden)); }},
           {spare_column("legal", "legal"), [](const DryLine& line) { return count(line.forecast.legal); }},
           // The columns behind it add up to it.
           {column("considered", "considered"), [](const DryLine& line) { return count(line.forecast.considered); }},
           {column("pruned", "pruned"), [](const DryLine& line) { return count(sum_of(line.forecast.pruned)); }},
           {column("known", "known"), [](const DryLine& line) { return count(line.forecast.known); }},
           {column("to_try", "to try"), [](const DryLine& line) { return count(line.forecast.to_try); }},
           {spare_column("binaries_in_cache", "binaries here"),
            [&](const DryLine& line) { return if_known(line, line.in_cache); }},
           {spare_column("binaries_to_compile", "to compile"),
            [&](const DryLine& line) { return if_known(line, line.to_compile); }},
           {column("time_s", "time", Unit::none, Shown::programs),
            [](const DryLine& line) { return line.seconds ? Cell(*line.seconds) : Cell(); }},
           {people_column("time", "time"),
            [](const DryLine& line) { return line.seconds ? Cell(show_duration(*line.seconds)) : Cell(); }},
           {data_column("forbidden_by"),
            [](const DryLine& line) { return Cell(counts_text(line.forecast.forbidden, kAllCounts)); }},
           {data_column("pruned_by"),
            [](const DryLine& line) { return Cell(counts_text(line.forecast.pruned, kAllCounts)); }},
           {common_column("device", "device"), [](const DryLine& line) { return Cell(line.device); }},
       },
       lines);
  return table;
}

/// The duration of the sweep: devices of one model share its problems, and the models run side by side. nullopt if it
/// cannot be judged.
std::optional<double> seconds_of(const std::vector<DryLine>& lines, const std::vector<Model>& models) {
  double longest = 0;
  for (const Model& model : models) {
    double sum = 0;
    for (const DryLine& line : lines) {
      if (line.device != model.facts.fingerprint()) continue;
      if (!line.seconds) return std::nullopt;
      sum += *line.seconds;
    }
    longest = std::max(longest, sum / static_cast<double>(model.chips));
  }
  return longest;
}

std::string time_note(std::optional<double> seconds, const SweepRequest& request, bool of_other_ops) {
  if (!seconds) return "The duration is unknown: the cache has no sweep of the device.";
  std::string note = fmt::format("It would take about {}, judged by the cache's earlier trials{} and builds",
                                 show_duration(*seconds), of_other_ops ? " of other ops" : "");
  const double budget = std::chrono::duration<double>(request.budget).count();
  if (budget > 0 && budget < *seconds) note += fmt::format("; --budget ends it after {}", show_duration(budget));
  return note + ".";
}

void add_notes(Table& table, const std::vector<DryLine>& lines) {
  std::map<std::string, std::size_t> forbidden;
  std::map<std::string, std::size_t> pruned;
  std::size_t to_try = 0;
  std::size_t to_compile = 0;
  for (const DryLine& line : lines) {
    for (const auto& [rule, sum] : line.forecast.forbidden) forbidden[rule] += sum;
    for (const auto& [reason, sum] : line.forecast.pruned) pruned[reason] += sum;
    to_try += line.forecast.to_try;
    to_compile += line.to_compile;
  }
  const auto amount = [](std::size_t number, const char* one, const char* many) {
    return fmt::format("{} {}", number, number == 1 ? one : many);
  };
  table.notes.push_back(fmt::format("{}, {} to try, {} to compile, and the references.",
                                    amount(lines.size(), "problem", "problems"), amount(to_try, "config", "configs"),
                                    amount(to_compile, "binary", "binaries")));
  table.summary = {
      {"problems", count(lines.size())}, {"configs_to_try", count(to_try)}, {"binaries_to_compile", count(to_compile)}};
  if (!forbidden.empty()) table.notes.push_back("Forbidden by " + counts_text(forbidden, kRulesTold) + ".");
  if (!pruned.empty()) {
    table.notes.push_back("Pruned by " + counts_text(pruned, kAllCounts) + ": they cannot win; --no-prune tries them.");
  }
}

/// Forecasts the problems of one op on one device model.
class DryRun {
 public:
  DryRun(const SweepRequest& request, Store& store, const Model& model, const Versions& versions, const Paces& paces)
      : request_(request),
        store_(store),
        fingerprint_(model.facts.fingerprint()),
        compiler_(versions.compiler),
        pace_(paces.of(request.definition->interface.op)) {
    static_cast<SearchOptions&>(setting_) = request;
    setting_.facts = model.facts;
    setting_.store = &store;
    setting_.trial.mode = request.mode;
    setting_.trial.versions = versions;
    setting_.only = &request.only;
  }

  DryLine line(const Problem& problem) {
    DryLine line;
    line.forecast = forecast_problem(setting_, *request_.definition, problem, compiler_);
    line.device = fingerprint_;
    line.binaries_known = !compiler_.empty();
    std::size_t missing = 0;
    for (const std::string& key : line.forecast.builds) {
      if (store_.build(key)) {
        ++line.in_cache;
      } else if (planned_.insert(key).second) {
        ++missing;
      }
    }
    // A strategy that skips configs does not tell in advance which.
    line.to_compile = std::min(missing, line.forecast.to_try);
    const int jobs = request_.jobs > 0 ? request_.jobs : static_cast<int>(std::thread::hardware_concurrency());
    line.seconds = seconds_for(pace_, line.to_compile, line.forecast.to_try, jobs);
    return line;
  }

  [[nodiscard]] bool of_other_ops() const { return pace_.of_other_ops; }

 private:
  const SweepRequest& request_;
  Store& store_;
  std::string fingerprint_;
  std::string compiler_;
  SweepSetting setting_;
  Pace pace_;
  /// Builds of the earlier problems.
  std::set<std::string> planned_;
};

}  // namespace

std::optional<Table> forecast(const SweepProblems& asked, Listener& listener) {
  Catalogue catalogue = open_catalogue(asked.place);
  SweepRequest request = sweep_request(asked.tuning);
  static_cast<void>(problems_by_op(asked, catalogue, false));
  Glance glance(cache_path(asked.place));
  const std::vector<Model> models = models_of(asked.tuning.work, glance.store(), listener);
  if (models.empty()) return std::nullopt;
  if (takes_tuned(asked)) {
    std::vector<std::string> fingerprints;
    for (const Model& model : models) fingerprints.push_back(model.facts.fingerprint());
    require_one_model(fingerprints);
  }
  const History history = glance.store().history();
  std::vector<DryLine> lines;
  bool of_other_ops = false;
  const TunedOn tuned{glance.store(), models.front().facts.fingerprint(), request.mode, listener};
  for (const Model& model : models) {
    const bool emulator = model.facts.is_cpu();
    const Versions versions = versions_of(asked.tuning.work, listener, glance.store(), model);
    const Paces paces(history, model.facts.fingerprint());
    for (const OpProblems& op : problems_by_op(asked, catalogue, emulator, &tuned)) {
      request.definition = op.definition;
      request.problems = op.problems;
      request.max_configs = asked.tuning.max_configs.value_or(usual_max_configs(emulator));
      if (!asked.config.empty()) consider_one(asked.config, request);
      DryRun run(request, glance.store(), model, versions, paces);
      std::set<std::string> told;
      std::size_t planned = 0;
      for (const Problem& problem : request.problems) {
        if (told.insert(problem.key()).second) lines.push_back(run.line(problem));
        listener.planned(++planned, request.problems.size());
      }
      of_other_ops = of_other_ops || run.of_other_ops();
    }
  }
  Table table = lines_table(lines);
  add_notes(table, lines);
  const std::optional<double> seconds = seconds_of(lines, models);
  table.summary.emplace_back("time_s", seconds ? Cell(*seconds) : Cell());
  table.notes.push_back(time_note(seconds, request, of_other_ops));
  table.notes.emplace_back("Nothing was compiled, measured or written.");
  return table;
}

}  // namespace tilewright::app
