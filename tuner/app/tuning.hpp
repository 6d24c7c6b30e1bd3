// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/app/work.hpp"
#include "tuner/report/table.hpp"
#include "tuner/sweep/sweep.hpp"

/// Shared by the requests that tune: sweeps, misses, stale winners, the steps of a fused op.
namespace tilewright::app {

struct Tuning {
  Work work;
  /// Its `max_configs` is ignored in favour of the one below.
  SearchOptions search;
  /// The most configs of a problem; 0: all. nullopt: usual_max_configs().
  std::optional<std::size_t> max_configs;
  MeasureMode mode = MeasureMode::cold;
  /// The budget of the whole request; 0: no bound.
  std::chrono::nanoseconds budget{0};
  bool ceilings = true;
  /// The command line, for the sweep's row.
  std::string command;
};

/// The names of all strategies, as in SearchOptions.
[[nodiscard]] const std::vector<std::string>& strategies();

/// The default of Tuning::max_configs. The emulator gets few: each config costs a run of the host's compiler.
[[nodiscard]] std::size_t usual_max_configs(bool emulator);

/// The devices and the compiler of a sweep.
struct SweepPlace {
  std::unique_ptr<DevicePool> devices;
  std::unique_ptr<Compiler> compiler;
  bool emulator = false;
};
/// Opens them, reports faults of devices, and completes `request`, which they must outlive, except its definition and
/// problems. nullopt if cancelled, with a warning. Throws CacheError if others may write the cache.
[[nodiscard]] std::optional<SweepPlace> open_sweep(const Place& place, const Tuning& tuning, SweepRequest& request,
                                                   Listener& listener);
/// run_sweep(), cancelled by the listener, which is told of its end. `cache` as in Listener::sweep_done().
[[nodiscard]] SweepSummary run_told(const SweepRequest& request, Catalogue& catalogue, DevicePool& devices,
                                    Store& store, Listener& listener, const std::filesystem::path& cache);
/// The fields that do not depend on the device.
[[nodiscard]] SweepRequest sweep_request(const Tuning& tuning);

/// Shares a request's time among its ops: an op gets the share of the time left that it has of the problems left.
class SharedBudget {
 public:
  /// `budget` 0: no bound.
  SharedBudget(std::chrono::nanoseconds budget, std::size_t problems) : left_(budget), problems_(problems) {}
  /// 0 only if there is no bound; once all time is spent, 1 ns.
  [[nodiscard]] std::chrono::nanoseconds start(std::size_t problems);
  /// Subtracts the time since start().
  void end();

 private:
  std::chrono::nanoseconds left_;
  std::size_t problems_;
  std::chrono::steady_clock::time_point started_{};
};

/// Throws UsageError for dims whose bytes or operations cannot be counted.
void check_sizes(const OpDefinition& definition, const std::vector<Problem>& problems);
/// "60s", "500ms", "5m", "8h": a positive time of at most a year; nullopt for any other text.
[[nodiscard]] std::optional<std::chrono::nanoseconds> duration_from(const std::string& text);
/// Makes each problem of the request consider this config alone. Throws UsageError if the op does not have it.
void consider_one(const std::string& config, SweepRequest& request);

/// A line for people; `cache` may be empty.
[[nodiscard]] std::string summary_text(const SweepSummary& summary, const std::string& cache);
/// The same for programs, with times in milliseconds.
[[nodiscard]] std::vector<std::pair<std::string, Cell>> summary_figures(const SweepSummary& summary);
/// Whether all problems were tuned, on all devices, and no base failed.
[[nodiscard]] bool is_whole(const SweepSummary& summary);

}  // namespace tilewright::app
