// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/model/formula/evaluator.hpp"
#include "cache/model/formula/lexer.hpp"
#include "cache/model/formula/parser.hpp"
#include "cache/model/formula/source_text.hpp"
#include "cache/model/formula/syntax.hpp"

namespace tilewright {
namespace {

utility::Instruction instruction_for(NodeKind op) {
  switch (op) {
    case NodeKind::negate:
      return utility::kNegate;
    case NodeKind::logical_not:
      return utility::kNot;
    case NodeKind::logical_or:
      return utility::kOr;
    case NodeKind::logical_and:
      return utility::kAnd;
    case NodeKind::equal:
      return utility::kEqual;
    case NodeKind::not_equal:
      return utility::kNotEqual;
    case NodeKind::less:
      return utility::kLess;
    case NodeKind::less_equal:
      return utility::kLessEqual;
    case NodeKind::greater:
      return utility::kGreater;
    case NodeKind::greater_equal:
      return utility::kGreaterEqual;
    case NodeKind::add:
      return utility::kAdd;
    case NodeKind::subtract:
      return utility::kSubtract;
    case NodeKind::multiply:
      return utility::kMultiply;
    case NodeKind::divide:
      return utility::kDivide;
    case NodeKind::remainder:
      return utility::kRemainder;
    case NodeKind::ceil_div:
      return utility::kCeilDiv;
    case NodeKind::round_up:
      return utility::kRoundUp;
    case NodeKind::min:
      return utility::kMin;
    case NodeKind::max:
      return utility::kMax;
    case NodeKind::select:
      return utility::kSelect;
    case NodeKind::pow2_ceil:
      return utility::kPow2Ceil;
    case NodeKind::log2:
      return utility::kLog2;
    default:
      // A text beside an index has no numeric value.
      return utility::kPushNone;
  }
}

class Writer {
 public:
  Writer(const Formula& formula, std::span<const std::string> index, const Scope& constants)
      : source_(formula.pieces()),
        syntax_(parse_formula(source_, tokens_of(source_))),
        index_(index),
        constants_(constants) {
    for (const Node& node : syntax_.nodes) {
      const auto varies = [&](std::size_t operand) { return bool{varies_[operand]}; };
      varies_.push_back((node.op == NodeKind::name && index_of(node) < index_.size()) ||
                        std::ranges::any_of(node.operands, varies));
    }
  }

  std::vector<utility::i64> write() {
    write(syntax_.root);
    program_[0] = static_cast<utility::i64>(program_.size() / 2);
    return std::move(program_);
  }

 private:
  [[nodiscard]] std::size_t index_of(const Node& node) const {
    return static_cast<std::size_t>(std::ranges::find(index_, node.word) - index_.begin());
  }

  // Recursion is safe: the parser bounds the depth.
  void write(std::size_t place) {
    const Node& node = syntax_.nodes[place];
    if (!varies_[place]) {
      write_constant(place);
    } else if (node.op == NodeKind::name) {
      push(node, utility::kPushIndex, static_cast<utility::i64>(index_of(node)));
    } else {
      write_function(node);
    }
  }

  void write_constant(std::size_t place) {
    const Node& node = syntax_.nodes[place];
    Syntax part = syntax_;
    part.root = place;
    try {
      push(node, utility::kPushNumber, evaluate_number(source_, part, constants_));
    } catch (const DefinitionError&) {
      // An error only if the value is used.
      push(node, utility::kPushNone, 0);
    }
  }

  void write_function(const Node& node) {
    const utility::Instruction instruction = instruction_for(node.op);
    write(node.operands[0]);
    if (instruction == utility::kMin || instruction == utility::kMax) {
      for (std::size_t i = 1; i < node.operands.size(); ++i) {
        write(node.operands[i]);
        take(instruction, 2);
      }
      return;
    }
    for (std::size_t i = 1; i < node.operands.size(); ++i) write(node.operands[i]);
    take(instruction, node.operands.size());
  }

  void push(const Node& node, utility::Instruction instruction, utility::i64 operand) {
    if (++depth_ > utility::kMostDepth) {
      source_.fail(node.offset, fmt::format("more than {} values wait for this one", utility::kMostDepth),
                   "; the formula of an element must be nested less");
    }
    program_.push_back(instruction);
    program_.push_back(operand);
  }

  void take(utility::Instruction instruction, std::size_t operands) {
    depth_ -= static_cast<int>(operands) - 1;
    program_.push_back(instruction);
    program_.push_back(0);
  }

  SourceText source_;
  Syntax syntax_;
  std::span<const std::string> index_;
  const Scope& constants_;
  /// By node: whether it contains an index.
  std::vector<bool> varies_{};
  std::vector<utility::i64> program_{0};
  int depth_ = 0;
};

}  // namespace

std::vector<utility::i64> program_of(const Formula& formula, std::span<const std::string> index,
                                     const Scope& constants) {
  return Writer(formula, index, constants).write();
}

}  // namespace tilewright
