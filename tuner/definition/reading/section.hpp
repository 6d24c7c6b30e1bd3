// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/definition/reading/mistakes.hpp"
#include "tuner/definition/reading/toml_tree.hpp"

/// One table of a definition during reading: returns members by key, reports those that are missing or of another type,
/// and finally the keys that nobody asked for. Refers to the tree and the mistakes, which must outlive it.
namespace tilewright::reading {

class Section {
 public:
  /// `title` names the table in messages: "[op]", "kernel 'softmax_onchip'".
  Section(const Node& table, std::string title, Mistakes& mistakes)
      : table_(table), title_(std::move(title)), mistakes_(mistakes) {}

  /// The value of an optional key, or null.
  [[nodiscard]] const Node* find(std::string_view key);
  /// The value of a required key. If it is absent: null and a mistake.
  [[nodiscard]] const Node* need(std::string_view key);
  /// As above, but a value of another type gives null and a mistake.
  [[nodiscard]] const Node* find(std::string_view key, Node::Kind kind);
  [[nodiscard]] const Node* need(std::string_view key, Node::Kind kind);
  /// The items of a list of texts. For anything else: null and a mistake.
  [[nodiscard]] const std::vector<Node>* find_texts(std::string_view key);
  [[nodiscard]] const std::vector<Node>* need_texts(std::string_view key);

  /// The key's name in messages: "'dims' in [op]".
  [[nodiscard]] std::string what(std::string_view key) const;
  /// Reports each key that was not asked for, with the nearest known key. Call last.
  void finish() const;

  [[nodiscard]] const std::string& title() const noexcept { return title_; }
  [[nodiscard]] Place place() const noexcept { return table_.place; }
  [[nodiscard]] Mistakes& mistakes() const noexcept { return mistakes_; }

 private:
  [[nodiscard]] const Node* typed(const Node* node, std::string_view key, Node::Kind kind) const;
  [[nodiscard]] const std::vector<Node>* texts(const Node* list, std::string_view key) const;

  const Node& table_;
  std::string title_;
  Mistakes& mistakes_;
  std::vector<std::string> asked_;
};

/// Whether `node` has this type; else adds a mistake: "`what` must be a list, and is an integer".
bool expect(const Node& node, Node::Kind kind, const std::string& what, Mistakes& mistakes);

/// A number with or without a fraction. For anything else: nullopt and a mistake.
[[nodiscard]] std::optional<double> number_of(const Node& node, const std::string& what, Mistakes& mistakes);

}  // namespace tilewright::reading
