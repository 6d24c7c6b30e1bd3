// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// A TOML file as a plain tree of values with their places, for the definition loader. `parse_toml` hides the parser
/// (toml++). Unlike its tables, these keep the file's order, because the order of a space's parameters matters.
namespace tilewright::reading {

/// Line and column, counted from 1; columns count characters.
struct Place {
  int line = 0;
  int column = 0;
  /// The fragment's file (fragment.hpp); null for the definition itself.
  const std::string* file = nullptr;
};

struct Member;

struct Node {
  enum class Kind : std::uint8_t { text, integer, real, boolean, date, list, table };
  Kind kind = Kind::table;
  Place place;
  /// The place of a text's first character inside the quotes.
  Place content;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<Node> items;
  std::vector<Member> members;

  /// A table's member with this key, or null.
  [[nodiscard]] const Member* member(std::string_view key) const noexcept;
};

struct Member {
  std::string key;
  /// The place of the key.
  Place place;
  Node value;
};

/// "a text", "an integer", "a list", …
[[nodiscard]] std::string_view name(Node::Kind kind) noexcept;

/// Throws DefinitionError with the mistake that stopped the parser. `file` is the name in its text.
[[nodiscard]] Node parse_toml(std::string_view text, const std::string& file);

/// The values alone in one spelling, independent of comments, spacing and the order of keys. A table called `space`
/// keeps its order, which is the order of a config's parameters.
[[nodiscard]] std::string canonical_text(const Node& node);

}  // namespace tilewright::reading
