// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tuner/definition/reading/op.hpp"

namespace tilewright::reading {
namespace {

constexpr const char* kToleranceTitle = "'tolerance' in [op]";

std::optional<Tolerance> tolerance_of(const Node& node, const std::string& what, Mistakes& mistakes) {
  if (!expect(node, Node::Kind::list, what, mistakes)) return std::nullopt;
  const bool has_norm = node.items.size() == 3;
  if (node.items.size() != 2 && !has_norm) {
    mistakes.add(node.place, fmt::format("{} must be [absolute, relative] or [absolute, relative, norm]", what));
    return std::nullopt;
  }
  const auto absolute = number_of(node.items[0], what, mistakes);
  const auto relative = number_of(node.items[1], what, mistakes);
  const auto norm = has_norm ? number_of(node.items[2], what, mistakes) : std::nullopt;
  if (!absolute || !relative || (has_norm && !norm)) return std::nullopt;
  const auto is_usable = [](double value) { return std::isfinite(value) && value >= 0; };
  if (is_usable(*absolute) && is_usable(*relative) && is_usable(norm.value_or(0))) {
    return Tolerance{*absolute, *relative, norm};
  }
  mistakes.add(node.place, fmt::format("{} must hold numbers that are 0 or more", what));
  return std::nullopt;
}

/// Reads a table's dtypes, all of which are required if `is_whole`, and its outputs by name.
void read_types(Section& section, bool is_whole, const OpPart& op, ToleranceTable& table) {
  for (const DType type : op.definition.interface.dtypes) {
    const std::string key(name(type));
    const Node* node = is_whole ? section.need(key) : section.find(key);
    if (node == nullptr) continue;
    if (const auto tolerance = tolerance_of(*node, section.what(key), section.mistakes())) {
      table.by_type[type] = *tolerance;
    }
  }
  for (const Argument& arg : op.args.args) {
    const bool is_output = arg.role == ArgRole::out || arg.role == ArgRole::inout;
    if (!is_output || dtype_from(arg.name) || arg.name == "when") continue;
    const Node* node = section.find(arg.name);
    if (node == nullptr) continue;
    if (const auto tolerance = tolerance_of(*node, section.what(arg.name), section.mistakes())) {
      table.by_argument[arg.name] = *tolerance;
    }
  }
  if (op.vocabulary.complete && op.args.complete) section.finish();
}

ToleranceTable read_table(const Node& node, const OpPart& op, Mistakes& mistakes) {
  const std::string title = fmt::format("a table of {}", kToleranceTitle);
  ToleranceTable table;
  if (!expect(node, Node::Kind::table, title, mistakes)) return table;
  Section section(node, title, mistakes);
  if (const Node* when = section.find("when")) {
    table.when = read_formula(*when, section.what("when"), Stage::call, op.vocabulary, mistakes);
  }
  read_types(section, false, op, table);
  return table;
}

/// All combinations of the attributes that conditions mention. The others have their defaults.
std::vector<OpSpec> specs_of(const OpDefinition& definition) {
  std::set<std::string> mentioned;
  for (const ToleranceTable& table : definition.tolerance) {
    if (!table.when) continue;
    for (std::string& name : table.when->names()) mentioned.insert(std::move(name));
  }
  std::vector<OpSpec> specs{{definition.interface.op, DType::f32, {}}};
  for (const Attribute& attribute : definition.interface.attributes) {
    const std::size_t choices = mentioned.contains(attribute.name) ? attribute.values.size() : 1;
    std::vector<OpSpec> longer;
    for (const OpSpec& spec : specs) {
      for (std::size_t i = 0; i < choices; ++i) {
        longer.push_back(spec);
        longer.back().attributes.emplace_back(attribute.name, attribute.values[i]);
      }
    }
    specs = std::move(longer);
  }
  return specs;
}

/// "'f32' where math is 'tf32' and act is 'none'", with the attributes that conditions mention.
std::string case_of(const OpSpec& spec, const std::vector<ToleranceTable>& tables) {
  std::vector<std::string> parts;
  for (const auto& attribute : spec.attributes) {
    const auto mentions = [&](const ToleranceTable& table) {
      return table.when && std::ranges::count(table.when->names(), attribute.first) > 0;
    };
    if (std::ranges::any_of(tables, mentions))
      parts.push_back(fmt::format("{} is '{}'", attribute.first, attribute.second));
  }
  const std::string type(name(spec.dtype));
  return parts.empty() ? fmt::format("'{}'", type) : fmt::format("'{}' where {}", type, fmt::join(parts, " and "));
}

/// Each dtype must have a tolerance for all attributes, and each table must be the first to apply somewhere.
void check_cover(const Node& list, const OpDefinition& definition, Mistakes& mistakes) {
  std::vector<bool> counts(definition.tolerance.size(), false);
  for (const DType type : definition.interface.dtypes) {
    bool is_covered = true;
    for (OpSpec spec : specs_of(definition)) {
      spec.dtype = type;
      const Problem problem{spec, {}};
      const auto serves = [&](const ToleranceTable& table) {
        return table.by_type.contains(type) && (!table.when || table.when->truth(ProblemScope(problem)));
      };
      const auto found = std::ranges::find_if(definition.tolerance, serves);
      if (found != definition.tolerance.end()) {
        counts[static_cast<std::size_t>(found - definition.tolerance.begin())] = true;
      } else if (std::exchange(is_covered, false)) {
        mistakes.add(list.place,
                     fmt::format("{} has no tolerance for {}", kToleranceTitle, case_of(spec, definition.tolerance)));
      }
    }
  }
  // A table also counts if it is the first to apply to some output.
  for (const Argument& arg : definition.interface.args) {
    for (const OpSpec& spec : specs_of(definition)) {
      for (const DType type : definition.interface.dtypes) {
        Problem problem{spec, {}};
        problem.spec.dtype = type;
        const auto serves = [&](const ToleranceTable& table) {
          return table.by_argument.contains(arg.name) && (!table.when || table.when->truth(ProblemScope(problem)));
        };
        const auto found = std::ranges::find_if(definition.tolerance, serves);
        if (found != definition.tolerance.end()) {
          counts[static_cast<std::size_t>(found - definition.tolerance.begin())] = true;
        }
      }
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i]) continue;
    mistakes.add(
        list.items[i].place,
        fmt::format("this table of {} is never used: for each of its cases a table above it applies", kToleranceTitle));
  }
}

}  // namespace

void read_tolerance(Section& section, OpPart& op) {
  Mistakes& mistakes = section.mistakes();
  const Node* node = section.need("tolerance");
  if (node == nullptr) return;
  OpDefinition& definition = op.definition;
  if (node->kind != Node::Kind::list) {
    if (!expect(*node, Node::Kind::table, kToleranceTitle, mistakes)) return;
    Section by_type(*node, kToleranceTitle, mistakes);
    read_types(by_type, true, op, definition.tolerance.emplace_back());
    return;
  }
  const std::size_t before = mistakes.unusable();
  for (const Node& table : node->items) definition.tolerance.push_back(read_table(table, op, mistakes));
  if (!op.vocabulary.complete || mistakes.unusable() != before) return;
  try {
    check_cover(*node, definition, mistakes);
  } catch (const DefinitionError& error) {
    mistakes.add(error);  // a condition that cannot be evaluated, with its own place
  }
}

}  // namespace tilewright::reading
