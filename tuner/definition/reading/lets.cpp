// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/lets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cache/formula/lexer.hpp"

namespace tilewright::reading {
namespace {

/// The names that a text mentions, if it is a formula.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  try {
    const SourceText source(text, {});
    for (const Token& token : tokens_of(source)) {
      if (token.kind == Token::Kind::word) words.emplace_back(token.spelling);
    }
  } catch (const DefinitionError&) {
    // Other readers report a text that is no formula.
  }
  return words;
}

bool mentions(const Node& node, const std::string& name) {
  if (node.kind == Node::Kind::text) {
    const std::vector<std::string> words = words_of(node.text);
    return std::ranges::find(words, name) != words.end();
  }
  const auto in_item = [&](const Node& item) { return mentions(item, name); };
  const auto in_member = [&](const Member& member) { return mentions(member.value, name); };
  return std::ranges::any_of(node.items, in_item) || std::ranges::any_of(node.members, in_member);
}

/// Puts lets into one another's place, each after those that it uses.
class Resolver {
 public:
  Resolver(const Node& table, Section& section, Vocabulary& vocabulary)
      : table_(table), section_(section), vocabulary_(vocabulary) {}

  void resolve(const Member& member) {
    if (vocabulary_.lets.contains(member.key)) return;
    if (!visiting_.insert(member.key).second) {
      section_.mistakes().add(member.place, fmt::format("let '{}' is defined by itself", member.key));
      vocabulary_.complete = false;
      return;
    }
    if (member.value.kind == Node::Kind::text) {
      for (const std::string& word : words_of(member.value.text)) {
        if (const Member* used = table_.member(word)) resolve(*used);
      }
    }
    const std::string what = fmt::format("let '{}'", member.key);
    if (auto formula = read_formula(member.value, what, Stage::config, vocabulary_, section_.mistakes())) {
      vocabulary_.lets.emplace(member.key, formula->text());
    } else {
      vocabulary_.complete = false;  // what uses it cannot be judged
    }
  }

 private:
  const Node& table_;
  Section& section_;
  Vocabulary& vocabulary_;
  std::set<std::string> visiting_;
};

}  // namespace

std::string inlined(const std::string& text, const std::map<std::string, std::string>& lets) {
  if (lets.empty()) return text;
  std::string result;
  std::size_t copied = 0;
  const SourceText source(text, {});
  for (const Token& token : tokens_of(source)) {
    if (token.kind != Token::Kind::word) continue;
    const auto let = lets.find(std::string(token.spelling));
    if (let == lets.end()) continue;
    result += text.substr(copied, token.offset - copied) + "(" + let->second + ")";
    copied = token.offset + token.spelling.size();
  }
  return result + text.substr(copied);
}

void read_lets(const Node& implementation, Section& section, NameRegistry& names, Vocabulary& vocabulary) {
  const Node* table = section.find("let");
  if (table == nullptr) return;
  if (!expect(*table, Node::Kind::table, section.what("let"), section.mistakes())) {
    vocabulary.complete = false;
    return;
  }
  for (const Member& member : table->members) {
    if (!names.claim(member.key, "let", member.place, section.mistakes())) vocabulary.complete = false;
  }
  Resolver resolver(*table, section, vocabulary);
  for (const Member& member : table->members) resolver.resolve(member);
  for (const Member& member : table->members) {
    const bool is_own = member.place.file == nullptr;
    if (!is_own || mentions(implementation, member.key)) continue;
    section.mistakes().add_aside(member.place, fmt::format("let '{}' is used nowhere in {}", member.key, section.title()));
  }
}

}  // namespace tilewright::reading
