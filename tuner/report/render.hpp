// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tuner/report/table.hpp"

/// The four ways to print a table; `render` (table.hpp) chooses among them.
namespace tilewright {

[[nodiscard]] std::string render_text(const Table& table, std::size_t width, bool colour = false);
[[nodiscard]] std::string render_markdown(const Table& table);
/// `{"title": …, "rows": [{"time_ns": …}, …], "notes": […]}`, and `"summary": {…}` where it has one; cells that are not
/// known are null.
[[nodiscard]] std::string render_json(const Table& table);
/// A cell alone.
[[nodiscard]] nlohmann::ordered_json json_of(const Cell& cell);
/// RFC 4180 with a header line; cells that are not known are empty.
[[nodiscard]] std::string render_csv(const Table& table);

}  // namespace tilewright
