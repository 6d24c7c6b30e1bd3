// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/match.hpp"
#include "cache/store/store.hpp"
#include "tuner/report/table.hpp"

/// The table of winners: one line a problem with the config served, its time and 95 % interval, the memory traffic it
/// means, its share of the measured copy of the same bytes, and its speed-up over the op's base.
namespace tilewright {

/// A winner with what only a definition or another row of the cache can tell.
struct WinnerLine {
  Store::WinnerRow row;
  Match match;
  /// By the op's definition; nothing when that is not at hand.
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> flops;
  /// The copy of the same bytes on the same device.
  std::optional<Ceiling> ceiling;
};

/// Columns `dtype`, attributes and dims are those of the first line's spec: give lines of one op. `title` names what
/// was asked. Says so when times are the emulator's.
[[nodiscard]] Table winners_table(std::string title, const std::vector<WinnerLine>& lines);

/// The sentence that stands under every table with times of the emulator.
[[nodiscard]] const std::string& emulator_note();

}  // namespace tilewright
