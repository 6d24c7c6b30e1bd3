// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/trial_devices.hpp"
#include "tuner/compile/compiler.hpp"
#include "tuner/report/table.hpp"
#include "tuner/sweep/sweep.hpp"

/// What sweeps of one op, of misses and of stale winners have in common: from options to what a sweep needs.
namespace tilewright::cli {

/// All but the definition, the problems, and what depends on the device.
[[nodiscard]] SweepRequest sweep_request(const Arguments& arguments);

/// --max-configs.
[[nodiscard]] std::size_t max_configs_of(const Arguments& arguments, bool emulator);

/// --config: of each problem of the request that one alone.
void consider_one(const Arguments& arguments, SweepRequest& request);

/// Where a sweep runs: what measures, and what compiles.
struct SweepPlace {
  std::unique_ptr<DevicePool> devices;
  /// In processes, each of which may use so much memory, and all of which end with an interrupt.
  std::unique_ptr<Compiler> compiler;
  bool emulator = false;
};

/// What compiles for a device, in processes that end with an interrupt: --compile-timeout.
[[nodiscard]] std::unique_ptr<Compiler> open_compiler(const Arguments& arguments, bool emulator);

/// Opens it, tells what there is to tell of the devices, and completes the request by what depends on them. It must
/// outlive the request's use. Nothing when interrupted, which is told.
[[nodiscard]] std::optional<SweepPlace> open_sweep(const Arguments& arguments, SweepRequest& request,
                                                   Progress& progress, Console& console);

/// Refuses dims whose bytes or operations cannot be counted.
void check_sizes(const OpDefinition& definition, const std::vector<Problem>& problems);

/// A line for people.
[[nodiscard]] std::string summary_text(const SweepSummary& summary, const Store& store);
/// The same for programs, with times in milliseconds.
[[nodiscard]] std::vector<std::pair<std::string, Cell>> summary_figures(const SweepSummary& summary);
/// Says it on stderr; where the log is JSON, as the event "sweep_done", too.
void tell_summary(const SweepSummary& summary, const Store& store, Console& console);

}  // namespace tilewright::cli
