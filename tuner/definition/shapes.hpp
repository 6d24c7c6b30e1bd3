// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/definition/definition.hpp"

/// The shape language of the command line and of a definition's grids.
///
/// `rows=1024,4096 cols=256..32768x2`: every combination of the dims' values. A range is geometric with `x` (256,
/// 512, …) or arithmetic with `+` (`256..1024+256`), and need not meet its end; lists and ranges mix
/// (`1,7,256..1024x2`). The op's last dim varies fastest.
namespace tilewright {

/// One dim's values, in the order written, doubles dropped. Throws UsageError naming the dim and the mistake: empty,
/// not a number, zero or negative, overflow, end before start, step that does not grow, more than 100,000 values.
[[nodiscard]] std::vector<std::int64_t> parse_range(std::string_view dim, std::string_view text);

/// All problems of `text` for one spec. Throws UsageError for a dim that is unknown, doubled or missing, and for more
/// than 1,000,000 problems.
[[nodiscard]] std::vector<Problem> parse_shapes(std::string_view text, const OpSpec& spec,
                                                const OpInterface& interface);

/// Zipped lists: a CSV file whose header names the dims (any order), one problem a line; empty lines do not count.
/// Throws UsageError `file:line:`, and for a file that cannot be read or holds no problem.
[[nodiscard]] std::vector<Problem> read_shapes_csv(const std::filesystem::path& file, const OpSpec& spec,
                                                   const OpInterface& interface);

/// The problems of a definition's own grid (`grid`, or `emulator_grid` on the emulator).
[[nodiscard]] std::vector<Problem> default_shapes(const OpDefinition& definition, const OpSpec& spec, bool emulator);

}  // namespace tilewright
