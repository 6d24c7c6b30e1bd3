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
/// `rows=1024,4096 cols=256..32768x2` is every combination of the dims' values. A range is geometric with `x` (256,
/// 512, …) or arithmetic with `+` (`256..1024+256`) and need not hit its end. Lists and ranges mix (`1,7,256..1024x2`).
/// The op's last dim varies fastest.
namespace tilewright {

/// One dim's values in the order written, without duplicates. Throws UsageError with the dim and the mistake: an empty
/// text, not a number, zero or negative, overflow, end before start, a step that does not grow, or over 100,000 values.
[[nodiscard]] std::vector<std::int64_t> parse_range(std::string_view dim, std::string_view text);

/// All problems of `text` for one spec. Throws UsageError for an unknown, repeated or missing dim, and for more than
/// 1,000,000 problems.
[[nodiscard]] std::vector<Problem> parse_shapes(std::string_view text, const OpSpec& spec,
                                                const OpInterface& interface);

/// Reads problems from a CSV file: the header names the dims in any order, each further line is one problem, empty
/// lines are skipped. Throws UsageError with `file:line:`, or if the file cannot be read or holds no problem.
[[nodiscard]] std::vector<Problem> read_shapes_csv(const std::filesystem::path& file, const OpSpec& spec,
                                                   const OpInterface& interface);

/// The problems of a definition's `grid`, or of `emulator_grid` on the emulator.
[[nodiscard]] std::vector<Problem> default_shapes(const OpDefinition& definition, const OpSpec& spec, bool emulator);

}  // namespace tilewright
