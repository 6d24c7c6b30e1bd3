// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/sweep/problem_run.hpp"

/// A sweep's forecast, with nothing compiled, measured or written: by the very rules by which it would do it.
namespace tilewright {

/// The cache's part of a problem.
enum class CacheState : std::uint8_t {
  fresh,    ///< nothing is left to try
  partial,  ///< some is
  stale,    ///< a winner, all of whose trials are of another driver, compiler, version or source
  unknown,  ///< nothing
};
[[nodiscard]] std::string_view name(CacheState state) noexcept;

/// Of one problem on one device.
struct Forecast {
  Problem problem;
  CacheState state = CacheState::unknown;
  /// Configs of the space, and how many of them each rule forbids.
  std::size_t total = 0;
  std::map<std::string, std::size_t> forbidden;
  /// Legal configs, and of these the ones that are considered; pruned, of those, by what left them out
  /// (prune/verdict.hpp).
  std::size_t legal = 0;
  std::size_t considered = 0;
  std::map<std::string, std::size_t> pruned;
  std::size_t known = 0;
  /// At most.
  std::size_t to_try = 0;
  /// Keys of the builds of what may be tried; empty where the compiler is not known.
  std::set<std::string> builds;
};

/// `compiler`: its version, empty where there is none.
[[nodiscard]] Forecast forecast_problem(const SweepSetting& setting, const OpDefinition& definition,
                                        const Problem& problem, const std::string& compiler);

/// The pace of a device's earlier sweeps, by their trials and builds: of the op, or of all ops where the op has none.
struct Pace {
  /// Of a compiler for one binary, and of the device for one config; nothing: no trial tells.
  std::optional<double> compile_seconds;
  std::optional<double> trial_seconds;
  /// Another op's figures.
  bool of_other_ops = false;
};
[[nodiscard]] Pace pace_of(const Store& store, const std::string& op, const std::string& fingerprint);

/// Seconds that so many binaries and configs take, compiled by `jobs` while others are tried; nothing where the pace
/// does not tell.
[[nodiscard]] std::optional<double> seconds_for(const Pace& pace, std::size_t binaries, std::size_t configs, int jobs);

}  // namespace tilewright
