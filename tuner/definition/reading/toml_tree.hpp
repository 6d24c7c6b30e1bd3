// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// A TOML file as a plain tree of values that remember their place: what the definition loader walks. The parser itself
/// (toml++) stays behind `parse_toml`, and unlike its tables ours keep the order of the file, since the order of a
/// space's parameters means something.
namespace tilewright::reading {

/// Line and column, counted from 1; columns count characters.
struct Place {
  int line = 0;
  int column = 0;
  /// The file, where it is not the definition itself but a fragment (fragment.hpp); else null.
  const std::string* file = nullptr;
};

struct Member;

struct Node {
  enum class Kind : std::uint8_t { text, integer, real, boolean, date, list, table };
  Kind kind = Kind::table;
  Place place;
  /// The place of a text's first character behind the quotes.
  Place content;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<Node> items;
  std::vector<Member> members;

  /// The member of a table called `key`, or null.
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

/// Throws DefinitionError with the one mistake that stops a TOML parser; `file` is for its text.
[[nodiscard]] Node parse_toml(std::string_view text, const std::string& file);

/// The values alone, in one spelling: what stays the same when comments, spacing and the order of keys change. The
/// members of a table called `space` keep their order, which is that of a config's parameters.
[[nodiscard]] std::string canonical_text(const Node& node);

}  // namespace tilewright::reading
