// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "cache/base/dtype.hpp"

namespace tilewright {
namespace {

constexpr std::size_t kMaxDepth = 200;
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
constexpr int kLoosest = 1;
constexpr int kNot = 3;
constexpr int kComparison = 4;

struct Operator {
  std::string_view spelling;
  NodeKind op;
  int precedence;
};
constexpr std::array<Operator, 14> kOperators{{{"or", NodeKind::logical_or, kLoosest},
                                               {"and", NodeKind::logical_and, 2},
                                               {"==", NodeKind::equal, kComparison},
                                               {"=", NodeKind::equal, kComparison},
                                               {"!=", NodeKind::not_equal, kComparison},
                                               {"<", NodeKind::less, kComparison},
                                               {"<=", NodeKind::less_equal, kComparison},
                                               {">", NodeKind::greater, kComparison},
                                               {">=", NodeKind::greater_equal, kComparison},
                                               {"+", NodeKind::add, 5},
                                               {"-", NodeKind::subtract, 5},
                                               {"*", NodeKind::multiply, 6},
                                               {"/", NodeKind::divide, 6},
                                               {"%", NodeKind::remainder, 6}}};

struct Function {
  std::string_view spelling;
  NodeKind op;
  std::size_t least;
  std::size_t most;
};
constexpr std::array<Function, 7> kFunctions{{{"ceil_div", NodeKind::ceil_div, 2, 2},
                                              {"round_up", NodeKind::round_up, 2, 2},
                                              {"min", NodeKind::min, 1, kAny},
                                              {"max", NodeKind::max, 1, kAny},
                                              {"select", NodeKind::select, 3, 3},
                                              {"pow2_ceil", NodeKind::pow2_ceil, 1, 1},
                                              {"log2", NodeKind::log2, 1, 1}}};
constexpr std::string_view kSizeOf = "sizeof";

const Operator* operator_at(const Token& token) noexcept {
  if (token.kind != Token::Kind::symbol && token.kind != Token::Kind::word) return nullptr;
  const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                   [&](const Operator& candidate) { return candidate.spelling == token.spelling; });
  return found == kOperators.end() ? nullptr : found;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const Function& function : kFunctions) names.emplace_back(function.spelling);
  names.emplace_back(kSizeOf);
  return names;
}

/// For "expected …, found …".
std::string described(const Token& token) {
  switch (token.kind) {
    case Token::Kind::end:
      return "the end";
    case Token::Kind::text:
      return fmt::format("the text '{}'", token.spelling);
    default:
      return fmt::format("'{}'", token.spelling);
  }
}

class Parser {
 public:
  Parser(const SourceText& source, const std::vector<Token>& tokens) : source_(source), token_(tokens.begin()) {}

  Syntax whole() {
    if (token_->kind == Token::Kind::end) source_.fail(0, "the formula is empty");
    syntax_.root = binary(kLoosest);
    refuse_text(syntax_.root);
    if (token_->kind != Token::Kind::end) {
      source_.fail(token_->offset, fmt::format("expected an operator, found {}", described(*token_)));
    }
    return std::move(syntax_);
  }

 private:
  /// Parses operators that bind at least as tightly as `least`, and their operands.
  std::size_t binary(int least) {
    if (++nesting_ > kMaxDepth) too_deep(token_->offset);
    std::size_t left = token_->is_word("not") ? negation(least) : unary();
    while (const Operator* const found = operator_at(*token_)) {
      if (found->precedence < least) break;
      const Token at = take();
      const std::size_t right = binary(found->precedence + 1);
      left = add(found->op, at.offset, {left, right});
      const Operator* const next = operator_at(*token_);
      if (found->precedence == kComparison && next != nullptr && next->precedence == kComparison) {
        source_.fail(token_->offset, "comparisons do not chain", "; write a < b and b < c");
      }
    }
    --nesting_;
    return left;
  }

  std::size_t negation(int least) {
    if (least > kNot) source_.fail(token_->offset, "expected a value, found 'not'", "; write (not …)");
    const Token at = take();
    const std::size_t operand = binary(kNot);
    return add(NodeKind::logical_not, at.offset, {operand});
  }

  std::size_t unary() {
    if (!token_->is_symbol("-")) return primary();
    if (++nesting_ > kMaxDepth) too_deep(token_->offset);
    const Token at = take();
    const std::size_t operand = unary();
    --nesting_;
    return add(NodeKind::negate, at.offset, {operand});
  }

