// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/implementation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "cache/base/content_hash.hpp"
#include "tuner/definition/reading/fragment.hpp"
#include "tuner/definition/reading/lets.hpp"
#include "tuner/definition/reading/tokens.hpp"

namespace tilewright::reading {
namespace {

/// The number in "sm_90a", or 0 for other text.
int architecture(std::string_view text) {
  if (!text.starts_with("sm_")) return 0;
  text.remove_prefix(3);
  if (text.ends_with('a')) text.remove_suffix(1);
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size() ? number : 0;
}

constexpr int kLeastArchitecture = 80;
constexpr int kTensorMapArchitecture = 90;

void read_requires(Section& section, ImplementationRecipe& recipe) {
  recipe.requires_arch = "sm_80";
  const Node* node = section.find("requires", Node::Kind::text);
  if (node == nullptr) return;
  recipe.requires_arch = node->text;
  const int number = architecture(node->text);
  if (number >= kLeastArchitecture) return;
  section.mistakes().add(node->place, number == 0 ? fmt::format("{} is '{}'; write an architecture such as \"sm_80\" "
                                                                "or \"sm_90a\"",
                                                                section.what("requires"), node->text)
                                                  : fmt::format("{} is '{}'; the oldest architecture supported is "
                                                                "sm_80",
                                                                section.what("requires"), node->text));
}

std::vector<std::int64_t> read_values(const Member& member, Mistakes& mistakes) {
  using Limits = std::numeric_limits<std::int32_t>;  // device code holds them as int
  std::vector<std::int64_t> values;
  const std::string what = fmt::format("parameter '{}'", member.key);
  if (!expect(member.value, Node::Kind::list, what, mistakes)) return values;
  if (member.value.items.empty()) mistakes.add(member.value.place, fmt::format("{} has no values", what));
  for (const Node& item : member.value.items) {
    if (!expect(item, Node::Kind::integer, fmt::format("each value of {}", what), mistakes)) continue;
    if (item.integer < Limits::min() || item.integer > Limits::max()) {
      mistakes.add(item.place, fmt::format("{}: {} does not fit an int", what, item.integer));
    } else if (std::ranges::find(values, item.integer) != values.end()) {
      mistakes.add(item.place, fmt::format("{}: {} appears twice", what, item.integer));
    } else if (member.key == "static_dims" && item.integer != 0 && item.integer != 1) {
      mistakes.add(item.place, fmt::format("{}: its values are 0 (dims are run-time values) and 1 (the dims of "
                                           "'specialize' are constants), not {}",
                                           what, item.integer));
    } else {
      values.push_back(item.integer);
    }
  }
  return values;
}

void check_size(const Implementation& implementation, const Node& space, Mistakes& mistakes) {
  constexpr std::size_t kMostConfigs = 1'000'000;
  std::size_t configs = 1;
  for (const Parameter& parameter : implementation.space) {
    configs *= std::max<std::size_t>(1, parameter.values.size());
    if (configs <= kMostConfigs) continue;
    mistakes.add(space.place, fmt::format("the space of '{}' has more than {} configs: split it into implementations, "
                                          "or drop values",
                                          implementation.recipe.name, kMostConfigs));
    return;
  }
}

void read_space(Section& section, Implementation& implementation, NameRegistry& names, Vocabulary& vocabulary) {
  Mistakes& mistakes = section.mistakes();
  const Node* space = section.find("space");
  if (space == nullptr) return;
  if (!expect(*space, Node::Kind::table, section.what("space"), mistakes)) {
    vocabulary.complete = false;
    return;
  }
  for (const Member& member : space->members) {
    if (!names.claim(member.key, "parameter", member.place, mistakes)) vocabulary.complete = false;
    implementation.space.push_back({member.key, read_values(member, mistakes)});
    implementation.recipe.parameters.push_back(member.key);
  }
  vocabulary.parameters = implementation.recipe.parameters;
  check_size(implementation, *space, mistakes);
}

void read_specialize(Section& section, Implementation& implementation, const OpPart& op) {
  Mistakes& mistakes = section.mistakes();
  const std::vector<Node>* list = section.find_texts("specialize");
  std::vector<std::string>& dims = implementation.recipe.specialize;
  for (const Node& dim : list == nullptr ? std::vector<Node>() : *list) {
    const std::vector<std::string>& known = op.vocabulary.dims;
    if (std::ranges::find(dims, dim.text) != dims.end()) {
      mistakes.add(dim.place, fmt::format("dim '{}' appears twice", dim.text));
    } else if (op.vocabulary.complete && std::ranges::find(known, dim.text) == known.end()) {
      mistakes.add(dim.place, fmt::format("{}: the op has no dim '{}'{}", section.what("specialize"), dim.text,
                                          suggestion(dim.text, known)));
    } else if (op.definition.interface.is_bucketed(dim.text)) {
      mistakes.add(dim.place, fmt::format("{}: '{}' is bucketed: calls of one plan have many values of it",
                                          section.what("specialize"), dim.text));
    } else {
      dims.push_back(dim.text);
    }
  }
  const auto knob = std::ranges::find(implementation.space, "static_dims", &Parameter::name);
  const bool has_knob = knob != implementation.space.end();
  const bool has_no_dims = list == nullptr ? section.find("specialize") == nullptr : list->empty();
  if (list != nullptr && !list->empty() && !has_knob) {
    mistakes.add(section.find("specialize")->place,
                 fmt::format("{} needs the parameter static_dims: static_dims = [0, 1]", section.what("specialize")));
  }
  if (has_knob && has_no_dims) {
    mistakes.add(section.find("space")->member("static_dims")->place,
                 "parameter 'static_dims' needs the dims that it makes constant: specialize = [\"…\"]");
  }
}

void read_constraints(Section& section, ImplementationRecipe& recipe, const Vocabulary& vocabulary) {
  const std::vector<Node>* list = section.find_texts("constraints");
  if (list == nullptr) return;
  for (const Node& text : *list) {
    auto formula = read_formula(text, section.what("constraints"), Stage::config, vocabulary, section.mistakes());
    if (formula) recipe.constraints.push_back(*std::move(formula));
  }
}

void read_align(Section& section, ImplementationRecipe& recipe, const OpPart& op, const Vocabulary& vocabulary) {
  Mistakes& mistakes = section.mistakes();
  const Node* table = section.find("align");
  if (table == nullptr) return;
  const auto read = [&](const Node* node, const std::string& what) {
    return node == nullptr ? std::nullopt : read_formula(*node, what, Stage::config, vocabulary, mistakes);
  };
  const bool is_table = table->kind == Node::Kind::table;
  std::optional<Section> align;
  if (is_table) align.emplace(*table, section.what("align"), mistakes);
  // The formula of all tensors that the table does not name.
  const auto others = is_table ? read(align->find("*"), align->what("*")) : read(table, section.what("align"));
  for (const std::string& arg : op.args.names(false)) {
    const Node* const node = align ? align->find(arg) : nullptr;
    if (auto formula = node != nullptr ? read(node, align->what(arg)) : others) {
      recipe.align.emplace(arg, *std::move(formula));
    }
  }
  if (align && op.args.complete) align->finish();
}

void read_covers(Section& section, ImplementationRecipe& recipe, const OpPart& op, const Vocabulary& vocabulary) {
  const Node* table = section.find("covers", Node::Kind::table);
  if (table == nullptr) return;
  Section covers(*table, section.what("covers"), section.mistakes());
  for (const std::string& dim : op.vocabulary.dims) {
    const Node* node = covers.find(dim);
    if (node == nullptr) continue;
    if (auto formula = read_formula(*node, covers.what(dim), Stage::config, vocabulary, section.mistakes())) {
      recipe.covers.emplace(dim, *std::move(formula));
    }
  }
  if (op.vocabulary.complete) covers.finish();
}

/// Each output must reach some kernel; otherwise the caller gets unwritten memory.
void check_outputs(const ImplementationRecipe& recipe, const OpPart& op, Place place, Mistakes& mistakes) {
  std::set<std::string> reached;
  for (const TensorMapRecipe& map : recipe.maps) reached.insert(map.arg);
  for (const KernelRecipe& kernel : recipe.kernels) {
    for (const KernelParam& param : kernel.params) {
      if (param.kind == KernelParam::Kind::ptr) reached.insert(param.name);
    }
  }
  for (const Argument& arg : op.args.args) {
    if (arg.role != ArgRole::out && arg.role != ArgRole::inout) continue;
    if (reached.contains(arg.name)) continue;
    mistakes.add(place, fmt::format("implementation '{}': no kernel takes the output '{}'", recipe.name, arg.name));
  }
}

/// `data_version` is the op's, or null.
std::string hash_of(const Node& table, const Member* data_version, const SourceClosure& closure,
                    const std::vector<SourceFile>& prelude) {
  // Lengths come first, so that different lists of texts have different bytes.
  std::string identity = "tilewright implementation 2\n";
  const auto add = [&](const std::string& text) { identity += fmt::format("{}\n{}\n", text.size(), text); };
  // Comments change no code, so sources count by their tokens.
  // Covers change no code and no launch, so editing them keeps measurements valid.
  Node measured = table;
  std::erase_if(measured.members, [](const Member& member) { return member.key == "covers"; });
  // Times on other data do not compare.
  if (data_version != nullptr) measured.members.push_back(*data_version);
  add(canonical_text(measured));
  for (const SourceFile& file : closure.files) add(tokens_of(file.text));
  for (const SourceFile& file : prelude) {
    const auto is_it = [&](const SourceFile& known) { return known.path == file.path; };
    if (std::ranges::none_of(closure.files, is_it)) add(tokens_of(file.text));
  }
  return content_hash(identity);
}

}  // namespace

std::optional<std::string> read_hash(const Node& own, const Node* op, Sources& sources, Mistakes& mistakes) {
  const auto of_op = [&](const char* key) { return op == nullptr ? nullptr : op->member(key); };
  std::optional<Node> table = extended(own, sources, mistakes);
  if (const Member* params = of_op("params"); table && params != nullptr) give_params(*table, *params);
  const Member* source = table ? table->member("source") : nullptr;
  if (source == nullptr || source->value.kind != Node::Kind::text) return std::nullopt;
  const SourceClosure* closure = sources.find(source->value, mistakes);
  if (closure == nullptr) return std::nullopt;
  return hash_of(*table, of_op("data_version"), *closure, sources.prelude());
}

ImplementationPart read_implementation(const Node& own, const OpPart& op, Sources& sources, Mistakes& mistakes) {
  ImplementationPart part;
  const std::size_t before = mistakes.unusable();
  std::optional<Node> whole = extended(own, sources, mistakes);
  // Half a table would report false mistakes.
  if (!whole) return part;
  part.takes_params = op.params != nullptr && give_params(*whole, *op.params);
  const Node& table = *whole;
  const Member* given = table.member("name");
  const bool has_name = given != nullptr && given->value.kind == Node::Kind::text;
  Section section(table, has_name ? fmt::format("implementation '{}'", given->value.text) : "[[implementation]]",
                  mistakes);
  ImplementationRecipe& recipe = part.implementation.recipe;
  if (const Node* node = section.need("name", Node::Kind::text)) {
    recipe.name = node->text;
    check_identifier(node->text, "implementation", node->place, mistakes);
  }
  static_cast<void>(section.find("extends"));  // already applied
  const Node* source = section.need("source", Node::Kind::text);
  const SourceClosure* closure = source == nullptr ? nullptr : sources.find(*source, mistakes);
  if (closure != nullptr) part.implementation.source = closure->files.front().path;

  Vocabulary vocabulary = op.vocabulary;
  NameRegistry names = op.names;
  read_requires(section, recipe);
  read_space(section, part.implementation, names, vocabulary);
  read_lets(table, section, names, vocabulary);
  read_specialize(section, part.implementation, op);
  read_constraints(section, recipe, vocabulary);
  read_align(section, recipe, op, vocabulary);
  read_covers(section, recipe, op, vocabulary);

  KernelReader kernels(op, vocabulary, closure, mistakes);
  const std::size_t before_kernels = mistakes.unusable();
  if (const Node* list = section.need("kernel", Node::Kind::list)) {
    if (list->items.empty()) mistakes.add(list->place, fmt::format("{} is empty", section.what("kernel")));
    for (const Node& kernel : list->items) kernels.read(kernel, recipe);
    kernels.finish();
    const int number = architecture(recipe.requires_arch);
    if (!recipe.maps.empty() && number >= kLeastArchitecture && number < kTensorMapArchitecture) {
      mistakes.add(section.place(), fmt::format("implementation '{}' uses tensor maps: it needs requires = \"sm_90\" "
                                                "or later",
                                                recipe.name));
    }
    const bool is_known = op.args.complete && mistakes.unusable() == before_kernels;
    if (is_known) check_outputs(recipe, op, section.place(), mistakes);
  }
  section.finish();
  part.sound = mistakes.unusable() == before;
  if (closure != nullptr) part.implementation.hash = hash_of(table, op.data_version, *closure, sources.prelude());
  return part;
}

}  // namespace tilewright::reading
