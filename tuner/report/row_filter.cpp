// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/row_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <variant>

#include "cache/base/dtype.hpp"
#include "cache/model/formula/lexer.hpp"
#include "cache/model/formula/parser.hpp"
#include "tuner/report/table_query.hpp"

namespace tilewright {

struct RowFilter::Parsed {
  SourceText source;
  Syntax syntax;
  /// The column of each name, by node; a name without a column is a text.
  std::map<std::size_t, std::size_t> columns;
  /// The column that `sizeof(dtype)` reads.
  std::optional<std::size_t> dtype;
};

namespace {

enum class Kind : std::uint8_t { number, text, unknown };

/// monostate: unknown.
using Known = std::variant<std::monostate, double, std::string>;

Kind kind_of_column(const Table& table, std::size_t column) {
  for (const auto& row : table.rows) {
    if (std::holds_alternative<std::string>(row[column])) return Kind::text;
    if (!std::holds_alternative<std::monostate>(row[column])) return Kind::number;
  }
  return Kind::unknown;
}

bool is_equality(NodeKind op) { return op == NodeKind::equal || op == NodeKind::not_equal; }

bool is_comparison(NodeKind op) {
  return is_equality(op) || op == NodeKind::less || op == NodeKind::less_equal || op == NodeKind::greater ||
         op == NodeKind::greater_equal;
}

/// Finds the columns of names, and checks which sides may be compared.
class Resolver {
 public:
  Resolver(const SourceText& source, const Syntax& syntax, const Table& table)
      : source_(source), syntax_(syntax), table_(table) {}

  /// Throws for the first name that is neither a column nor a text, and for texts among numbers.
  void resolve() {
    if (kind(syntax_.root) == Kind::text) {
      source_.fail(node(syntax_.root).offset, "a text is not a condition", "; compare it: NAME = text");
    }
  }

  std::map<std::size_t, std::size_t> columns;
  std::optional<std::size_t> dtype;

 private:
  const Node& node(std::size_t index) const { return syntax_.nodes[index]; }

  Kind kind(std::size_t index) {
    const Node& at = node(index);
    if (at.op == NodeKind::number || at.op == NodeKind::fraction) return Kind::number;
    if (at.op == NodeKind::text) return Kind::text;
    if (at.op == NodeKind::name) return name_kind(index);
    if (at.op == NodeKind::size_of) dtype = find_column(table_, "dtype");
    if (is_equality(at.op)) {
      compare(at);
    } else {
      for (const std::size_t operand : at.operands) {
        if (kind(operand) != Kind::text) continue;
        source_.fail(node(operand).offset,
                     fmt::format("'{}' is a text, and only compared with = or !=", node(operand).word));
      }
    }
    return Kind::number;
  }

  Kind name_kind(std::size_t index) {
    const std::string& word = node(index).word;
    const auto found = find_column(table_, word);
    if (!found) {
      source_.fail(node(index).offset, fmt::format("there is no column '{}'", word),
                   suggestion(word, column_names(table_)));
    }
    columns[index] = *found;
    return kind_of_column(table_, *found);
  }

  bool is_plain_word(std::size_t index) const {
    return node(index).op == NodeKind::name && !find_column(table_, node(index).word);
  }

  /// A word that is no column is a text if it is compared with a column of texts.
  void compare(const Node& at) {
    std::size_t left = at.operands[0];
    std::size_t right = at.operands[1];
    if (is_plain_word(left) && !is_plain_word(right)) std::swap(left, right);
    const Kind of_left = kind(left);
    if (is_plain_word(right) && node(left).op == NodeKind::name && of_left != Kind::number) return;
    const Kind of_right = kind(right);
    if (of_left == Kind::unknown || of_right == Kind::unknown || of_left == of_right) return;
    const std::size_t text = of_left == Kind::text ? left : right;
    const std::size_t number = of_left == Kind::text ? right : left;
    source_.fail(
        node(text).offset,
        fmt::format("'{}' is a text{}, and is compared with a number", node(text).word,
                    node(number).op == NodeKind::name ? fmt::format(", '{}' a number", node(number).word) : ""));
  }

