// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/sweep_dry_run.hpp"

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
#include "cache/base/version.hpp"
#include "tuner/analysis/units.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/sweep_setup.hpp"
#include "tuner/cli/trial_devices.hpp"
#include "tuner/process/temporary_folder.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/sweep/forecast.hpp"

namespace tilewright::cli {
namespace {

constexpr std::size_t kRulesTold = 3;
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

/// A device that would measure, opened or not.
struct Place {
  DeviceFacts facts;
  std::optional<int> driver;
  /// So many of the model share the problems.
  std::size_t chips = 1;
};

/// One problem on one device.
struct Line {
  Forecast forecast;
  std::string device;
  /// Binaries that are in the cache, and that no line before would compile.
  std::size_t in_cache = 0;
  std::size_t to_compile = 0;
  bool binaries_known = false;
  std::optional<double> seconds;
};

/// The cache as it is at this moment; an empty one where there is none yet, of which nothing stays.
class Glance {
 public:
  explicit Glance(const std::filesystem::path& path) : store_(open(path)) {}
  [[nodiscard]] Store& store() { return store_; }

 private:
  Store open(const std::filesystem::path& path) {
    if (std::filesystem::exists(path)) return Store(path, {.access = StoreAccess::copy});
    return Store(empty_.emplace("plan without a cache").path() / "empty.db");
  }

  std::optional<TemporaryFolder> empty_;
  Store store_;
};

/// Tells how far the planning of many problems is.
class PlanProgress {
 public:
  PlanProgress(Console& console, std::size_t problems) : console_(console), problems_(problems) {}
  PlanProgress(const PlanProgress&) = delete;
  PlanProgress& operator=(const PlanProgress&) = delete;
  ~PlanProgress() { console_.clear_live(); }

  void tell(std::size_t planned) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_live = console_.live_possible();
    if (now - told_ < (is_live ? kLiveEvery : kLineEvery)) return;
    told_ = now;
    const std::string line = fmt::format("planned {} of {} problems", planned, problems_);
    is_live ? console_.show_live({line}) : console_.say(line);
  }

