// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/model/config_id.hpp"
#include "cache/model/device_facts.hpp"
#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"
#include "cache/model/recipe.hpp"

/// The rows of the cache, as values. Times are nanoseconds, sizes bytes, moments seconds since 1970 (UTC).
namespace tilewright {

/// The outcome of a config's trial on a problem. Failures are kept, so that nothing is tried twice; so are configs that
/// were not tried, with the reason.
enum class TrialStatus : std::uint8_t {
  ok,
  compile_failed,
  exceeds_limits,
  wrong_result,
  timed_out,
  crashed,
  pruned,  ///< not tried: a model, or the compiler's facts, say that it cannot win
};
/// True if the config was tried and is not ok.
[[nodiscard]] constexpr bool is_failure(TrialStatus status) noexcept {
  return status != TrialStatus::ok && status != TrialStatus::pruned;
}
[[nodiscard]] std::string_view name(TrialStatus status) noexcept;
[[nodiscard]] std::optional<TrialStatus> trial_status_from(std::string_view name) noexcept;

/// How a time was taken (docs/measuring.md): rotating cold graph, L2-resident graph, single cold launches.
enum class MeasureMode : std::uint8_t { cold, hot, events };
[[nodiscard]] std::string_view name(MeasureMode mode) noexcept;
[[nodiscard]] std::optional<MeasureMode> measure_mode_from(std::string_view name) noexcept;

/// How long a search measured a config.
enum class LookLength : std::uint8_t {
  brief,  ///< a round or two, to see whether more is worthwhile
  whole,  ///< by the stop rule
  final,  ///< by the stop rule, in turns with the other leaders of its problem
};
[[nodiscard]] std::string_view name(LookLength length) noexcept;
[[nodiscard]] std::optional<LookLength> look_length_from(std::string_view name) noexcept;

/// The versions that made a binary or a trial. A winner is stale if its driver or compiler is not the one at hand.
struct Versions {
  /// The CUDA driver's version as the driver API gives it (13000); 0 on the emulator.
  int driver = 0;
  /// "NVRTC 13.0" or "g++ 12.2.0".
  std::string compiler;
  /// Tilewright's version, for information: a changed kernel changes its implementation's hash.
  std::string tilewright;
  friend bool operator==(const Versions&, const Versions&) = default;
};

/// "13.0" of 13000; empty of 0.
[[nodiscard]] std::string driver_text(int driver);

/// True if a time under one is valid under the other.
[[nodiscard]] inline bool same_tools(const Versions& a, const Versions& b) noexcept {
  return a.driver == b.driver && a.compiler == b.compiler;
}

/// The compiler's facts of one kernel of a binary.
struct KernelFacts {
  std::string entry;
  /// The name to load it by.
  std::string symbol;
  int registers = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int local_bytes = 0;
  int static_shared_bytes = 0;
  friend bool operator==(const KernelFacts&, const KernelFacts&) = default;
};

/// One compile, failures included, kept by its key (source, implementation, arch, compiler, options).
struct Build {
  /// 32 hexadecimal digits.
  std::string key;
  bool ok = false;
  /// Content hash of the binary; empty if the compile failed.
  std::string binary_hash;
  std::vector<KernelFacts> kernels;
  /// The compiler's whole output.
  std::string log;
  std::string compiler;
  std::string arch;
  double milliseconds = 0;
  // For a timeline of the sweep that compiled it, if known: the number of the compiler in that sweep, from 0, and its
  // start in microseconds since 1970.
  std::int64_t sweep = 0;
  std::optional<int> worker{};
  std::optional<std::int64_t> began_us{};
};

/// Readings of the device around a trial; absent if NVML gives none.
struct DeviceReadings {
  std::optional<int> sm_clock_mhz;
  std::optional<int> memory_clock_mhz;
  std::optional<int> temperature_c;
  std::optional<int> power_mw;
  /// Bits of nvmlClocksEventReasons seen during the trial.
  std::optional<std::uint64_t> throttle_reasons;
  /// Other processes that compute on the GPU. Not stored: the trial's reason tells their effect.
  std::optional<int> other_processes{};
};

/// The statistics of a measurement (docs/measuring.md).
struct Timing {
  double median_ns = 0;
  /// 95 % interval of the median, from per-round values.
  double low_ns = 0;
  double high_ns = 0;
  double min_ns = 0;
  /// Nanoseconds per launch, one value per round.
  std::vector<double> rounds_ns;
  /// Launches per round, and input sets in rotation.
  int launches_per_round = 0;
  int input_sets = 0;
  /// The time of the same graph with empty kernels: the device's floor.
  double floor_ns = 0;
  // The device's readings during the measurement, and its disturbance in words (empty: none). Stored with the trial.
  DeviceReadings readings{};
  std::string disturbed{};
  /// True within 2× of the floor: the time is the launch's, not the kernel's.
  [[nodiscard]] bool launch_bound() const noexcept { return floor_ns > 0 && median_ns < 2 * floor_ns; }
};

/// The distance of a result from the reference.
struct Accuracy {
  double max_absolute = 0;
  double max_relative = 0;
  /// ‖out − ref‖ / ‖ref‖
  double norm_relative = 0;
};

/// When a device worked for a trial, in microseconds, for a timeline of its sweep. Phases follow without gaps.
struct Phases {
  /// Since 1970.
  std::int64_t began_us = 0;
  /// Making the problem's inputs and reference; 0: they existed.
  std::int64_t set_up_us = 0;
  /// Loading and verifying. A config that hung counts until it was given up.
  std::int64_t verify_us = 0;
  /// Measuring; in a final, of all its configs.
  std::int64_t measure_us = 0;
  friend bool operator==(const Phases&, const Phases&) = default;
};

/// One config measured on one problem on one device.
struct Trial {
  std::int64_t id = 0;
  TrialStatus status = TrialStatus::ok;
  /// The reason in words; with the figures if the config was pruned. If it is ok: the disturbance of its measurement
  /// that could not be avoided; empty if there was none.
  std::string reason;
  Config config;
  MeasureMode mode = MeasureMode::cold;
  LookLength look = LookLength::whole;
  /// All its numbers are finite.
  std::optional<Timing> timing;
  /// May hold NaN and infinity, as a wrong result does.
  std::optional<Accuracy> accuracy;
  DeviceReadings readings;
  /// "GPU-…", empty on the emulator.
  std::string gpu_uuid;
  Versions versions;
  /// The build that it ran; empty if there is none.
  std::string build_key;
  std::int64_t sweep = 0;
  std::int64_t measured_at = 0;
  /// nullopt if the device did nothing, or if the times are unknown.
  std::optional<Phases> phases{};
};

/// The reason for a row in the table of winners.
enum class WinnerRole : std::uint8_t {
  best,     ///< fastest of all; serves exactly this problem
  dynamic,  ///< fastest of those without specialised dims; may serve other shapes
  base,     ///< the op's fallback; serves every shape
};
[[nodiscard]] std::string_view name(WinnerRole role) noexcept;
[[nodiscard]] std::optional<WinnerRole> winner_role_from(std::string_view name) noexcept;

/// The conditions under which the fastest is chosen (docs/measuring.md): `burst`, below the power limit, or
/// `sustained`, after a second of load.
enum class Regime : std::uint8_t { burst, sustained };
[[nodiscard]] std::string_view name(Regime regime) noexcept;
[[nodiscard]] std::optional<Regime> regime_from(std::string_view name) noexcept;

/// A config's time under load.
struct Sustained {
  Config config;
  double median_ns = 0;
  double low_ns = 0;
  double high_ns = 0;
  /// Read right after the measurement; 0 if unknown.
  int sm_clock_mhz = 0;
  int power_mw = 0;
  std::uint64_t throttle_reasons = 0;
  friend bool operator==(const Sustained&, const Sustained&) = default;
};

/// How a winner was chosen among the configs of its problem (docs/tuning.md).
struct Selection {
  /// The regime that ranked the finalists. The trial, its time and its interval are of burst in both.
  Regime regime = Regime::burst;
  /// The finalists' times under load, fastest first; empty if they were not measured.
  std::vector<Sustained> sustained;
  /// Configs timed in turns at the end, the winner included. 0: there was no final.
  int finalists = 0;
  /// Finalists stored without rounds, before schema 7: their times are valid, but the final cannot be judged again.
  int without_rounds = 0;
  /// 95 % interval of the runner-up's time over the winner's, from the rounds of the final; 0: there was no final.
  double margin_low = 0;
  double margin_high = 0;
  /// Configs that cannot be told apart from the fastest, without the winner, fastest first.
  std::vector<Config> tied;
  /// The shape key of the neighbour whose winner broke a tie; empty: the definition's order did.
  std::string tie_broken_by;
  /// Configs that were not measured, or not fully, by reason.
  std::map<std::string, int> pruned;
  /// Points of the space that are no legal configs for the problem on the device and were not considered, by the rule
  /// that forbids them: a constraint of the definition, or a limit of the device.
  std::map<std::string, std::int64_t> forbidden{};
  /// Seconds since 1970; 0: not recorded.
  std::int64_t at = 0;
  /// After a change (`why`) only the leaders were timed again, and the winner is the fastest of them. The fields that
  /// are not of the final are the earlier search's.
  struct Recheck {
    std::int64_t at = 0;
    int leaders = 0;
    std::string why;
    friend bool operator==(const Recheck&, const Recheck&) = default;
  };
  std::optional<Recheck> recheck{};
  friend bool operator==(const Selection&, const Selection&) = default;
};

/// The config served for a problem on a device, with its evidence.
struct Winner {
  WinnerRole role = WinnerRole::best;
  Trial trial;
  /// The next best config and its median over the winner's; nullopt if there was no other.
  std::optional<Config> runner_up;
  std::optional<double> runner_up_ratio;
  /// Median of the base's trial; nullopt if the base failed.
  std::optional<double> base_ns;
  int configs_considered = 0;
  int configs_failed = 0;
  std::string strategy;
  Selection choice;
};

/// Identifies a problem on a device under one interface: the key of trials and winners.
struct ProblemKey {
  Problem problem;
  std::string interface_hash;
  std::string device_fingerprint;
};

/// A winner with its problem, interface, implementation and device.
struct WinnerRow {
  Problem problem;
  std::string interface_hash;
  std::string implementation_hash;
  DeviceFacts device;
  MeasureMode mode = MeasureMode::cold;
  Winner winner;
};

/// A summary of one config on one shape.
struct ConfigSummary {
  ConfigId id;
  /// 0: not timed here; the config is then a spare, or failed.
  double median_ns = 0;
  /// Its role as a winner here; nullopt: it is no winner.
  std::optional<WinnerRole> role;
  /// Its binary is kept although it is no winner.
  bool has_binary = false;
  /// Its binary is kept for untuned shapes nearby.
  bool is_spare = false;
  /// Its newest trial here failed.
  bool has_failed = false;

