// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/model/records.hpp"
#include "cache/store/sqlite/statements.hpp"

/// Records to rows and back: one form for each kind of column, and the column lists that queries share. Pure functions.
/// All that is read is checked, since a file can be damaged without SQLite noticing.
namespace tilewright {

/// A stored value that cannot be understood. The store turns it into a CacheError that names the file.
class BadRow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `[["act","gelu"]]`
[[nodiscard]] std::string encode_attributes(const OpSpec& spec);
[[nodiscard]] OpSpec decode_spec(std::string op, std::string_view dtype, std::string_view attributes);

/// `rows=8,cols=100`: the text between the braces of the shape key.
[[nodiscard]] std::string encode_dims(const Problem& problem);
[[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> decode_dims(std::string_view text);
[[nodiscard]] ShapeDims decode_shape(std::string_view dims);

/// `onchip{num_warps=4,vec=8}`
[[nodiscard]] Config decode_config(const std::string& text);

[[nodiscard]] std::string encode_kernels(const std::vector<KernelFacts>& kernels);
[[nodiscard]] std::vector<KernelFacts> decode_kernels(std::string_view json);

[[nodiscard]] std::string encode_facts(const DeviceFacts& facts);
[[nodiscard]] DeviceFacts decode_facts(std::string_view json);
[[nodiscard]] std::string encode_interface(const OpInterface& interface);
[[nodiscard]] OpInterface decode_interface(std::string_view json);
[[nodiscard]] std::string encode_recipe(const ImplementationRecipe& recipe);
[[nodiscard]] ImplementationRecipe decode_recipe(std::string_view json);

/// The rules are a text of their own; the choice counts how often each forbids. `rules` empty: none.
[[nodiscard]] std::string encode_choice(const Selection& choice);
[[nodiscard]] std::string encode_rules(const Selection& choice);
[[nodiscard]] Selection decode_choice(std::string_view json, std::string_view rules);

/// One little-endian float64 per round.
[[nodiscard]] std::vector<std::byte> encode_rounds(std::span<const double> rounds);
[[nodiscard]] std::vector<double> decode_rounds(std::span<const std::byte> blob);

[[nodiscard]] TrialStatus decode_status(std::string_view text);
[[nodiscard]] MeasureMode decode_mode(std::string_view text);
[[nodiscard]] WinnerRole decode_role(std::string_view text);
[[nodiscard]] LookLength decode_look(std::string_view text);

// The columns and joins of a query that decode_trial() reads: t, c, v, g, b are trials, configs, versions, GPUs,
// builds. The query itself checks that the trial is intact.
inline constexpr std::string_view kTrialColumns =
    "t.id, t.status, t.reason, c.text, t.mode, g.uuid, v.driver, v.compiler, v.tilewright, b.key, t.sweep, "
    "t.measured_at, t.median_ns, t.low_ns, t.high_ns, t.min_ns, t.launches_per_round, t.input_sets, t.floor_ns, "
    "t.compared, t.max_absolute, t.max_relative, t.norm_relative, t.sm_clock_mhz, t.memory_clock_mhz, t.temperature_c, "
    "t.power_mw, t.throttle_reasons, t.look, t.began_us, t.set_up_us, t.verify_us, t.measure_us";
inline constexpr int kTrialColumnCount = 33;
inline constexpr std::string_view kTrialJoins =
    "JOIN configs c ON c.id = t.config AND c.intact JOIN versions v ON v.id = t.versions AND v.intact "
    "JOIN gpus g ON g.id = t.gpu AND g.intact LEFT JOIN builds b ON b.id = t.build AND b.intact";
/// Reads the columns above from `first` on; the rounds stay empty.
[[nodiscard]] Trial decode_trial(const Query& row, int first);

// The same for winners (w), read by decode_winner(), followed by the trial's columns.
inline constexpr std::string_view kWinnerColumns =
    "w.role, w.runner_up, w.runner_up_ratio, w.base_ns, w.configs_considered, w.configs_failed, w.strategy, w.choice, "
    "(SELECT r.text FROM rules r WHERE r.id = w.rules AND r.intact)";
inline constexpr int kWinnerColumnCount = 9;
[[nodiscard]] Winner decode_winner(const Query& row, int first);

}  // namespace tilewright
