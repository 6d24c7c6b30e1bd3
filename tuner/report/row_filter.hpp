// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tuner/report/table.hpp"

/// A condition on the rows of a table: `cols >= 4096 and dtype = bf16`. The language is that of formulas
/// (cache/model/formula), over the table's columns: `=` may stand for `==`, numbers may have fractions, division keeps
/// them, and a text compared with a column of texts needs no quotes. Immutable; any number of threads.
namespace tilewright {

class RowFilter {
 public:
  /// Throws DefinitionError with the column of the mistake and the nearest right name. `what` names the source of the
  /// text, such as "--where".
  [[nodiscard]] static RowFilter parse(const std::string& text, const std::string& what, const Table& table);

  /// Whether a row of that table fulfils the condition. A comparison with an unknown cell is false.
  [[nodiscard]] bool keeps(const std::vector<Cell>& row) const;

 private:
  struct Parsed;
  explicit RowFilter(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace tilewright
