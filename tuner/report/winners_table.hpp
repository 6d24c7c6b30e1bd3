// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/match.hpp"
#include "cache/store/store.hpp"
#include "tuner/report/table.hpp"

/// The table of winners: one line a problem with the config served, its time and 95 % interval, the memory traffic it
/// means, its share of the measured ceiling of the same traffic, what bounds it, and its speed-up over the op's base.
namespace tilewright {

/// A winner with what only a definition or another row of the cache can tell.
struct WinnerLine {
  Store::WinnerRow row;
  Match match;
  /// By the op's definition; nothing when that is not at hand.
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> flops;
  /// Of the same bytes, read and written in the same ratio, on the same device.
  std::optional<Ceiling> ceiling;
  /// Of the same device.
  std::optional<ComputeRate> rate;
};

/// What a winner's time is mostly made of (docs/measuring.md).
enum class Bound : std::uint8_t {
  launch,   ///< within twice an empty launch's time
  memory,   ///< its intensity is below the ridge point: moving the bytes takes longer than computing
  compute,  ///< above it
};
/// "launch", "memory", "compute".
[[nodiscard]] std::string_view name(Bound bound) noexcept;
/// Operations for each byte; nothing where either is not known.
[[nodiscard]] std::optional<double> intensity_of(const WinnerLine& line);
/// The intensity at which the device's fp32 rate and the ceiling take the same time; nothing where either is not known.
[[nodiscard]] std::optional<double> ridge_of(const WinnerLine& line);
/// Nothing where what it needs is not known.
[[nodiscard]] std::optional<Bound> bound_of(const WinnerLine& line);

/// Columns `dtype`, attributes and dims are those of the first line's spec: give lines of one op. `title` names what
/// was asked. Says so when times are the emulator's.
[[nodiscard]] Table winners_table(std::string title, const std::vector<WinnerLine>& lines);

/// The sentence that stands under every table with times of the emulator.
[[nodiscard]] const std::string& emulator_note();

}  // namespace tilewright
