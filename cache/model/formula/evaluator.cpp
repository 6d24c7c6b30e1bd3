// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/dtype.hpp"
#include "cache/model/formula/arithmetic.hpp"

namespace tilewright {
namespace {

class Evaluator {
 public:
  Evaluator(const SourceText& source, const Syntax& syntax, const Scope& scope)
      : source_(source), syntax_(syntax), scope_(scope) {}

  // Recursion is safe: the parser bounds the depth.
  Value value(std::size_t index) const {
    const Node& node = syntax_.nodes[index];
    switch (node.op) {
      case NodeKind::text:
        return node.word;
      case NodeKind::name:
        return looked_up(node);
      case NodeKind::select:
        return value(node.operands[number(node.operands[0]) != 0 ? 1 : 2]);
      default:
        return number(index);
    }
  }

  std::int64_t number(std::size_t index) const {
    const Node& node = syntax_.nodes[index];
    switch (node.op) {
      case NodeKind::number:
        return node.number;
      case NodeKind::text:
      case NodeKind::name:
        return as_number(node, value(index));
      case NodeKind::size_of:
        return size_of_dtype(node);
      case NodeKind::select:
        return number(node.operands[number(node.operands[0]) != 0 ? 1 : 2]);
      case NodeKind::logical_not:
        return number(node.operands[0]) == 0 ? 1 : 0;
      case NodeKind::logical_and:
        return number(node.operands[0]) != 0 && number(node.operands[1]) != 0 ? 1 : 0;
      case NodeKind::logical_or:
        return number(node.operands[0]) != 0 || number(node.operands[1]) != 0 ? 1 : 0;
      case NodeKind::equal:
        return equal(node) ? 1 : 0;
      case NodeKind::not_equal:
        return equal(node) ? 0 : 1;
      case NodeKind::min:
      case NodeKind::max:
        return extreme(node);
      case NodeKind::negate:
      case NodeKind::pow2_ceil:
      case NodeKind::log2:
        return of_one(node, number(node.operands[0]));
      default:
        return of_two(node, number(node.operands[0]), number(node.operands[1]));
    }
  }

 private:
  Value looked_up(const Node& node) const {
    std::optional<Value> found = scope_.find(node.word);
    if (!found) {
      source_.fail(node.offset, fmt::format("unknown name '{}'", node.word), suggestion(node.word, scope_.names()));
    }
    return *found;
  }

  std::int64_t as_number(const Node& node, const Value& value) const {
    if (const auto* const number = std::get_if<std::int64_t>(&value)) return *number;
    source_.fail(node.offset, fmt::format("'{}' is the text '{}', where a number is needed", node.word,
                                          std::get<std::string_view>(value)));
  }

  std::int64_t size_of_dtype(const Node& node) const {
    const Value value = looked_up(node);
    const auto* const word = std::get_if<std::string_view>(&value);
    const std::optional<DType> type = word != nullptr ? dtype_from(*word) : std::nullopt;
    if (!type) source_.fail(node.offset, "sizeof(dtype) where dtype is not a type");
    return static_cast<std::int64_t>(size_of(*type));
  }

  bool equal(const Node& node) const {
    const Value left = value(node.operands[0]);
    const Value right = value(node.operands[1]);
    if (left.index() != right.index()) {
      source_.fail(node.offset, fmt::format("'{}' compares text with a number", spelling(node.op)));
    }
    return left == right;
  }

  std::int64_t extreme(const Node& node) const {
    std::int64_t best = number(node.operands[0]);
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      const std::int64_t other = number(node.operands[i]);
      best = node.op == NodeKind::min ? std::min(best, other) : std::max(best, other);
    }
    return best;
  }

  std::int64_t of_one(const Node& node, std::int64_t a) const {
    if (node.op == NodeKind::log2) {
      if (a < 1) source_.fail(node.offset, fmt::format("log2({}): it takes a number ≥ 1", a));
      return checked::floor_log2(a);
    }
    const checked::Number result = node.op == NodeKind::negate ? checked::subtract(0, a) : checked::pow2_ceil(a);
    if (!result) source_.fail(node.offset, fmt::format("{}({}) overflows 64 bits", spelling(node.op), a));
    return *result;
  }

  std::int64_t of_two(const Node& node, std::int64_t a, std::int64_t b) const {
    if (const bool function = node.op == NodeKind::ceil_div || node.op == NodeKind::round_up; function && b < 0) {
      source_.fail(node.offset, fmt::format("{}({}, {}): the second value must be ≥ 1", spelling(node.op), a, b));
    }
    switch (node.op) {
      case NodeKind::less:
        return a < b ? 1 : 0;
      case NodeKind::less_equal:
        return a <= b ? 1 : 0;
      case NodeKind::greater:
        return a > b ? 1 : 0;
      case NodeKind::greater_equal:
        return a >= b ? 1 : 0;
      case NodeKind::add:
        return whole(node, a, b, checked::add(a, b));
      case NodeKind::subtract:
        return whole(node, a, b, checked::subtract(a, b));
      case NodeKind::multiply:
        return whole(node, a, b, checked::multiply(a, b));
      default:
        break;
    }
    if (b == 0) source_.fail(node.offset, "division by zero");
    switch (node.op) {
      case NodeKind::divide:
        return whole(node, a, b, checked::divide(a, b));
      case NodeKind::remainder:
        return checked::remainder(a, b);
      case NodeKind::ceil_div:
        return checked::ceil_div(a, b);
      default:
        return whole(node, a, b, checked::round_up(a, b));
    }
  }

  std::int64_t whole(const Node& node, std::int64_t a, std::int64_t b, checked::Number result) const {
    if (result) return *result;
    source_.fail(node.offset, node.op == NodeKind::round_up
                                  ? fmt::format("round_up({}, {}) overflows 64 bits", a, b)
                                  : fmt::format("{} {} {} overflows 64 bits", a, spelling(node.op), b));
  }

  const SourceText& source_;
  const Syntax& syntax_;
  const Scope& scope_;
};

}  // namespace

Value evaluate_value(const SourceText& source, const Syntax& syntax, const Scope& scope) {
  return Evaluator(source, syntax, scope).value(syntax.root);
}

std::int64_t evaluate_number(const SourceText& source, const Syntax& syntax, const Scope& scope) {
  return Evaluator(source, syntax, scope).number(syntax.root);
}

}  // namespace tilewright
