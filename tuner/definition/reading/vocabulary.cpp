// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/vocabulary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/model/device_facts.hpp"
#include "tuner/definition/reading/lets.hpp"

namespace tilewright::reading {
namespace {

std::string_view where_known(Stage stage) {
  switch (stage) {
    case Stage::call:
      return "only attributes and dtype can be used here";
    case Stage::problem:
      return "only dims, attributes and dtype can be used here";
    default:
      return "only a kernel's grid can use it";
  }
}

/// Tells where a name is known, if another stage knows it, instead of guessing at a similar name.
void explain_later_names(std::vector<Diagnostic>& found, Stage stage, const Vocabulary& vocabulary) {
  for (const KnownName& later : vocabulary.known(Stage::grid)) {
    const std::string start = fmt::format("unknown name '{}' in ", later.name);
    for (Diagnostic& mistake : found) {
      if (!mistake.message.starts_with(start)) continue;
      // The guess follows the formula, which ends in the last backtick.
      mistake.message.resize(mistake.message.rfind('`') + 1);
      mistake.message += fmt::format("; {}", where_known(stage));
    }
  }
}

}  // namespace

std::vector<KnownName> Vocabulary::known(Stage stage) const {
  std::vector<KnownName> result;
  KnownName& types = result.emplace_back(KnownName{"dtype", {}});
  for (const DType type : dtypes) types.texts.emplace_back(name(type));
  for (const Attribute& attribute : attributes) result.push_back({attribute.name, attribute.values});
  const auto add = [&](const std::vector<std::string>& numbers) {
    for (const std::string& number : numbers) result.push_back({number, {}});
  };
  if (stage >= Stage::problem) add(dims);
  if (stage >= Stage::config) {
    add(parameters);
    for (const auto& [name, let] : lets) {
      if (let.stage <= stage) result.push_back({name, {}});
    }
    add(DeviceFacts::names());
  }
  if (stage >= Stage::grid) add({kLateNames.begin(), kLateNames.end()});
  return result;
}

bool Vocabulary::is_of_problem(std::string_view name) const {
  return std::ranges::find(dims, name) != dims.end() ||
         std::ranges::find(attributes, name, &Attribute::name) != attributes.end();
}

std::optional<Formula> read_formula(const Node& node, const std::string& what, Stage stage,
                                    const Vocabulary& vocabulary, Mistakes& mistakes) {
  Place place = node.place;
  std::string text;
  switch (node.kind) {
    case Node::Kind::text:
      place = node.content;
      text = node.text;
      break;
    case Node::Kind::integer:
      text = fmt::format("{}", node.integer);
      break;
    case Node::Kind::boolean:
      text = node.boolean ? "true" : "false";
      break;
    default:
      mistakes.add(node.place, fmt::format("{} must be a formula in quotes, and is {}", what, name(node.kind)));
      return std::nullopt;
  }
  const SourcePlace in_file{mistakes.file_of(place), place.line, place.column};
  try {
    Formula formula = Formula::parse(text, in_file);
    if (!vocabulary.complete) return formula;
    std::vector<Diagnostic> found = formula.check(vocabulary.known(stage));
    // Names of lets stand for formulas that are checked at their definition.
    if (found.empty()) return Formula::parse(inlined(SourceText(text, in_file), vocabulary.lets));
    explain_later_names(found, stage, vocabulary);
    mistakes.add(DefinitionError(std::move(found)));
  } catch (const DefinitionError& error) {
    mistakes.add(error);
  }
  return std::nullopt;
}

std::optional<std::vector<Formula>> read_formulas(const Node& list, const std::string& what, std::size_t least,
                                                  std::size_t most, Stage stage, const Vocabulary& vocabulary,
                                                  Mistakes& mistakes) {
  if (!expect(list, Node::Kind::list, what, mistakes)) return std::nullopt;
  if (list.items.size() < least || list.items.size() > most) {
    const std::string wanted = least != most ? fmt::format("{} to {} formulas", least, most)
                               : most == 1   ? "1 formula"
                                             : fmt::format("{} formulas", most);
    mistakes.add(list.place, fmt::format("{} must hold {}, and holds {}", what, wanted, list.items.size()));
    return std::nullopt;
  }
  std::vector<Formula> formulas;
  for (const Node& item : list.items) {
    if (auto formula = read_formula(item, fmt::format("each of {}", what), stage, vocabulary, mistakes)) {
      formulas.push_back(*std::move(formula));
    }
  }
  if (formulas.size() != list.items.size()) return std::nullopt;
  return formulas;
}

}  // namespace tilewright::reading
