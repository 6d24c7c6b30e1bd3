// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cache/store/history.hpp"
#include "cache/store/store.hpp"
#include "tuner/sweep/problem_run.hpp"

/// Forecasts a sweep by the sweep's own rules. Compiles, measures and writes nothing.
namespace tilewright {

/// How much of a problem the cache knows.
enum class CacheState : std::uint8_t {
  fresh,    ///< nothing is left to try
  partial,  ///< some configs are known, and some are left to try
  stale,    ///< a winner without valid trials: the driver, compiler or source differs
  unknown,  ///< nothing
};
[[nodiscard]] std::string_view name(CacheState state) noexcept;

/// The forecast of one problem on one device.
struct Forecast {
  Problem problem;
  CacheState state = CacheState::unknown;
  /// The number of configs in the space, and the number that each rule forbids.
  std::size_t total = 0;
  std::map<std::string, std::size_t> forbidden;
  /// The numbers of legal and of considered configs, and the considered ones that are pruned, by their verdict
  /// (prune/verdict.hpp).
  std::size_t legal = 0;
  std::size_t considered = 0;
  std::map<std::string, std::size_t> pruned;
  std::size_t known = 0;
  /// The most configs to try.
  std::size_t to_try = 0;
  /// Keys of the builds that may be needed; empty if the compiler is unknown.
  std::set<std::string> builds;
};

/// `compiler` is its version; empty if there is none.
[[nodiscard]] Forecast forecast_problem(const SweepSetting& setting, const OpDefinition& definition,
                                        const Problem& problem, const std::string& compiler);

/// The pace of a device's earlier sweeps.
struct Pace {
  /// Per binary, and per config; nullopt if no trial tells.
  std::optional<double> compile_seconds;
  std::optional<double> trial_seconds;
  /// Whether these are the figures of all ops.
  bool of_other_ops = false;
};

/// The paces of a device's earlier sweeps by op, from all trials and builds.
class Paces {
 public:
  Paces(const History& history, const std::string& fingerprint);
  /// The pace of the op, or of all ops if no trial of the op tells.
  [[nodiscard]] Pace of(const std::string& op) const;

 private:
  std::map<std::string, Pace> by_op_;
  Pace all_;
};

/// Seconds for these binaries and configs, compiled by `jobs` while others are tried; nullopt if the pace is unknown.
[[nodiscard]] std::optional<double> seconds_for(const Pace& pace, std::size_t binaries, std::size_t configs, int jobs);

}  // namespace tilewright
