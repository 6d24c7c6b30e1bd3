// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/section.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::reading {

const Node* Section::find(std::string_view key) {
  if (std::ranges::find(asked_, key) == asked_.end()) asked_.emplace_back(key);
  const Member* member = table_.member(key);
  return member == nullptr ? nullptr : &member->value;
}

const Node* Section::need(std::string_view key) {
  const Node* node = find(key);
  if (node == nullptr) mistakes_.add(table_.place, fmt::format("{} has no '{}'", title_, key));
  return node;
}

const Node* Section::find(std::string_view key, Node::Kind kind) { return typed(find(key), key, kind); }
const Node* Section::need(std::string_view key, Node::Kind kind) { return typed(need(key), key, kind); }

const std::vector<Node>* Section::find_texts(std::string_view key) { return texts(find(key, Node::Kind::list), key); }

const std::vector<Node>* Section::need_texts(std::string_view key) { return texts(need(key, Node::Kind::list), key); }

std::string Section::what(std::string_view key) const { return fmt::format("'{}' in {}", key, title_); }

void Section::finish() const {
  for (const Member& member : table_.members) {
    if (std::ranges::find(asked_, member.key) != asked_.end()) continue;
    mistakes_.add_aside(member.place,
                        fmt::format("unknown key '{}' in {}{}", member.key, title_, suggestion(member.key, asked_)));
  }
}

const Node* Section::typed(const Node* node, std::string_view key, Node::Kind kind) const {
  return node != nullptr && expect(*node, kind, what(key), mistakes_) ? node : nullptr;
}

const std::vector<Node>* Section::texts(const Node* list, std::string_view key) const {
  if (list == nullptr) return nullptr;
  bool sound = true;
  for (const Node& item : list->items) {
    sound = expect(item, Node::Kind::text, fmt::format("each of {}", what(key)), mistakes_) && sound;
  }
  return sound ? &list->items : nullptr;
}

bool expect(const Node& node, Node::Kind kind, const std::string& what, Mistakes& mistakes) {
  if (node.kind == kind) return true;
  mistakes.add(node.place, fmt::format("{} must be {}, and is {}", what, name(kind), name(node.kind)));
  return false;
}

std::optional<double> number_of(const Node& node, const std::string& what, Mistakes& mistakes) {
  if (node.kind == Node::Kind::integer) return static_cast<double>(node.integer);
  if (node.kind == Node::Kind::real) return node.real;
  mistakes.add(node.place, fmt::format("{} must be a number, and is {}", what, name(node.kind)));
  return std::nullopt;
}

}  // namespace tilewright::reading
