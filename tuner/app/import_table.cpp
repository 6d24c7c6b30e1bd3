// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/import_table.hpp"

#include <algorithm>

#include "tuner/report/sources.hpp"

namespace tilewright::app {
namespace {

Source<OpCounts> count_source(const char* name, const char* heading, std::size_t OpCounts::*member) {
  return {column(name, heading),
          [member](const OpCounts& line) { return Cell(static_cast<std::int64_t>(line.*member)); }};
}

}  // namespace

Table import_table(std::string title, const std::vector<OpCounts>& done, ImportColumns columns) {
  Table table;
  table.title = std::move(title);
  std::vector<Source<OpCounts>> sources{{column("op", "op"), [](const OpCounts& line) { return Cell(line.op); }}};
  if (columns == ImportColumns::exported) {
    sources.push_back(count_source("problems", "problems", &OpCounts::added));
  } else {
    sources.push_back(count_source("added", "new", &OpCounts::added));
    sources.push_back(count_source("replaced", "replaced", &OpCounts::replaced));
    sources.push_back(count_source("kept", "kept", &OpCounts::kept));
    sources.push_back(count_source("same", "same", &OpCounts::same));
    if (std::any_of(done.begin(), done.end(), [](const OpCounts& line) { return line.kept > 0; })) {
      table.notes.emplace_back("Kept: the cache's own winners have the better evidence.");
    }
  }
  sources.push_back({common_column("device", "device"), [](const OpCounts& line) { return Cell(line.device); }});
  fill(table, sources, done);
  return table;
}

}  // namespace tilewright::app
