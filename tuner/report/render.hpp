// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tuner/report/table.hpp"

/// The four renderers of a table; `render` (table.hpp) chooses among them.
namespace tilewright {

[[nodiscard]] std::string render_text(const Table& table, std::size_t width, bool colour = false);
[[nodiscard]] std::string render_markdown(const Table& table);
/// `{"title": …, "rows": [{"time_ns": …}, …], "notes": […]}`, with `"advice": […]` and `"summary": {…}` if it has them;
/// unknown cells are null.
[[nodiscard]] std::string render_json(const Table& table);
/// One cell as JSON.
[[nodiscard]] nlohmann::ordered_json json_of(const Cell& cell);
/// CSV with a header line, quoted as in RFC 4180, lines ended by LF; unknown cells are empty.
[[nodiscard]] std::string render_csv(const Table& table);

}  // namespace tilewright
