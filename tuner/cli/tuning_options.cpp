// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/tuning_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <map>

#include "cache/base/error.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/cli/setup.hpp"

namespace tilewright::cli {
namespace {

constexpr std::array kFailures{TrialStatus::compile_failed, TrialStatus::exceeds_limits, TrialStatus::wrong_result,
                               TrialStatus::timed_out, TrialStatus::crashed};

/// --retry: failures that are tried again.
std::set<TrialStatus> retries_of(const Arguments& arguments) {
  std::set<TrialStatus> statuses;
  if (!arguments.has("retry")) return statuses;
  for (const std::string& word : app::split_list(arguments.text("retry"))) {
    for (const TrialStatus status : kFailures) {
      if (word == "all" || word == name(status)) statuses.insert(status);
    }
  }
  return statuses;
}

/// "60s", "500ms", "5m".
std::chrono::nanoseconds read_duration(const std::string& option, const std::string& text) {
  static const std::map<std::string, double> kUnits{{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
  // A year is more than anybody waits and fits into nanoseconds many times.
  constexpr double kMost = 365 * 24 * 3600e9;
  std::size_t read = 0;
  double number = 0;
  try {
    number = std::stod(text, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  const auto unit = kUnits.find(text.substr(read));
  if (read == 0 || unit == kUnits.end() || !(number > 0) || number * unit->second > kMost) {
    throw UsageError(
        fmt::format("--{} takes a time with its unit, such as 60s, 500ms or 5m, and was given '{}'", option, text));
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(number * unit->second));
}

std::vector<std::string> devices_of(const Arguments& arguments) {
  if (!arguments.has("devices")) return {arguments.text("device", "auto")};
  if (arguments.has("device")) throw UsageError("--device and --devices: one of them says where to measure");
  if (arguments.text("devices").empty()) throw UsageError("--devices takes all, or a list such as cuda:0,cuda:1");
  std::vector<std::string> names = app::split_list(arguments.text("devices"));
  if (std::ranges::find(names, "") != names.end()) {
    throw UsageError(
        fmt::format("--devices {}: a name is missing beside a comma; it takes all, or a list such as cuda:0,cuda:1",
                    arguments.text("devices")));
  }
  std::ranges::replace(names, std::string("cuda"), std::string("cuda:0"));
  return names;
}

}  // namespace

app::Work work_of(const Arguments& arguments) {
  app::Work work;
  work.devices = devices_of(arguments);
  work.timeout = std::chrono::seconds(arguments.integer("timeout", 0, 1));
  work.compile_timeout = std::chrono::seconds(arguments.integer("compile-timeout", 120, 1));
  work.jobs = static_cast<int>(std::min<std::int64_t>(arguments.integer("jobs", 0, 1), 1024));
  return work;
}

app::Tuning tuning_of(const Arguments& arguments) {
  app::Tuning tuning;
  tuning.work = work_of(arguments);
  tuning.search.stop.budget = std::chrono::milliseconds(arguments.integer("budget-ms", 60, 1));
  tuning.search.regime = regime_from(arguments.text("regime", "burst")).value();
  tuning.search.strategy = arguments.text("strategy", "race");
  tuning.search.seed = static_cast<std::uint64_t>(arguments.integer("seed", 1, 0));
  tuning.search.max_trials = static_cast<std::size_t>(arguments.integer("max-trials", 0, 1));
  tuning.search.prune = !arguments.has("no-prune");
  tuning.search.again = arguments.has("again");
  tuning.search.retry = retries_of(arguments);
  if (arguments.has("max-configs")) {
    tuning.max_configs = static_cast<std::size_t>(arguments.integer("max-configs", 0, 0));
  }
  tuning.mode = mode_of(arguments).value_or(MeasureMode::cold);
  if (arguments.has("budget")) tuning.budget = read_duration("budget", arguments.text("budget"));
  tuning.ceilings = !arguments.has("no-ceilings");
  tuning.command = arguments.command();
  return tuning;
}

}  // namespace tilewright::cli
