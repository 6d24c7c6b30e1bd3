// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tuner/report/table.hpp"

/// Data for the page of a report, as small as it opens fast: columns in place of rows, texts once, numbers of long
/// columns as bytes. tuner/report/page/data.js reads it back. Pure functions.
namespace tilewright {

using PageJson = nlohmann::ordered_json;

/// RFC 4648, with padding.
[[nodiscard]] std::string base64(std::span<const std::byte> bytes);

/// `{"type": "u8", "data": "AAEC"}`, little-endian, in the narrowest of u8, u16 and u32.
[[nodiscard]] PageJson packed(const std::vector<std::uint32_t>& numbers);
/// The same as f32: seven digits are more than a picture or a hover shows.
[[nodiscard]] PageJson packed(const std::vector<float>& numbers);

/// An array of `{"name", "heading", "unit", …cells}`. Cells that are all equal are `"same"`; texts are `"texts"`, each
/// once, and `"index"`; others are `"values"`. Those not known are null.
[[nodiscard]] PageJson columns_of(const Table& table);

}  // namespace tilewright
