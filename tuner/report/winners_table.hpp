// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/serve/match.hpp"
#include "cache/store/store.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/report/table.hpp"

/// The table of winners: one line a problem with the config served, its time and 95 % interval, the memory traffic it
/// means, its share of the measured ceiling of the same traffic, what bounds it, and its speed-up over the op's base.
namespace tilewright {

/// A winner with what only a definition or another row of the cache can tell.
struct WinnerLine : Roofline {
  Store::WinnerRow row;
  Match match;
};
/// Nothing where what it needs is not known.
[[nodiscard]] std::optional<Bound> bound_of(const WinnerLine& line);

/// Columns `dtype`, attributes and dims are those of the first line's spec: give lines of one op. `title` names what
/// was asked. Says so when times are the emulator's. With `parameters` each parameter of the configs is a column for
/// programs.
[[nodiscard]] Table winners_table(std::string title, const std::vector<WinnerLine>& lines, bool parameters = false);

/// The sentence that stands under every table with times of the emulator.
[[nodiscard]] const std::string& emulator_note();

}  // namespace tilewright