 private:
  static constexpr std::chrono::milliseconds kLiveEvery{200};
  static constexpr std::chrono::milliseconds kLineEvery{5000};
  Console& console_;
  std::size_t problems_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

bool is_here(const std::string& name) {
  return name == "auto" || name == "all" || name == "cpu" || name == "cuda" || name.starts_with("cuda:");
}

std::vector<Place> places_of(const Arguments& arguments, const Store& store, Console& console) {
  std::vector<Place> places;
  if (arguments.has("device") && !is_here(arguments.text("device"))) {
    for (const DeviceFacts& facts : choose_devices(store, arguments.text("device"))) places.push_back({facts, {}});
    return places;
  }
  const std::vector<std::string> names = device_names(arguments);
  if (names.front() == "cpu") return {{emulator_facts(), 0, names.size()}};
  const auto devices = open_trial_devices(arguments, [&](const std::string& line) { console.say(line); });
  if (!devices) return places;
  devices->wait_for_all();
  for (const TrialDevice* each : devices->state().open) {
    const auto told = std::find_if(places.begin(), places.end(), [&](const Place& place) {
      return place.facts.fingerprint() == each->facts().fingerprint();
    });
    if (told == places.end()) {
      places.push_back({each->facts(), each->driver_version()});
    } else {
      ++told->chips;
    }
  }
  return places;
}

/// Versions of what would be compiled and measured now. A device that is not here is taken to have the driver, and
/// where there is no compiler here that compiler, which it had at its newest trial.
Versions versions_of(const Arguments& arguments, const Store& store, const Place& place) {
  Versions newest;
  std::int64_t moment = -1;
  for (const Store::Tried& tried : store.tried()) {
    if (tried.key.device_fingerprint != place.facts.fingerprint()) continue;
    for (const Trial& trial : store.trials(tried.key, tried.implementation_hashes, tried.mode)) {
      if (trial.measured_at < moment) continue;
      moment = trial.measured_at;
      newest = trial.versions;
    }
  }
  Versions versions{place.driver.value_or(newest.driver), newest.compiler, version()};
  try {
    versions.compiler = open_compiler(arguments, place.facts.is_cpu())->version();
  } catch (const Error&) {  // NOLINT: then it is as the cache says
  }
  return versions;
}

/// The `most` that count the most; programs are told of all.
std::string counts_text(const std::map<std::string, std::size_t>& counts, std::size_t most) {
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [reason, count] : sorted) {
    if (texts.size() == most) break;
    texts.push_back(fmt::format("{} ({})", reason, count));
  }
  std::string text = fmt::format("{}", fmt::join(texts, "; "));
  if (sorted.size() > texts.size()) text += fmt::format(" and {} rules more", sorted.size() - texts.size());
  return text;
}

std::size_t sum_of(const std::map<std::string, std::size_t>& counts) {
  std::size_t sum = 0;
  for (const auto& [reason, count] : counts) sum += count;
  return sum;
}

Cell count(std::size_t value) { return static_cast<std::int64_t>(value); }

Table lines_table(const std::vector<Line>& lines) {
  Table table;
  table.title = "A sweep would";
  const auto if_known = [](const Line& line, std::size_t value) { return line.binaries_known ? count(value) : Cell(); };
  fill(table,
       std::vector<Source<Line>>{
           {column("problem", "problem"), [](const Line& line) { return Cell(line.forecast.problem.key()); }},
           {column("state", "cache"), [](const Line& line) { return Cell(std::string(name(line.forecast.state))); }},
           {spare_column("space", "space"), [](const Line& line) { return count(line.forecast.total); }},
           {spare_column("forbidden", "forbidden"),
            [](const Line& line) { return count(sum_of(line.forecast.forbidden)); }},
           {spare_column("legal", "legal"), [](const Line& line) { return count(line.forecast.legal); }},
           // Those behind it add up to it.
           {column("considered", "considered"), [](const Line& line) { return count(line.forecast.considered); }},
           {column("pruned", "pruned"), [](const Line& line) { return count(sum_of(line.forecast.pruned)); }},
           {column("known", "known"), [](const Line& line) { return count(line.forecast.known); }},
           {column("to_try", "to try"), [](const Line& line) { return count(line.forecast.to_try); }},
           {spare_column("binaries_in_cache", "binaries here"),
            [&](const Line& line) { return if_known(line, line.in_cache); }},
           {spare_column("binaries_to_compile", "to compile"),
            [&](const Line& line) { return if_known(line, line.to_compile); }},
           {column("time_s", "time", Unit::none, Shown::programs),
            [](const Line& line) { return line.seconds ? Cell(*line.seconds) : Cell(); }},
           {people_column("time", "time"),
            [](const Line& line) { return line.seconds ? Cell(show_duration(*line.seconds)) : Cell(); }},
           {data_column("forbidden_by"),
            [](const Line& line) { return Cell(counts_text(line.forecast.forbidden, kAll)); }},
           {data_column("pruned_by"), [](const Line& line) { return Cell(counts_text(line.forecast.pruned, kAll)); }},
           {common_column("device", "device"), [](const Line& line) { return Cell(line.device); }},
       },
       lines);
  return table;
}

/// How long all of it takes: devices of one model share its problems, and the models are at it side by side. Nothing
/// where it cannot be judged.
std::optional<double> seconds_of(const std::vector<Line>& lines, const std::vector<Place>& places) {
  double longest = 0;
  for (const Place& place : places) {
    double sum = 0;
    for (const Line& line : lines) {
      if (line.device != place.facts.fingerprint()) continue;
      if (!line.seconds) return std::nullopt;
      sum += *line.seconds;
    }
    longest = std::max(longest, sum / static_cast<double>(place.chips));
  }
  return longest;
}

std::string time_note(std::optional<double> seconds, const SweepRequest& request, bool of_other_ops) {
  if (!seconds) return "How long it would take cannot be judged: the cache has no sweep of the device to judge by.";
  std::string note = fmt::format("It would take about {}, judged by the cache's earlier trials{} and builds",
                                 show_duration(*seconds), of_other_ops ? " of other ops" : "");
  const double budget = std::chrono::duration<double>(request.budget).count();
  if (budget > 0 && budget < *seconds) note += fmt::format("; --budget ends it after {}", show_duration(budget));
  return note + ".";
}

void add_notes(Table& table, const std::vector<Line>& lines) {
  std::map<std::string, std::size_t> forbidden;
  std::map<std::string, std::size_t> pruned;
  std::size_t to_try = 0;
  std::size_t to_compile = 0;
  for (const Line& line : lines) {
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
    table.notes.push_back("Pruned by " + counts_text(pruned, kAll) + ": they cannot win; --no-prune tries them.");
  }
}

/// The problems on one device.
class DryRun {
 public:
  DryRun(const SweepRequest& request, Store& store, const Place& place, const Versions& versions)
      : request_(request), store_(store), fingerprint_(place.facts.fingerprint()), compiler_(versions.compiler) {
    setting_.facts = place.facts;
    setting_.store = &store;
    setting_.trial.mode = request.mode;
    setting_.trial.versions = versions;
    setting_.stop = request.stop;
    setting_.max_configs = request.max_configs;
    setting_.only = &request.only;
    setting_.strategy = request.strategy;
    setting_.max_trials = request.max_trials;
    setting_.seed = request.seed;
    setting_.prune = request.prune;
    setting_.again = request.again;
    setting_.retry = request.retry;
    pace_ = pace_of(store, request.definition->interface.op, fingerprint_);
  }

  Line line(const Problem& problem) {
    Line line;
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
    // A strategy that leaves some out does not say before which.
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
  /// Builds of the problems before.
  std::set<std::string> planned_;
};

}  // namespace

ExitCode run_sweep_dry(const Arguments& arguments, Console& console, SweepRequest request,
                       const std::function<std::vector<Problem>(bool emulator)>& problems) {
  const Format format = format_of(arguments);
  Glance glance(cache_path(arguments));
  const std::vector<Place> places = places_of(arguments, glance.store(), console);
  if (places.empty()) return ExitCode::partly;
  std::vector<Line> lines;
  bool of_other_ops = false;
  for (const Place& place : places) {
    const bool emulator = place.facts.is_cpu();
    request.problems = problems(emulator);
    check_sizes(*request.definition, request.problems);
    request.max_configs = max_configs_of(arguments, emulator);
    if (arguments.has("config")) consider_one(arguments, request);
    DryRun run(request, glance.store(), place, versions_of(arguments, glance.store(), place));
    PlanProgress progress(console, request.problems.size());
    std::set<std::string> told;
    std::size_t planned = 0;
    for (const Problem& problem : request.problems) {
      if (told.insert(problem.key()).second) lines.push_back(run.line(problem));
      progress.tell(++planned);
    }
    of_other_ops = of_other_ops || run.of_other_ops();
  }
  Table table = lines_table(lines);
  add_notes(table, lines);
  const std::optional<double> seconds = seconds_of(lines, places);
  table.summary.emplace_back("time_s", seconds ? Cell(*seconds) : Cell());
  table.notes.push_back(time_note(seconds, request, of_other_ops));
  table.notes.emplace_back("Nothing was compiled, measured or written.");
  console.print(table, format);
  return ExitCode::done;
}

}  // namespace tilewright::cli
