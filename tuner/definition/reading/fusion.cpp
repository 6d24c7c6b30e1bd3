// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/fusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/definition/reading/rehearsal.hpp"

namespace tilewright::reading {
namespace {

constexpr const char* kFusionTitle = "[fusion]";

void read_dims(Section& section, const OpPart& op, FusionStep& step) {
  const Node* table = section.need("dims", Node::Kind::table);
  if (table == nullptr) return;
  for (const Member& member : table->members) {
    const std::string what = fmt::format("dim '{}' of {}", member.key, section.title());
    auto formula = read_formula(member.value, what, Stage::problem, op.vocabulary, section.mistakes());
    if (formula) step.dims.emplace_back(member.key, *std::move(formula));
  }
}

void read_attributes(Section& section, FusionStep& step) {
  const Node* table = section.find("attributes", Node::Kind::table);
  if (table == nullptr) return;
  for (const Member& member : table->members) {
    const std::string what = fmt::format("attribute '{}' of {}", member.key, section.title());
    if (!expect(member.value, Node::Kind::text, what, section.mistakes())) continue;
    step.attributes.emplace_back(member.key, member.value.text);
  }
}

/// A cost formula, required if no op of the step counts it.
std::optional<Formula> read_cost(Section& section, const char* key, const OpPart& op, bool is_needed) {
  const Node* node = section.find(key);
  if (node != nullptr) return read_formula(*node, section.what(key), Stage::problem, op.vocabulary, section.mistakes());
  if (is_needed) {
    section.mistakes().add(section.place(),
                           fmt::format("{} has no '{}', and no 'op' that counts them", section.title(), key));
  }
  return std::nullopt;
}

void read_parallel(Section& section, const OpPart& op, FusionStep& step) {
  const std::vector<Node>* list = section.find_texts("parallel");
  if (list == nullptr) return;
  const std::vector<std::string>& dims = op.vocabulary.dims;
  for (const Node& dim : *list) {
    if (std::ranges::find(dims, dim.text) != dims.end() || !op.vocabulary.complete) {
      step.parallel.push_back(dim.text);
    } else {
      section.mistakes().add(dim.content, fmt::format("{} names '{}', which is not a dim{}", section.what("parallel"),
                                                      dim.text, suggestion(dim.text, dims)));
    }
  }
}

FusionStep read_step(const Node& table, const OpPart& op, Mistakes& mistakes) {
  FusionStep step;
  const Member* name = table.member("name");
  const bool is_named = name != nullptr && name->value.kind == Node::Kind::text;
  Section section(table,
                  is_named ? fmt::format("step '{}' of {}", name->value.text, kFusionTitle) : "a step of [fusion]",
                  mistakes);
  step.place = {mistakes.file_of(table.place), table.place.line, table.place.column};
  if (const Node* text = section.need("name", Node::Kind::text)) step.name = text->text;
  if (const Node* when = section.find("when")) {
    step.when = read_formula(*when, section.what("when"), Stage::call, op.vocabulary, mistakes);
  }
  if (const Node* text = section.find("op", Node::Kind::text)) {
    step.op = text->text;
    step.place = {mistakes.file_of(text->content), text->content.line, text->content.column};
    read_dims(section, op, step);
    read_attributes(section, step);
  }
  const bool has_op = table.member("op") != nullptr;
  step.bytes = read_cost(section, "bytes", op, !has_op);
  step.flops = read_cost(section, "flops", op, !has_op);
  read_parallel(section, op, step);
  if (!has_op) {
    for (const char* key : {"dims", "attributes"}) {
      if (table.member(key) == nullptr) continue;
      static_cast<void>(section.find(key));
      mistakes.add(table.member(key)->place, fmt::format("{} has {}s, and no 'op' that they are of", section.title(),
                                                         std::string(key).substr(0, std::string(key).size() - 1)));
    }
  }
  section.finish();
  return step;
}

}  // namespace

void read_fusion(const Node& table, OpPart& op, Mistakes& mistakes) {
  Section section(table, kFusionTitle, mistakes);
  Fusion& fusion = op.definition.fusion.emplace();
  if (const Node* node = section.find("shared_bytes")) {
    fusion.shared_bytes = read_formula(*node, section.what("shared_bytes"), Stage::problem, op.vocabulary, mistakes);
  }
  const Node* list = section.need("step", Node::Kind::list);
  section.finish();
  if (list == nullptr) return;
  if (list->items.size() < 2) {
    mistakes.add(list->place, fmt::format("{} has fewer than two steps: there is nothing to fuse", kFusionTitle));
  }
  for (const Node& item : list->items) {
    if (!expect(item, Node::Kind::table, "each step of [fusion]", mistakes)) continue;
    FusionStep step = read_step(item, op, mistakes);
    const auto same = [&](const FusionStep& other) { return !step.name.empty() && other.name == step.name; };
    if (std::ranges::any_of(fusion.steps, same)) {
      mistakes.add(item.member("name")->value.place,
                   fmt::format("step '{}' of {} appears twice", step.name, kFusionTitle));
    }
    fusion.steps.push_back(std::move(step));
  }
}

void rehearse_fusion(const OpDefinition& definition, Mistakes& mistakes) {
  if (!definition.fusion) return;
  const auto evaluate = [&](const std::optional<Formula>& formula, const ProblemScope& scope) {
    if (!formula) return;
    try {
      static_cast<void>(formula->integer(scope));
    } catch (const DefinitionError& error) {
      mistakes.add(error);
    }
  };
  for (const OpSpec& spec : specs_to_rehearse(definition.interface)) {
    for (const std::int64_t all : {std::int64_t{1}, std::int64_t{3}, std::int64_t{1001}}) {
      const std::vector<std::int64_t> dims(definition.interface.dims.size(), all);
      const std::optional<Problem> problem = problem_to_rehearse(definition.interface, spec, dims);
      if (!problem) continue;
      const ProblemScope scope(*problem);
      evaluate(definition.fusion->shared_bytes, scope);
      for (const FusionStep& step : definition.fusion->steps) {
        evaluate(step.when, scope);
        evaluate(step.bytes, scope);
        evaluate(step.flops, scope);
        for (const auto& pair : step.dims) evaluate(pair.second, scope);
      }
    }
  }
}

}  // namespace tilewright::reading