  const SourceText& source_;
  const Syntax& syntax_;
  const Table& table_;
};

/// NaN is an unknown value.
Known known(double number) { return std::isnan(number) ? Known() : number; }

struct CellKnown {
  Known operator()(std::monostate) const { return {}; }
  Known operator()(const std::string& text) const { return text; }
  Known operator()(std::int64_t number) const { return static_cast<double>(number); }
  Known operator()(double number) const { return known(number); }
  Known operator()(bool truth) const { return truth ? 1.0 : 0.0; }
};

Known compared(NodeKind op, const Known& left, const Known& right) {
  const auto* text = std::get_if<std::string>(&left);
  const auto* other = std::get_if<std::string>(&right);
  if (text != nullptr && other != nullptr) return (*text == *other) == (op == NodeKind::equal) ? 1.0 : 0.0;
  const auto* a = std::get_if<double>(&left);
  const auto* b = std::get_if<double>(&right);
  if (a == nullptr || b == nullptr) return 0.0;
  const bool holds = op == NodeKind::equal        ? *a == *b
                     : op == NodeKind::not_equal  ? *a != *b
                     : op == NodeKind::less       ? *a < *b
                     : op == NodeKind::less_equal ? *a <= *b
                     : op == NodeKind::greater    ? *a > *b
                                                  : *a >= *b;
  return holds ? 1.0 : 0.0;
}

double calculated(NodeKind op, const std::vector<double>& n) {
  switch (op) {
    case NodeKind::negate:
      return -n[0];
    case NodeKind::add:
      return n[0] + n[1];
    case NodeKind::subtract:
      return n[0] - n[1];
    case NodeKind::multiply:
      return n[0] * n[1];
    case NodeKind::divide:
      return n[0] / n[1];
    case NodeKind::remainder:
      return std::fmod(n[0], n[1]);
    case NodeKind::ceil_div:
      return std::ceil(n[0] / n[1]);
    case NodeKind::round_up:
      return std::ceil(n[0] / n[1]) * n[1];
    case NodeKind::min:
      return *std::min_element(n.begin(), n.end());
    case NodeKind::max:
      return *std::max_element(n.begin(), n.end());
    case NodeKind::pow2_ceil:
      return n[0] <= 1 ? 1 : std::exp2(std::ceil(std::log2(n[0])));
    default:  // log2
      return std::floor(std::log2(n[0]));
  }
}

/// Evaluates a condition for one row.
class Answer {
 public:
  Answer(const Syntax& syntax, const std::map<std::size_t, std::size_t>& columns, std::optional<std::size_t> dtype,
         const std::vector<Cell>& row)
      : nodes_(syntax.nodes), columns_(columns), dtype_(dtype), row_(row) {}

  /// An unknown value is false.
  bool truth(std::size_t index) const {
    const Known known = value(index);
    const auto* number = std::get_if<double>(&known);
    return number != nullptr && *number != 0;
  }

 private:
  Known value(std::size_t index) const {
    const Node& node = nodes_[index];
    switch (node.op) {
      case NodeKind::number:
        return static_cast<double>(node.number);
      case NodeKind::fraction:
        return std::strtod(node.word.c_str(), nullptr);
      case NodeKind::text:
        return node.word;
      case NodeKind::name:
        return name(index);
      case NodeKind::size_of:
        return size_of_dtype();
      case NodeKind::logical_not:
        return truth(node.operands[0]) ? 0.0 : 1.0;
      case NodeKind::logical_and:
        return truth(node.operands[0]) && truth(node.operands[1]) ? 1.0 : 0.0;
      case NodeKind::logical_or:
        return truth(node.operands[0]) || truth(node.operands[1]) ? 1.0 : 0.0;
      case NodeKind::select:
        return value(node.operands[truth(node.operands[0]) ? 1 : 2]);
      default:
        break;
    }
    if (is_comparison(node.op)) return compared(node.op, value(node.operands[0]), value(node.operands[1]));
    return number(node);
  }

  Known name(std::size_t index) const {
    const auto column = columns_.find(index);
    return column == columns_.end() ? Known(nodes_[index].word) : std::visit(CellKnown{}, row_[column->second]);
  }

  Known size_of_dtype() const {
    const auto* text = dtype_ ? std::get_if<std::string>(&row_[*dtype_]) : nullptr;
    const auto type = text != nullptr ? dtype_from(*text) : std::nullopt;
    return type ? Known(static_cast<double>(size_of(*type))) : Known();
  }

  /// The result of an arithmetic node; unknown if an operand is.
  Known number(const Node& node) const {
    std::vector<double> numbers;
    for (const std::size_t operand : node.operands) {
      const Known known = value(operand);
      const auto* number = std::get_if<double>(&known);
      if (number == nullptr) return {};
      numbers.push_back(*number);
    }
    return known(calculated(node.op, numbers));
  }

  const std::vector<Node>& nodes_;
  const std::map<std::size_t, std::size_t>& columns_;
  std::optional<std::size_t> dtype_;
  const std::vector<Cell>& row_;
};

}  // namespace

RowFilter RowFilter::parse(const std::string& text, const std::string& what, const Table& table) {
  SourceText source(text, {what, 0, 0});
  Syntax syntax = parse_formula(source, tokens_of(source, Dialect::question));
  Resolver resolver(source, syntax, table);
  resolver.resolve();
  return RowFilter(std::make_shared<const Parsed>(
      Parsed{std::move(source), std::move(syntax), std::move(resolver.columns), resolver.dtype}));
}

bool RowFilter::keeps(const std::vector<Cell>& row) const {
  return Answer(parsed_->syntax, parsed_->columns, parsed_->dtype, row).truth(parsed_->syntax.root);
}

}  // namespace tilewright