  std::size_t primary() {
    const Token token = *token_;
    if (token.kind == Token::Kind::number) return number(take(), token.number);
    if (token.kind == Token::Kind::fraction) {
      take();
      return leaf({NodeKind::fraction, token.offset, 0, std::string(token.spelling), {}});
    }
    if (token.kind == Token::Kind::text) {
      take();
      return leaf({NodeKind::text, token.offset, 0, std::string(token.spelling), {}});
    }
    if (token.is_symbol("(")) {
      take();
      const std::size_t inside = binary(kLoosest);
      expect(")");
      return inside;
    }
    if (token.kind != Token::Kind::word || operator_at(token) != nullptr || token.is_word("not")) {
      source_.fail(token.offset, fmt::format("expected a value, found {}", described(token)));
    }
    take();
    if (token_->is_symbol("(")) return call(token);
    if (token.spelling == "true" || token.spelling == "false") return number(token, token.spelling == "true" ? 1 : 0);
    return leaf({NodeKind::name, token.offset, 0, std::string(token.spelling), {}});
  }

  std::size_t call(const Token& name) {
    take();  // the parenthesis
    if (name.spelling == kSizeOf) return size_of(name);
    const auto* const function = std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& candidate) {
      return candidate.spelling == name.spelling;
    });
    if (function == kFunctions.end()) {
      source_.fail(name.offset, fmt::format("unknown function '{}'", name.spelling),
                   suggestion(std::string(name.spelling), function_names()));
    }
    std::vector<std::size_t> operands;
    if (!token_->is_symbol(")")) {
      operands.push_back(binary(kLoosest));
      while (token_->is_symbol(",")) {
        take();
        operands.push_back(binary(kLoosest));
      }
    }
    expect(")");
    if (operands.size() < function->least || operands.size() > function->most) {
      source_.fail(name.offset, fmt::format("{} takes {}, not {}", function->spelling,
                                            function->most == kAny ? "one value or more"
                                            : function->most == 1  ? "one value"
                                            : function->most == 2  ? "two values"
                                                                   : "three values",
                                            operands.size()));
    }
    return add(function->op, name.offset, std::move(operands));
  }

  std::size_t size_of(const Token& name) {
    const Token operand = *token_;
    if (operand.is_word("dtype")) {
      take();
      expect(")");
      return leaf({NodeKind::size_of, name.offset, 0, "dtype", {}});
    }
    if (const auto type = dtype_from(operand.spelling); type && operand.kind == Token::Kind::word) {
      take();
      expect(")");
      return number(name, static_cast<std::int64_t>(tilewright::size_of(*type)));
    }
    std::vector<std::string> known = dtype_names();
    known.emplace_back("dtype");
    source_.fail(operand.offset, fmt::format("sizeof takes dtype or a type, found {}", described(operand)),
                 suggestion(std::string(operand.spelling), known));
  }

  Token take() { return token_->kind == Token::Kind::end ? *token_ : *token_++; }

  void expect(std::string_view symbol) {
    if (!token_->is_symbol(symbol)) {
      source_.fail(token_->offset, fmt::format("expected '{}', found {}", symbol, described(*token_)));
    }
    take();
  }

  std::size_t number(const Token& at, std::int64_t value) { return leaf({NodeKind::number, at.offset, value, {}, {}}); }

  std::size_t leaf(Node node) {
    syntax_.nodes.push_back(std::move(node));
    return syntax_.nodes.size() - 1;
  }

  std::size_t add(NodeKind op, std::size_t offset, std::vector<std::size_t> operands) {
    Node node{op, offset, 0, {}, std::move(operands)};
    for (const std::size_t operand : node.operands) {
      if (op != NodeKind::equal && op != NodeKind::not_equal) refuse_text(operand);
      node.depth = std::max(node.depth, syntax_.nodes[operand].depth + 1);
    }
    if (node.depth > kMaxDepth) too_deep(offset);
    return leaf(std::move(node));
  }

  void refuse_text(std::size_t index) const {
    const Node& node = syntax_.nodes[index];
    if (node.op != NodeKind::text) return;
    source_.fail(node.offset, fmt::format("the text '{}' can only be compared, with == or !=", node.word));
  }

  [[noreturn]] void too_deep(std::size_t offset) const {
    source_.fail(offset, fmt::format("nested deeper than {} levels", kMaxDepth));
  }

  const SourceText& source_;
  std::vector<Token>::const_iterator token_;
  Syntax syntax_;
  std::size_t nesting_ = 0;
};

}  // namespace

std::string_view spelling(NodeKind op) noexcept {
  for (const Operator& candidate : kOperators) {
    if (candidate.op == op) return candidate.spelling;
  }
  for (const Function& candidate : kFunctions) {
    if (candidate.op == op) return candidate.spelling;
  }
  switch (op) {
    case NodeKind::negate:
      return "-";
    case NodeKind::logical_not:
      return "not";
    case NodeKind::size_of:
      return kSizeOf;
    default:
      return "";
  }
}

Syntax parse_formula(const SourceText& source, const std::vector<Token>& tokens) {
  return Parser(source, tokens).whole();
}

}  // namespace tilewright
