// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/lets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "cache/model/formula/lexer.hpp"

namespace tilewright::reading {
namespace {

// Lets are resolved by recursion, and each may lengthen the others.
constexpr std::size_t kMostLets = 256;

/// The names that `text` mentions, if it is a formula.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  try {
    const SourceText source(text, {});
    for (const Token& token : tokens_of(source)) {
      if (token.kind == Token::Kind::word) words.emplace_back(token.spelling);
    }
  } catch (const DefinitionError&) {
    // Other readers report text that is not a formula.
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

/// Whether a formula of the implementation mentions `name`.
bool is_used(const Node& implementation, const std::string& name) {
  // Keys whose texts are not formulas, though some look like one.
  constexpr std::array<std::string_view, 6> kOther{"name", "source", "requires", "specialize", "entry", "params"};
  const auto in_member = [&](const Member& member) {
    return std::ranges::find(kOther, member.key) == kOther.end() && mentions(member.value, name);
  };
  const auto in_kernel = [&](const Node& kernel) { return std::ranges::any_of(kernel.members, in_member); };
  return std::ranges::any_of(implementation.members, [&](const Member& member) {
    return member.key == "kernel" ? std::ranges::any_of(member.value.items, in_kernel) : in_member(member);
  });
}

Stage stage_of(const Formula& formula) {
  const std::vector<std::string> names = formula.names();
  const bool is_late = std::ranges::any_of(
      kLateNames, [&](std::string_view late) { return std::ranges::find(names, late) != names.end(); });
  return is_late ? Stage::grid : Stage::config;
}

/// Substitutes lets in one another, each after the lets that it uses.
class Resolver {
 public:
  Resolver(const Node& table, Section& section, Vocabulary& vocabulary)
      : table_(table), section_(section), vocabulary_(vocabulary) {}

  void resolve(const Member& member) {
    if (vocabulary_.lets.contains(member.key)) return;
    if (!visiting_.insert(member.key).second) {
      section_.mistakes().add(member.place, fmt::format("let '{}' is defined by itself", member.key));
      vocabulary_.lets.emplace(member.key, kUnreadable);
      return;
    }
    if (member.value.kind == Node::Kind::text) {
      for (const std::string& word : words_of(member.value.text)) {
        if (const Member* used = table_.member(word)) resolve(*used);
      }
    }
    const std::string what = fmt::format("let '{}'", member.key);
    const auto formula = read_formula(member.value, what, Stage::grid, vocabulary_, section_.mistakes());
    vocabulary_.lets.emplace(member.key, formula ? Let{formula->pieces(), stage_of(*formula)} : kUnreadable);
  }

 private:
  /// Stands for a let with a mistake, so that its users can still be checked.
  inline static const Let kUnreadable{{{"0", {}}}, Stage::config};

  const Node& table_;
  Section& section_;
  Vocabulary& vocabulary_;
  std::set<std::string> visiting_;
};

}  // namespace

std::vector<FormulaPiece> inlined(const SourceText& formula, const std::map<std::string, Let>& lets) {
  constexpr std::size_t kLongest = 10'000;
  const std::string& text = formula.text();
  const auto place_at = [&](std::size_t offset) {
    const Diagnostic place = formula.diagnostic(offset, {});
    return SourcePlace{place.file, place.line, place.column};
  };
  std::vector<FormulaPiece> pieces;
  std::size_t copied = 0;
  std::size_t length = text.size();
  for (const Token& token : tokens_of(formula)) {
    const auto let = token.kind == Token::Kind::word ? lets.find(std::string(token.spelling)) : lets.end();
    if (let == lets.end()) continue;
    pieces.push_back({text.substr(copied, token.offset - copied) + "(", place_at(copied)});
    for (const FormulaPiece& piece : let->second.pieces) {
      length += piece.text.size();
      pieces.push_back(piece);
    }
    pieces.back().text += ")";
    copied = token.offset + token.spelling.size();
    if (length > kLongest) {
      formula.fail(token.offset,
                   fmt::format("'{}' makes the formula longer than {} characters", token.spelling, kLongest));
    }
  }
  if (copied < text.size() || pieces.empty()) pieces.push_back({text.substr(copied), place_at(copied)});
  return pieces;
}

void read_lets(const Node& implementation, Section& section, NameRegistry& names, Vocabulary& vocabulary) {
  const Node* table = section.find("let");
  if (table == nullptr) return;
  if (!expect(*table, Node::Kind::table, section.what("let"), section.mistakes())) {
    vocabulary.complete = false;
    return;
  }
  if (table->members.size() > kMostLets) {
    section.mistakes().add(
        table->place, fmt::format("{} has {} lets; {} are allowed", section.title(), table->members.size(), kMostLets));
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
    if (!is_own || is_used(implementation, member.key)) continue;
    section.mistakes().add_aside(member.place,
                                 fmt::format("let '{}' is used nowhere in {}", member.key, section.title()));
  }
}

}  // namespace tilewright::reading
