// SPDX-License-Identifier: Apache-2.0
#include "cache/model/formula/checker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/dtype.hpp"

namespace tilewright {
namespace {

class Checker {
 public:
  Checker(const SourceText& source, const Syntax& syntax, std::span<const KnownName> known)
      : source_(source), syntax_(syntax), known_(known) {}

  std::vector<Diagnostic> whole() {
    need_number(syntax_.root);
    return std::move(mistakes_);
  }

 private:
  /// `unknown` has been reported, or depends on a part that has been: it causes no further report.
  enum class Kind { number, text, unknown };

  // Recursion is safe: the parser bounds the depth.
  Kind kind_of(std::size_t index) {
    const Node& node = syntax_.nodes[index];
    switch (node.op) {
      case NodeKind::number:
        return Kind::number;
      case NodeKind::text:
        return Kind::text;
      case NodeKind::name: {
        const KnownName* const found = known(node);
        return found == nullptr ? Kind::unknown : found->texts.empty() ? Kind::number : Kind::text;
      }
      case NodeKind::size_of:
        if (const KnownName* const found = known(node); found != nullptr && found->texts.empty()) {
          report(node, "sizeof(dtype) where dtype is not a type");
        }
        return Kind::number;
      case NodeKind::equal:
      case NodeKind::not_equal:
        compare(node);
        return Kind::number;
      case NodeKind::select: {
        need_number(node.operands[0]);
        const Kind a = kind_of(node.operands[1]);
        const Kind b = kind_of(node.operands[2]);
        if (a == Kind::unknown || b == Kind::unknown) return Kind::unknown;
        if (a != b) report(node, "select chooses between text and a number");
        return a == b ? a : Kind::unknown;
      }
      default:
        for (const std::size_t operand : node.operands) need_number(operand);
        return Kind::number;
    }
  }

  void need_number(std::size_t index) {
    if (kind_of(index) != Kind::text) return;
    const Node& node = syntax_.nodes[index];
    report(node, node.op == NodeKind::name ? fmt::format("'{}' is text, where a number is needed", node.word)
                                           : "text where a number is needed");
  }

  void compare(const Node& node) {
    const Kind left = kind_of(node.operands[0]);
    const Kind right = kind_of(node.operands[1]);
    if (left == Kind::unknown || right == Kind::unknown) return;
    if (left != right) {
      report(node, fmt::format("'{}' compares text with a number", spelling(node.op)));
      return;
    }
    never_equal(syntax_.nodes[node.operands[0]], syntax_.nodes[node.operands[1]]);
    never_equal(syntax_.nodes[node.operands[1]], syntax_.nodes[node.operands[0]]);
  }

  void never_equal(const Node& name, const Node& text) {
    if (name.op != NodeKind::name || text.op != NodeKind::text) return;
    const std::vector<std::string>& texts = known(name)->texts;
    if (std::find(texts.begin(), texts.end(), text.word) != texts.end()) return;
    report(text, fmt::format("'{}' is never '{}'", name.word, text.word), suggestion(text.word, texts));
  }

  /// Reports the name if it is unknown.
  const KnownName* known(const Node& node) {
    const auto found = std::find_if(known_.begin(), known_.end(),
                                    [&](const KnownName& candidate) { return candidate.name == node.word; });
    if (found != known_.end()) return &*found;
    std::vector<std::string> names;
    for (const KnownName& candidate : known_) names.push_back(candidate.name);
    report(node, fmt::format("unknown name '{}'", node.word), suggestion(node.word, names));
    return nullptr;
  }

  void report(const Node& node, std::string_view what, std::string_view hint = {}) {
    mistakes_.push_back(source_.diagnostic(node.offset, what, hint));
  }

  const SourceText& source_;
  const Syntax& syntax_;
  std::span<const KnownName> known_;
  std::vector<Diagnostic> mistakes_;
};

}  // namespace

std::vector<Diagnostic> check_formula(const SourceText& source, const Syntax& syntax,
                                      std::span<const KnownName> known) {
  return Checker(source, syntax, known).whole();
}

}  // namespace tilewright