  [[nodiscard]] bool was_timed() const noexcept { return median_ns > 0; }
};

/// A tuned shape, as predictions for nearby shapes use it.
struct ShapeSummary {
  ShapeDims dims;
  std::vector<ConfigSummary> configs;
};

/// The ceiling of a memory-bound problem: the same bytes, moved as fast as the device could in the same run.
struct Ceiling {
  /// Read plus written.
  std::int64_t bytes = 0;
  /// Bytes read per byte written: 1 for a copy, 2 or 3 for the sum of that many inputs.
  int reads = 1;
  MeasureMode mode = MeasureMode::cold;
  std::optional<double> memcpy_ns{};
  std::optional<double> copy_op_ns{};
  std::string gpu_uuid{};
  std::int64_t measured_at = 0;
  /// The faster of the two; 0 if neither is known.
  [[nodiscard]] double best_ns() const noexcept;
};

/// The unit that all devices have. Tensor cores have one unit per type of operands, such as "tensor_bf16".
inline constexpr std::string_view kFp32 = "fp32";

/// How fast a unit of a device computes multiply-adds without memory access; each counts as two operations.
struct ComputeRate {
  double flops_per_second = 0;
  /// The config that reached it, of the op that measures the unit.
  std::string config{};
  std::string gpu_uuid{};
  std::int64_t measured_at = 0;
  std::string unit{kFp32};
};

/// A shape that applications asked for without getting an exact winner.
struct Miss {
  /// The whole shape key.
  std::string shape_key;
  std::string device_fingerprint;
  /// How often it was asked for.
  std::int64_t count = 1;
  std::int64_t first_at = 0;
  std::int64_t last_at = 0;
  friend bool operator==(const Miss&, const Miss&) = default;
};

/// The part of a definition that launching needs, stored by hash.
struct StoredImplementation {
  std::string hash;
  ImplementationRecipe recipe;
};

}  // namespace tilewright
