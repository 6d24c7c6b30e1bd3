// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/transfer_table.hpp"

#include <algorithm>

#include "tuner/report/sources.hpp"

namespace tilewright::cli {
namespace {

Source<Transferred> count_source(const char* name, const char* heading, std::size_t Transferred::*member) {
  return {column(name, heading),
          [member](const Transferred& line) { return Cell(static_cast<std::int64_t>(line.*member)); }};
}

}  // namespace

Table transfer_table(std::string title, const std::vector<Transferred>& done, TransferColumns columns) {
  Table table;
  table.title = std::move(title);
  std::vector<Source<Transferred>> sources{{column("op", "op"), [](const Transferred& line) { return Cell(line.op); }}};
  if (columns == TransferColumns::exported) {
    sources.push_back(count_source("problems", "problems", &Transferred::added));
  } else {
    sources.push_back(count_source("added", "new", &Transferred::added));
    sources.push_back(count_source("replaced", "replaced", &Transferred::replaced));
    sources.push_back(count_source("kept", "kept", &Transferred::kept));
    sources.push_back(count_source("same", "same", &Transferred::same));
    if (std::any_of(done.begin(), done.end(), [](const Transferred& line) { return line.kept > 0; })) {
      table.notes.emplace_back("Kept: the cache's own winners have the better evidence.");
    }
  }
  sources.push_back({common_column("device", "device"), [](const Transferred& line) { return Cell(line.device); }});
  fill(table, sources, done);
  return table;
}

}  // namespace tilewright::cli
