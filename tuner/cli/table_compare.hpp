// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/cli/arguments.hpp"
#include "tuner/report/compare_table.hpp"

/// `table --compare A B`: what is on the two sides.
namespace tilewright::cli {

/// What the command line asks for besides the sides.
struct CompareRequest {
  std::string op;
  /// The two sides as typed: a cache's file, a device of the cache, or driver=, compiler= or tilewright= with a
  /// version.
  std::string a;
  std::string b;
  MeasureMode mode = MeasureMode::cold;
  std::function<bool(const Problem&)> wanted;
  /// Null where it is elsewhere: then nothing is known of bytes and operations.
  const OpDefinition* definition = nullptr;
};

/// Takes the two sides out of the options and, where only one was typed behind an option, out of `words`, which are
/// those of the command line; `is_op` knows the names of ops. Throws UsageError when there are not two.
[[nodiscard]] std::pair<std::string, std::string> take_sides(const Arguments& arguments,
                                                             std::vector<std::string>& words,
                                                             const std::function<bool(const std::string&)>& is_op);

/// Problems that one side has, in the order of a table. Throws UsageError, with what there is, for a side that is none
/// of the three or has several devices where one must be named with --device; CacheError for a file that is no cache.
[[nodiscard]] std::vector<CompareLine> compared_lines(const Arguments& arguments, const CompareRequest& request);

}  // namespace tilewright::cli
