// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/definition/reading/mistakes.hpp"
#include "tuner/definition/reading/toml_tree.hpp"

/// One table of a definition while it is read: hands out its members by key, says which are missing or of another type,
/// and at the end which keys nobody asked for. Refers to the tree and the mistakes, which outlive it.
namespace tilewright::reading {

class Section {
 public:
  /// `title` stands for the table in messages: "[op]", "kernel 'softmax_onchip'".
  Section(const Node& table, std::string title, Mistakes& mistakes)
      : table_(table), title_(std::move(title)), mistakes_(mistakes) {}

  /// The value of a key that may be left out, or null.
  [[nodiscard]] const Node* find(std::string_view key);
  /// The value of a key that must be there; null, and a mistake, when it is not.
  [[nodiscard]] const Node* need(std::string_view key);
  /// As `find` and `need`, of one type; null, and a mistake, for another.
  [[nodiscard]] const Node* find(std::string_view key, Node::Kind kind);
  [[nodiscard]] const Node* need(std::string_view key, Node::Kind kind);
  /// A list whose items all are texts; with their places. Nothing, and a mistake, otherwise.
  [[nodiscard]] const std::vector<Node>* find_texts(std::string_view key);
  [[nodiscard]] const std::vector<Node>* need_texts(std::string_view key);

  /// "'dims' in [op]", for messages.
  [[nodiscard]] std::string what(std::string_view key) const;
  /// Reports the keys that were never asked for, with the nearest that was. The last call.
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

/// True when `node` has this type; else a mistake at it: "`what` must be a list, and is an integer".
bool expect(const Node& node, Node::Kind kind, const std::string& what, Mistakes& mistakes);

/// A number with or without a fraction; a mistake for anything else.
[[nodiscard]] std::optional<double> number_of(const Node& node, const std::string& what, Mistakes& mistakes);

}  // namespace tilewright::reading
