// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cache/model/formula/checker.hpp"
#include "cache/model/formula/evaluator.hpp"
#include "cache/model/formula/lexer.hpp"
#include "cache/model/formula/parser.hpp"
#include "cache/model/formula/source_text.hpp"
#include "cache/model/formula/syntax.hpp"

namespace tilewright {

struct Formula::Parsed {
  SourceText source;
  std::string canonical;
  Syntax syntax;

  explicit Parsed(SourceText text) : source(std::move(text)) {
    const std::vector<Token> tokens = tokens_of(source);
    canonical = canonical_text(tokens);
    syntax = parse_formula(source, tokens);
  }
};

Formula::Formula(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}

Formula::Formula() : Formula(std::make_shared<const Parsed>(SourceText("0", {}))) {}

Formula Formula::parse(std::string text, SourcePlace place) {
  return Formula(std::make_shared<const Parsed>(SourceText(std::move(text), std::move(place))));
}

Formula Formula::parse(const std::vector<FormulaPiece>& pieces) {
  return Formula(std::make_shared<const Parsed>(SourceText(pieces)));
}

Value Formula::evaluate(const Scope& scope) const { return evaluate_value(parsed_->source, parsed_->syntax, scope); }

std::int64_t Formula::integer(const Scope& scope) const {
  return evaluate_number(parsed_->source, parsed_->syntax, scope);
}

bool Formula::truth(const Scope& scope) const { return integer(scope) != 0; }

const std::string& Formula::text() const noexcept { return parsed_->source.text(); }

std::vector<FormulaPiece> Formula::pieces() const { return parsed_->source.pieces(); }

std::string Formula::canonical() const { return parsed_->canonical; }

const SourcePlace& Formula::place() const noexcept { return parsed_->source.place(); }

std::vector<std::string> Formula::names() const {
  // The parser adds a leaf when it meets it, so name nodes are in order of appearance.
  std::vector<std::string> names;
  for (const Node& node : parsed_->syntax.nodes) {
    if (node.op == NodeKind::name && std::find(names.begin(), names.end(), node.word) == names.end()) {
      names.push_back(node.word);
    }
  }
  return names;
}

std::vector<Diagnostic> Formula::check(std::span<const KnownName> known) const {
  return check_formula(parsed_->source, parsed_->syntax, known);
}

std::string values_in(const Formula& formula, const Scope& scope) {
  std::string text;
  for (const std::string& name : formula.names()) {
    const std::optional<Value> value = scope.find(name);
    if (!value) continue;
    text += text.empty() ? " (" : ", ";
    text += std::visit([&](const auto& known) { return fmt::format("{}={}", name, known); }, *value);
  }
  return text.empty() ? text : text + ")";
}

}  // namespace tilewright
