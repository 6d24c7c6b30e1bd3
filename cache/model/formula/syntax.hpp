// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// A parsed formula: a tree whose nodes lie in one vector, children before their parent.
namespace tilewright {

enum class NodeKind : std::uint8_t {
  number,    // Node::number
  fraction,  // Node::word; only in questions
  text,      // Node::word
  name,      // Node::word
  size_of,   // of the scope's dtype; for a named type the parser makes a number
  negate,
  logical_not,
  logical_or,
  logical_and,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  ceil_div,
  round_up,
  min,
  max,
  select,
  pow2_ceil,
  log2,
};

/// The spelling in formulas: "+", "and", "ceil_div".
[[nodiscard]] std::string_view spelling(NodeKind op) noexcept;

struct Node {
  NodeKind op = NodeKind::number;
  /// The offset, in bytes, of the token that a mistake is reported at.
  std::size_t offset = 0;
  std::int64_t number = 0;
  std::string word;
  /// Indices into Syntax::nodes.
  std::vector<std::size_t> operands;
  /// Levels of nodes from this one down, itself included.
  std::size_t depth = 1;
};

struct Syntax {
  std::vector<Node> nodes;
  std::size_t root = 0;
};

}  // namespace tilewright
