// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/op.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/limits.hpp"
#include "tuner/definition/costs.hpp"

namespace tilewright::reading {
namespace {

constexpr const char* kOpTitle = "[op]";

void read_name(Section& section, const std::string& stem, OpPart& op) {
  const Node* node = section.need("name", Node::Kind::text);
  if (node == nullptr || !check_identifier(node->text, "op", node->place, section.mistakes())) return;
  op.definition.interface.op = node->text;
  if (node->text != stem) {
    section.mistakes().add(
        node->place, fmt::format("the op is called '{}' and its file {}.toml: they must agree", node->text, stem));
  }
}

void read_dims(Section& section, OpPart& op) {
  const std::vector<Node>* list = section.need_texts("dims");
  if (list == nullptr) return;
  if (list->empty()) section.mistakes().add(section.find("dims")->place, "an op has at least one dim");
  if (list->size() > kMostDims) {
    section.mistakes().add(section.find("dims")->place,
                           fmt::format("an op has at most {} dims, and this has {}", kMostDims, list->size()));
    return;
  }
  for (const Node& dim : *list) {
    if (op.names.claim(dim.text, "dim", dim.place, section.mistakes())) {
      op.definition.interface.dims.push_back(dim.text);
    }
  }
}

void read_bucketed(Section& section, OpPart& op) {
  constexpr const char* kBucketed = "bucketed";
  const std::vector<Node>* list = section.find_texts(kBucketed);
  if (list == nullptr) return;
  OpInterface& interface = op.definition.interface;
  for (const Node& dim : *list) {
    if (interface.is_bucketed(dim.text)) {
      section.mistakes().add(dim.place, fmt::format("dim '{}' appears twice", dim.text));
    } else if (std::ranges::find(interface.dims, dim.text) == interface.dims.end()) {
      section.mistakes().add(dim.place, fmt::format("{}: the op has no dim '{}'{}", section.what(kBucketed), dim.text,
                                                    suggestion(dim.text, interface.dims)));
    } else {
      interface.bucketed.push_back(dim.text);
    }
  }
}

/// Refuses formulas that need the call's value of a bucketed dim.
void check_bucketed(const OpInterface& interface, Mistakes& mistakes) {
  const auto refuse = [&](const Formula& formula, std::string message) {
    const SourcePlace& place = formula.place();
    mistakes.add(DefinitionError({{place.file, place.line, place.column, std::move(message)}}));
  };
  const auto bucketed_name = [&](const Formula& formula) -> std::string {
    const std::vector<std::string> names = formula.names();
    const auto found =
        std::ranges::find_if(names, [&](const std::string& name) { return interface.is_bucketed(name); });
    return found == names.end() ? std::string() : *found;
  };
  for (const Formula& formula : interface.domain) {
    if (const std::string dim = bucketed_name(formula); !dim.empty()) {
      refuse(formula,
             fmt::format("the domain `{}` is judged once for all extents of a bucket, and '{}' is bucketed: leave "
                         "it out, or take '{}' out of 'bucketed'",
                         formula.text(), dim, dim));
    }
  }
  for (const Argument& arg : interface.args) {
    if (arg.strides.empty() && arg.pitch.empty()) continue;
    for (const Formula& extent : arg.shape) {
      const std::string dim = bucketed_name(extent);
      if (dim.empty() || extent.canonical() == dim) continue;
      refuse(extent, fmt::format("the extent `{}` of '{}', which has {}, is more than the bucketed dim "
                                 "'{}': write \"{}\" alone, so that a launch can check it",
                                 extent.text(), arg.name, arg.pitch.empty() ? "strides" : "a pitch", dim, dim));
    }
  }
}

void read_dtypes(Section& section, OpPart& op) {
  const std::vector<Node>* list = section.need_texts("dtypes");
  if (list == nullptr) return;
  if (list->empty()) section.mistakes().add(section.find("dtypes")->place, "an op has at least one dtype");
  auto& dtypes = op.definition.interface.dtypes;
  for (const Node& text : *list) {
    const auto type = read_dtype(text, section.what("dtypes"), section.mistakes());
    if (!type) continue;
    if (std::ranges::find(dtypes, *type) != dtypes.end()) {
      section.mistakes().add(text.place, fmt::format("dtype '{}' appears twice", text.text));
    } else {
      dtypes.push_back(*type);
    }
  }
}

std::vector<std::string> read_attribute_values(const Member& member, Mistakes& mistakes) {
  std::vector<std::string> values;
  const std::string what = fmt::format("attribute '{}'", member.key);
  if (!expect(member.value, Node::Kind::list, what, mistakes)) return values;
  if (member.value.items.empty()) {
    mistakes.add(member.value.place, fmt::format("{} has no values; the first is its default", what));
  }
  for (const Node& item : member.value.items) {
    if (!expect(item, Node::Kind::text, fmt::format("each value of {}", what), mistakes)) continue;
    if (!check_attribute_value(item.text, item.place, mistakes)) continue;
    if (std::ranges::find(values, item.text) != values.end()) {
      mistakes.add(item.place, fmt::format("value '{}' of {} appears twice", item.text, what));
    } else {
      values.push_back(item.text);
    }
  }
  return values;
}

void read_attributes(Section& section, OpPart& op) {
  const Node* table = section.find("attributes");
  if (table == nullptr) return;
  if (!expect(*table, Node::Kind::table, section.what("attributes"), section.mistakes())) return;
  for (const Member& member : table->members) {
    op.names.claim(member.key, "attribute", member.place, section.mistakes());
    std::vector<std::string> values = read_attribute_values(member, section.mistakes());
    op.definition.interface.attributes.push_back({member.key, std::move(values)});
  }
}

void read_domain(Section& section, OpPart& op) {
  constexpr const char* kDomain = "domain";
  constexpr std::size_t kMost = 32;
  const Node* node = section.find(kDomain, Node::Kind::list);
  if (node == nullptr) return;
  auto formulas =
      read_formulas(*node, section.what(kDomain), 1, kMost, Stage::problem, op.vocabulary, section.mistakes());
  if (formulas) op.definition.interface.domain = *std::move(formulas);
}

void read_follows(Section& section, OpPart& op) {
  constexpr const char* kFollows = "follows";
  const std::vector<Node>* list = section.find_texts(kFollows);
  if (list == nullptr) return;
  std::vector<std::string> known;
  for (const Attribute& attribute : op.definition.interface.attributes) known.push_back(attribute.name);
  for (const Node& name : *list) {
    if (std::ranges::find(known, name.text) == known.end()) {
      section.mistakes().add(name.place, fmt::format("{}: there is no attribute '{}'{}", section.what(kFollows),
                                                     name.text, suggestion(name.text, known)));
    } else {
      op.definition.follows.push_back(name.text);
    }
  }
}

/// Reads one item of `learns_from`. Only the other op's definition knows its names, so none is reported as unknown.
std::optional<LearnsFrom> read_teacher(const Node& table, const OpPart& op, Mistakes& mistakes) {
  Section section(table, "an item of 'learns_from' in [op]", mistakes);
  Vocabulary theirs;
  theirs.complete = false;
  const auto read = [&](const Node& node, const std::string& what) {
    return read_formula(node, what, Stage::problem, theirs, mistakes);
  };
  const std::size_t before = mistakes.unusable();
  LearnsFrom from;
  if (const Node* name = section.need("op", Node::Kind::text)) from.op = name->text;
  if (const Node* when = section.find("when")) from.when = read(*when, section.what("when"));
  if (const Node* dims = section.need("dims", Node::Kind::table)) {
    for (const std::string& dim : op.definition.interface.dims) {
      const Member* member = dims->member(dim);
      if (member == nullptr) {
        mistakes.add(dims->place, fmt::format("{} lacks '{}'", section.what("dims"), dim));
      } else if (auto formula = read(member->value, fmt::format("dim '{}' of {}", dim, section.title()))) {
        from.dims.push_back(*std::move(formula));
      }
    }
    for (const Member& member : dims->members) {
      if (std::ranges::find(op.definition.interface.dims, member.key) != op.definition.interface.dims.end()) continue;
      mistakes.add(member.place, fmt::format("{}: there is no dim '{}'{}", section.what("dims"), member.key,
                                             suggestion(member.key, op.definition.interface.dims)));
    }
  }
  if (const Node* parameters = section.find("parameters", Node::Kind::table)) {
    for (const Member& member : parameters->members) {
      auto formula = read(member.value, fmt::format("parameter '{}' of {}", member.key, section.title()));
      if (formula) from.parameters.emplace(member.key, *std::move(formula));
    }
  }
  section.finish();
  return mistakes.unusable() == before ? std::optional(std::move(from)) : std::nullopt;
}

void read_learns_from(Section& section, OpPart& op) {
  const Node* list = section.find("learns_from", Node::Kind::list);
  if (list == nullptr) return;
  for (const Node& item : list->items) {
    if (!expect(item, Node::Kind::table, "each item of 'learns_from' in [op]", section.mistakes())) continue;
    if (auto from = read_teacher(item, op, section.mistakes())) op.definition.learns_from.push_back(*std::move(from));
  }
}

void read_costs(Section& section, OpPart& op) {
  // Costs may depend on input contents (costs.hpp). The samples that fill them are read and checked later.
  Vocabulary vocabulary = op.vocabulary;
  for (const Argument& arg : op.args.args) {
    if (is_summed(arg) && !op.vocabulary.is_of_problem(arg.name)) vocabulary.dims.push_back(arg.name);
  }
  const auto read = [&](const char* key, Formula& into) {
    const Node* node = section.need(key);
    if (node == nullptr) return;
    if (auto formula = read_formula(*node, section.what(key), Stage::problem, vocabulary, section.mistakes())) {
      into = *std::move(formula);
    }
  };
  read("bytes", op.definition.bytes);
  read("flops", op.definition.flops);
  constexpr const char* kTensorCores = "tensor_cores";
  if (const Node* node = section.find(kTensorCores)) {
    op.definition.tensor_cores =
        read_formula(*node, section.what(kTensorCores), Stage::call, op.vocabulary, section.mistakes());
  }
}

}  // namespace

OpPart read_op(const Node& table, const std::string& stem, Sources& sources, Mistakes& mistakes) {
  OpPart op;
  const std::size_t before = mistakes.unusable();
  Section section(table, kOpTitle, mistakes);
  read_name(section, stem, op);
  if (const Node* summary = section.need("summary", Node::Kind::text)) op.definition.summary = summary->text;
  const std::size_t before_names = mistakes.unusable();
  read_dims(section, op);
  read_bucketed(section, op);
  read_dtypes(section, op);
  read_attributes(section, op);
  // If one of these is wrong, formulas that use it are not reported.
  op.vocabulary.complete = mistakes.unusable() == before_names;
  const OpInterface& interface = op.definition.interface;
  op.vocabulary.dims = interface.dims;
  op.vocabulary.attributes = interface.attributes;
  op.vocabulary.dtypes = interface.dtypes;

  read_domain(section, op);
  if (const Node* args = section.need("args", Node::Kind::list)) {
    op.args = read_arguments(*args, op.vocabulary, mistakes);
    op.definition.interface.args = op.args.args;
  } else {
    op.args.complete = false;
  }
  check_bucketed(interface, mistakes);
  // Kernels get it as their own; their reader checks it.
  if (section.find("params") != nullptr) op.params = table.member("params");
  if (const Node* version = section.find("data_version", Node::Kind::integer)) {
    op.data_version = table.member("data_version");
    if (version->integer < 2) {
      mistakes.add(version->place,
                   fmt::format("{} must be 2 or more: it is 1 where it is not written", section.what("data_version")));
    }
  }
  read_follows(section, op);
  read_learns_from(section, op);
  read_costs(section, op);
  read_tuning(section, sources, op);
  op.base = section.need("base", Node::Kind::text);
  section.finish();
  op.sound = mistakes.unusable() == before;
  return op;
}

}  // namespace tilewright::reading
