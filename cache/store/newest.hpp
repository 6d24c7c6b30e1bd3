// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

/// The trial that counts for a config of a problem on a device in a mode, as SQL: defined only here.
namespace tilewright {

/// Orders trials `t` by time of measurement, then by id. As an aggregate it picks the row of the other columns.
inline constexpr std::string_view kNewest = "max((t.measured_at << 31) | t.id)";

/// The ids of the newest trials that count, one per config, among the rows `n` of `trials` for which `where` is true. A
/// pruned trial counts only if the config was not tried with the same driver and compiler, before or after: a
/// measurement outweighs a model.
[[nodiscard]] inline std::string newest_trials(std::string_view where) {
  return fmt::format(
      "SELECT max((n.measured_at << 31) | n.id) & 0x7fffffff FROM trials n WHERE {} AND n.intact AND NOT (n.status = "
      "'pruned' AND "
      "EXISTS (SELECT 1 FROM trials o "
      "WHERE o.problem = n.problem AND o.device = n.device AND o.mode = n.mode AND o.config = n.config "
      "AND o.status <> 'pruned' AND (o.versions = n.versions OR EXISTS (SELECT 1 FROM versions a JOIN versions b "
      "ON a.driver = b.driver AND a.compiler = b.compiler WHERE a.id = o.versions AND b.id = n.versions)))) "
      "GROUP BY n.problem, n.device, n.mode, n.config",
      where);
}

/// In a query over trials or spares `t`: true if its config failed somewhere on that device and in that mode, and was
/// not ok there since. A config belongs to one interface: dtypes and attributes do not matter.
inline constexpr std::string_view kFailedSomewhere =
    "EXISTS (SELECT 1 FROM trials f INDEXED BY trials_that_failed WHERE f.device = t.device AND f.mode = t.mode "
    "AND f.config = t.config AND f.status NOT IN ('ok', 'pruned') AND f.intact AND NOT EXISTS (SELECT 1 FROM trials o "
    "WHERE o.problem = f.problem AND o.device = f.device AND o.mode = f.mode AND o.config = f.config "
    "AND o.status = 'ok' AND o.intact AND (o.measured_at, o.id) > (f.measured_at, f.id)))";

}  // namespace tilewright
