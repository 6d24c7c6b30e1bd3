// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/fragment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/definition/reading/section.hpp"

namespace tilewright::reading {
namespace {

Member* find(Node& table, const std::string& key) {
  const auto found = std::ranges::find(table.members, key, &Member::key);
  return found == table.members.end() ? nullptr : &*found;
}

/// If the kinds differ, the implementation's value is used, and its reader reports the mistake.
bool both_are(const Node& a, const Node& b, Node::Kind kind) { return a.kind == kind && b.kind == kind; }

void merge_tables(Node& into, const Node& own) {
  for (const Member& member : own.members) {
    if (Member* const there = find(into, member.key)) {
      there->place = member.place;
      there->value = member.value;
    } else {
      into.members.push_back(member);
    }
  }
}

void merge_kernels(Node& into, const Node& own, Mistakes& mistakes) {
  if (into.items.size() != own.items.size()) {
    mistakes.add(own.place, fmt::format("the fragment has {} kernels and the implementation {}: each of the fragment's "
                                        "needs one that names its entry",
                                        into.items.size(), own.items.size()));
    into = own;
    return;
  }
  for (std::size_t i = 0; i < own.items.size(); ++i) {
    into.items[i].place = own.items[i].place;
    if (both_are(into.items[i], own.items[i], Node::Kind::table)) {
      merge_tables(into.items[i], own.items[i]);
    } else {
      into.items[i] = own.items[i];
    }
  }
}

void merge_member(Node& into, const Member& own, Mistakes& mistakes) {
  Member* const there = find(into, own.key);
  if (there == nullptr) {
    into.members.push_back(own);
  } else if (own.key == "constraints" && both_are(there->value, own.value, Node::Kind::list)) {
    there->value.items.insert(there->value.items.end(), own.value.items.begin(), own.value.items.end());
  } else if (own.key == "kernel" && both_are(there->value, own.value, Node::Kind::list)) {
    merge_kernels(there->value, own.value, mistakes);
  } else if ((own.key == "let" || own.key == "space" || own.key == "align" || own.key == "covers") &&
             both_are(there->value, own.value, Node::Kind::table)) {
    merge_tables(there->value, own.value);
  } else if (own.key == "align" && own.value.kind == Node::Kind::table) {
    // The fragment's formula still applies to all tensors that the table does not name.
    const Member others{"*", there->place, there->value};
    there->value = own.value;
    if (find(there->value, "*") == nullptr) there->value.members.push_back(others);
  } else {
    there->value = own.value;
  }
}

}  // namespace

std::optional<Node> extended(const Node& table, Sources& sources, Mistakes& mistakes) {
  const Member* const extends = table.member("extends");
  if (extends == nullptr) return table;
  Node merged = table;
  std::erase_if(merged.members, [](const Member& member) { return member.key == "extends"; });
  if (!expect(extends->value, Node::Kind::text, "'extends'", mistakes)) return std::nullopt;
  const Node* const fragment = sources.fragment(extends->value, mistakes);
  if (fragment == nullptr) return std::nullopt;

  Node result = *fragment;
  result.place = table.place;
  const auto refuse = [&](const char* key, const char* why) {
    const Member* const wrong = fragment->member(key);
    if (wrong == nullptr) return;
    mistakes.add(wrong->place, why);
    std::erase_if(result.members, [&](const Member& member) { return member.key == key; });
  };
  refuse("name", "a fragment has no 'name': that is the implementation's");
  refuse("extends", "a fragment extends no other: there is one level of them");
  for (const Member& member : merged.members) merge_member(result, member, mistakes);
  return result;
}

bool give_params(Node& table, const Member& params) {
  bool is_taken = false;
  Member* const kernels = find(table, "kernel");
  if (kernels == nullptr) return is_taken;
  for (Node& kernel : kernels->value.items) {
    if (kernel.kind != Node::Kind::table || kernel.member(params.key) != nullptr) continue;
    kernel.members.push_back(params);
    is_taken = true;
  }
  return is_taken;
}

}  // namespace tilewright::reading
