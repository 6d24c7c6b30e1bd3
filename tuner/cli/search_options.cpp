// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/search_options.hpp"

#include <fmt/format.h>

#include <exception>
#include <map>

#include "cache/base/error.hpp"

namespace tilewright::cli {

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

void read_search_options(const Arguments& arguments, SweepRequest& request) {
  request.strategy = arguments.text("strategy", "race");
  request.seed = static_cast<std::uint64_t>(arguments.integer("seed", 1, 0));
  request.max_trials = static_cast<std::size_t>(arguments.integer("max-trials", 0, 1));
  request.prune = !arguments.has("no-prune");
  if (arguments.has("budget")) request.budget = read_duration("budget", arguments.text("budget"));
}

}  // namespace tilewright::cli
