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

/// Shared by requests that tune: a sweep, misses, stale winners, the steps of a fused op.
namespace tilewright::app {

struct Tuning {
  Work work;
  /// Its `max_configs` is set by the other.
  SearchOptions search;
  /// The most configs of a problem; 0: all. Nothing: usual_max_configs().
  std::optional<std::size_t> max_configs;
  MeasureMode mode = MeasureMode::cold;
  /// The budget of everything; 0: no bound.
  std::chrono::nanoseconds budget{0};
  bool ceilings = true;
  /// The command that was asked, for the sweep's row.
  std::string command;
};

/// The names of all, as SearchOptions takes them.
[[nodiscard]] const std::vector<std::string>& strategies();

/// The emulator is there to try the whole road, not to rank a thousand configs: each costs a run of the host's
/// compiler.
[[nodiscard]] std::size_t usual_max_configs(bool emulator);

/// The place of a sweep: the parts that measure and compile.
struct SweepPlace {
  std::unique_ptr<DevicePool> devices;
  std::unique_ptr<Compiler> compiler;
  bool emulator = false;
};
/// Opens it, notes what is wrong with devices, and completes `request`, which it must outlive: all but the definition
/// and the problems. Nothing when cancelled, as the listener hears. Throws CacheError where others may write the cache.
[[nodiscard]] std::optional<SweepPlace> open_sweep(const Place& place, const Tuning& tuning, SweepRequest& request,
                                                   Listener& listener);
/// run_sweep(), cancelled by the listener, which hears of its end. `cache` as Listener::sweep_done() takes it.
[[nodiscard]] SweepSummary run_told(const SweepRequest& request, Catalogue& catalogue, DevicePool& devices,
                                    Store& store, Listener& listener, const std::filesystem::path& cache);
/// The fields that do not depend on the device.
[[nodiscard]] SweepRequest sweep_request(const Tuning& tuning);

/// Shares the time of a request among its ops: the next ops get the part that their problems are of all that are left.
class SharedBudget {
 public:
  /// `budget` 0: no bound.
  SharedBudget(std::chrono::nanoseconds budget, std::size_t problems) : left_(budget), problems_(problems) {}
  /// 0 where there is no bound, and never else: once all is spent, a moment.
  [[nodiscard]] std::chrono::nanoseconds start(std::size_t problems);
  /// Takes the time since start() off.
  void end();

 private:
  std::chrono::nanoseconds left_;
  std::size_t problems_;
  std::chrono::steady_clock::time_point started_{};
};

/// Throws UsageError for dims whose bytes or operations cannot be counted.
void check_sizes(const OpDefinition& definition, const std::vector<Problem>& problems);
/// "60s", "500ms", "5m", "8h": a positive time of at most a year; nothing for anything else.
[[nodiscard]] std::optional<std::chrono::nanoseconds> duration_from(const std::string& text);
/// Makes each problem of the request consider this config alone. Throws UsageError for one that the op does not have.
void consider_one(const std::string& config, SweepRequest& request);

/// A line for people; `cache` may be empty.
[[nodiscard]] std::string summary_text(const SweepSummary& summary, const std::string& cache);
/// The same for programs, with times in milliseconds.
[[nodiscard]] std::vector<std::pair<std::string, Cell>> summary_figures(const SweepSummary& summary);
/// Every problem was tuned, on every device, and no base failed.
[[nodiscard]] bool is_whole(const SweepSummary& summary);

}  // namespace tilewright::app
