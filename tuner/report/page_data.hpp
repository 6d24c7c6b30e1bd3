// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/store/history.hpp"
#include "tuner/report/block.hpp"
#include "tuner/report/winners_table.hpp"

/// The data of a report's page. A winner's computed values (bandwidth, share of ceiling, bound) are the columns of the
/// winners' table, so that page and tables cannot differ.
namespace tilewright {

/// One op of the cache under the interface in use.
struct PageOp {
  OpInterface interface;
  /// The best of each problem, over all devices and modes.
  std::vector<WinnerLine> winners;
};

struct PageInput {
  /// The page's subject: "All ops" or an op's name.
  std::string title;
  /// The cache's file.
  std::string source;
  std::int64_t made_at = 0;
  std::vector<PageOp> ops;
  History history;
  /// Rates by fingerprint, one for each measured unit.
  std::map<std::string, std::vector<ComputeRate>> rates;
  /// Ceilings by fingerprint.
  std::map<std::string, std::vector<Ceiling>> ceilings;
  /// Whole sentences.
  std::vector<std::string> notes;
};

struct Page {
  /// Small: the choices of the filters, and how much was tried.
  PageJson index;
  /// Each op's data, by name, compressed: OP.winners (with its problems), OP.evidence, OP.trials.
  std::map<std::string, std::string> blocks;
};

[[nodiscard]] Page make_page(const PageInput& input);

}  // namespace tilewright
