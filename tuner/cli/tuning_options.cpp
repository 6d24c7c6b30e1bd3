// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/tuning_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "cache/base/error.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/cli/setup.hpp"

namespace tilewright::cli {
namespace {

constexpr std::array kFailures{TrialStatus::compile_failed, TrialStatus::exceeds_limits, TrialStatus::wrong_result,
                               TrialStatus::timed_out, TrialStatus::crashed};

/// A week: waiting for it in milliseconds takes 31 bits.
constexpr std::chrono::seconds kLongest{604'800};

std::chrono::nanoseconds budget_of(const Arguments& arguments) {
  if (!arguments.has("budget")) return std::chrono::nanoseconds(0);
  const auto budget = app::duration_from(arguments.text("budget"));
  if (budget) return *budget;
  throw UsageError(fmt::format("--budget takes a time with its unit, such as 60s, 500ms or 5m, and was given '{}'",
                               arguments.text("budget")));
}

std::vector<std::string> devices_of(const Arguments& arguments) {
  if (!arguments.has("devices")) return {arguments.text("device", "auto")};
  if (arguments.has("device")) throw UsageError("--device and --devices exclude each other: give one");
  if (arguments.text("devices").empty()) throw UsageError("--devices takes all, or a list such as cuda:0,cuda:1");
  std::vector<std::string> names = app::split_list(arguments.text("devices"));
  if (std::ranges::find(names, "") != names.end()) {
    throw UsageError(
        fmt::format("--devices {}: a name is missing beside a comma; it takes all, or a list such as cuda:0,cuda:1",
                    arguments.text("devices")));
  }
  return names;
}

}  // namespace

std::set<TrialStatus> failures_of(const Arguments& arguments, const std::string& option) {
  std::set<TrialStatus> statuses;
  if (!arguments.has(option)) return statuses;
  for (const std::string& word : app::split_list(arguments.text(option))) {
    for (const TrialStatus status : kFailures) {
      if (word == "all" || word == name(status)) statuses.insert(status);
    }
  }
  return statuses;
}

app::Work limits_of(const Arguments& arguments) {
  constexpr std::int64_t kMostJobs = 1024;
  app::Work work;
  work.compile_timeout = std::chrono::seconds(arguments.integer("compile-timeout", 120, 1, kLongest.count()));
  work.jobs = static_cast<int>(arguments.integer("jobs", 0, 1, kMostJobs));
  return work;
}

app::Work work_of(const Arguments& arguments) {
  app::Work work = limits_of(arguments);
  work.devices = devices_of(arguments);
  work.timeout = std::chrono::seconds(arguments.integer("timeout", 0, 1, kLongest.count()));
  return work;
}

app::Tuning tuning_of(const Arguments& arguments) {
  app::Tuning tuning;
  tuning.work = work_of(arguments);
  tuning.search.stop.budget =
      std::chrono::milliseconds(arguments.integer("budget-ms", 60, 1, std::chrono::milliseconds(kLongest).count()));
  tuning.search.regime = regime_from(arguments.text("regime", "burst")).value();
  tuning.search.strategy = arguments.text("strategy", "race");
  tuning.search.seed = static_cast<std::uint64_t>(arguments.integer("seed", 1, 0));
  tuning.search.max_trials = static_cast<std::size_t>(arguments.integer("max-trials", 0, 1));
  tuning.search.prune = !arguments.has("no-prune");
  tuning.search.again = arguments.has("again");
  tuning.search.retry = failures_of(arguments, "retry");
  if (arguments.has("max-configs")) {
    tuning.max_configs = static_cast<std::size_t>(arguments.integer("max-configs", 0, 0));
  }
  tuning.mode = mode_of(arguments).value_or(MeasureMode::cold);
  tuning.budget = budget_of(arguments);
  tuning.ceilings = !arguments.has("no-ceilings");
  tuning.command = arguments.command();
  return tuning;
}

}  // namespace tilewright::cli
