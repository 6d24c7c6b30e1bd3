// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cache/base/holds.hpp"
#include "tuner/definition/reading/implementation.hpp"

namespace tilewright::reading {
namespace {

/// The prefix of a scalar of the call.
constexpr std::string_view kScalar = "scalar:";

}  // namespace

void KernelReader::read(const Node& table, ImplementationRecipe& recipe) {
  if (!expect(table, Node::Kind::table, "[[implementation.kernel]]", mistakes_)) return;
  const Member* given = table.member("entry");
  const bool has_name = given != nullptr && given->value.kind == Node::Kind::text;
  Section section(table, has_name ? fmt::format("kernel '{}'", given->value.text) : "a kernel", mistakes_);
  KernelRecipe kernel;
  const Node* entry = section.need("entry", Node::Kind::text);
  const bool has_params = section.find("params") != nullptr;
  const std::vector<Node>* params = section.find_texts("params");
  if (params != nullptr) {
    for (const Node& text : *params) read_param(text, kernel);
  } else if (has_params) {
    uses_known_ = false;
  } else {
    kernel.params = all_params(op_.args.args, vocabulary_.dims);
  }
  if (entry != nullptr) {
    kernel.entry = entry->text;
    const bool is_known = params != nullptr || (!has_params && op_.args.complete && op_.vocabulary.complete);
    // A parameter that was not understood is already reported.
    const bool is_read = params == nullptr || params->size() == kernel.params.size();
    if (closure_ != nullptr) {
      Sources::check_kernel(*closure_, *entry,
                            is_known && is_read ? std::optional(passed_by(kernel.params, op_.args.args)) : std::nullopt,
                            has_params ? "'params'" : "the op (its arguments, then its dims)", mistakes_);
    }
  }
  read_launch(section, kernel);
  if (const Node* maps = section.find("map", Node::Kind::table)) {
    for (const Member& member : maps->members) read_map(member, recipe);
  }
  if (const Node* workspaces = section.find("workspace", Node::Kind::table)) {
    for (const Member& member : workspaces->members) read_workspace(member, recipe);
  }
  if (const Node* values = section.find("value", Node::Kind::table)) {
    for (const Member& member : values->members) read_value(member, recipe);
  }
  section.finish();
  recipe.kernels.push_back(std::move(kernel));
}

void KernelReader::read_param(const Node& text, KernelRecipe& kernel) {
  const auto param = kernel_param_from(text.text);
  if (!param) {
    const std::string kind = text.text.substr(0, text.text.find(':'));
    mistakes_.add(text.place,
                  fmt::format("'{}' is not a kernel parameter; write KIND:NAME, as in \"ptr:x\"{}", text.text,
                              suggestion(kind, {"ptr", "dim", "scalar", "map", "workspace", "value"})));
    uses_known_ = false;
    return;
  }
  const auto check = [&](const std::vector<std::string>& known, bool is_complete, const char* what) {
    if (is_complete && !holds(known, param->name)) {
      mistakes_.add(text.place, fmt::format("'{}': the op has no {} '{}'{}", text.text, what, param->name,
                                            suggestion(param->name, known)));
    }
  };
  switch (param->kind) {
    case KernelParam::Kind::ptr:
      check(op_.args.names(false), op_.args.complete, "tensor");
      break;
    case KernelParam::Kind::scalar:
      check(op_.args.names(true), op_.args.complete, "scalar");
      break;
    case KernelParam::Kind::dim:
      check(vocabulary_.dims, op_.vocabulary.complete, "dim");
      break;
    case KernelParam::Kind::map:
      used_maps_.emplace(param->name, &text);
      break;
    case KernelParam::Kind::workspace:
      used_workspaces_.emplace(param->name, &text);
      break;
    case KernelParam::Kind::value:
      used_values_.emplace(param->name, &text);
      break;
  }
  kernel.params.push_back(*param);
}

void KernelReader::read_launch(Section& section, KernelRecipe& kernel) {
  const auto list = [&](const Node* node, const char* key, Stage stage, std::vector<Formula>& into) {
    if (node == nullptr) return;
    auto formulas = read_formulas(*node, section.what(key), 1, 3, stage, vocabulary_, mistakes_);
    if (formulas) into = *std::move(formulas);
  };
  list(section.need("grid"), "grid", Stage::grid, kernel.grid);
  list(section.need("block"), "block", Stage::config, kernel.block);
  const auto one = [&](const char* key, Formula& into) {
    const Node* node = section.find(key);
    if (node == nullptr) return;
    auto formula = read_formula(*node, section.what(key), Stage::config, vocabulary_, mistakes_);
    if (formula) into = *std::move(formula);
  };
  one("when", kernel.when);
  one("shared_bytes", kernel.shared_bytes);
  const Node* attributes = section.find("attributes", Node::Kind::table);
  if (attributes == nullptr) return;
  Section launch(*attributes, fmt::format("'attributes' of kernel '{}'", kernel.entry), mistakes_);
  list(launch.find("cluster"), "cluster", Stage::config, kernel.cluster);
  if (const Node* flag = launch.find("nonportable_cluster", Node::Kind::boolean)) {
    kernel.nonportable_cluster = flag->boolean;
  }
  if (const Node* flag = launch.find("pdl", Node::Kind::boolean)) kernel.pdl = flag->boolean;
  launch.finish();
}

bool KernelReader::is_new(const Member& member, const char* kind, Definitions& defined) {
  const auto [entry, is_first] = defined.emplace(member.key, &member);
  if (!is_first && canonical_text(entry->second->value) != canonical_text(member.value)) {
    mistakes_.add(member.place, fmt::format("{} '{}' differs from the one of that name in line {}", kind, member.key,
                                            entry->second->place.line));
  }
  return is_first;
}

void KernelReader::read_target(Section& section, TensorMapRecipe& map) {
  const bool has_workspace = section.find("workspace") != nullptr;
  const Node* const type = section.find("type", Node::Kind::text);
  if (has_workspace) {
    if (const Node* const arg = section.find("arg")) {
      mistakes_.add(arg->place, fmt::format("{} has an 'arg' and a 'workspace': write one of them", section.title()));
    }
    if (type != nullptr && type->text != "dtype") map.type = read_dtype(*type, section.what("type"), mistakes_);
    const Node* const workspace = section.find("workspace", Node::Kind::text);
    if (workspace == nullptr) {
      uses_known_ = false;
      return;
    }
    map.workspace = workspace->text;
    used_workspaces_.emplace(workspace->text, workspace);
    return;
  }
  if (type != nullptr) {
    mistakes_.add(type->place, fmt::format("{}: the argument has a type of its own", section.what("type")));
  }
  const Node* const arg = section.find("arg", Node::Kind::text);
  if (arg == nullptr) {
    if (section.find("arg") == nullptr) {
      mistakes_.add(section.place(), fmt::format("{} has no 'arg' and no 'workspace'", section.title()));
    }
    return;
  }
  map.arg = arg->text;
  const std::vector<std::string> known = op_.args.names(false);
  if (op_.args.complete && !holds(known, arg->text)) {
    mistakes_.add(arg->place, fmt::format("{}: the op has no tensor '{}'{}", section.title(), arg->text,
                                          suggestion(arg->text, known)));
  }
}

void KernelReader::read_stride_scalars(const Node& list, const Section& section, TensorMapRecipe& map) {
  const std::string what = section.what("strides");
  if (map.dims.size() > 0 && list.items.size() + 1 != map.dims.size()) {
    mistakes_.add(list.place, fmt::format("{} are {}, and the map has {} dims: write one stride fewer", what,
                                          list.items.size(), map.dims.size()));
    return;
  }
  const Argument* arg = op_.args.find(map.arg);
  for (const Node& item : list.items) {
    if (!expect(item, Node::Kind::text, fmt::format("each of {}", what), mistakes_)) return;
    if (!item.text.starts_with(kScalar)) {
      mistakes_.add(item.place,
                    fmt::format("{}: '{}' among scalars of the call; write \"scalar:ARG\"", what, item.text));
      return;
    }
    map.stride_scalars.push_back(item.text.substr(kScalar.size()));
    if (arg == nullptr || holds(arg->strides, map.stride_scalars.back())) continue;
    mistakes_.add(item.place, fmt::format("{}: '{}' is not a stride of '{}'{}", what, map.stride_scalars.back(),
                                          map.arg, suggestion(map.stride_scalars.back(), arg->strides)));
    return;
  }
  if (map.arg.empty()) {
    mistakes_.add(list.place, fmt::format("{}: a workspace has no strides of the call", what));
    return;
  }
  // If these scalars are absent, the map is of a dense tensor, whose strides grow from the last extent to the first.
  const Argument* first = map.stride_scalars.empty() ? nullptr : op_.args.find(map.stride_scalars.front());
  if (arg == nullptr || first == nullptr || !first->when) return;
  if (!std::ranges::equal(arg->strides.rbegin(), arg->strides.rend(), map.stride_scalars.begin(),
                          map.stride_scalars.end())) {
    mistakes_.add(
        list.place,
        fmt::format("{}: a call may leave out the strides of '{}': write all of them, the last first", what, map.arg));
  }
}

void KernelReader::read_map(const Member& member, ImplementationRecipe& recipe) {
  const std::string title = fmt::format("tensor map '{}'", member.key);
  if (!expect(member.value, Node::Kind::table, title, mistakes_) || !is_new(member, "tensor map", maps_)) return;
  Section section(member.value, title, mistakes_);
  TensorMapRecipe map;
  map.name = member.key;
  read_target(section, map);
  const auto list = [&](const Node* node, const char* key, std::size_t least, std::size_t most) {
    auto formulas = node == nullptr
                        ? std::nullopt
                        : read_formulas(*node, section.what(key), least, most, Stage::config, vocabulary_, mistakes_);
    return std::move(formulas).value_or(std::vector<Formula>());
  };
  constexpr std::size_t kMostDims = 5;  // cuTensorMapEncodeTiled's limit
  map.dims = list(section.need("dims"), "dims", 1, kMostDims);
  const std::size_t rank = map.dims.size();
  const bool is_known = rank > 0;
  map.box = list(section.need("box"), "box", is_known ? rank : 1, is_known ? rank : kMostDims);
  const Node* strides = section.find("strides", Node::Kind::list);
  if (strides != nullptr && !strides->items.empty() && strides->items.front().kind == Node::Kind::text &&
      strides->items.front().text.starts_with(kScalar)) {
    read_stride_scalars(*strides, section, map);
  } else {
    map.strides = list(strides, "strides", is_known ? rank - 1 : 0, is_known ? rank - 1 : kMostDims);
  }
  // An extent of the call must not change the strides: either they come with the call, too, or it is the last extent.
  std::size_t of_call = 0;
  for (std::size_t i = 0; !map.arg.empty() && i < rank; ++i) {
    const Formula& extent = map.dims[i];
    for (const std::string& dim : extent.names()) {
      if (!op_.definition.interface.is_bucketed(dim)) continue;
      const bool is_free = !map.stride_scalars.empty() || i + 1 == rank;
      if (extent.text() == dim && is_free && ++of_call == 1) continue;
      const SourcePlace& place = extent.place();
      mistakes_.add(DefinitionError({{place.file, place.line, place.column,
                                      fmt::format("{}: '{}' is bucketed, and a map of `{}` reads beyond '{}': write it "
                                                  "alone, once, with strides of the call or as the last one",
                                                  section.what("dims"), dim, extent.text(), map.arg)}}));
    }
  }
  if (const Node* node = section.find("swizzle")) {
    auto swizzle = read_formula(*node, section.what("swizzle"), Stage::config, vocabulary_, mistakes_);
    if (swizzle) map.swizzle = *std::move(swizzle);
  }
  if (const Node* node = section.find("tf32")) {
    auto tf32 = read_formula(*node, section.what("tf32"), Stage::config, vocabulary_, mistakes_);
    if (tf32) map.tf32 = *std::move(tf32);
  }
  section.finish();
  recipe.maps.push_back(std::move(map));
}

void KernelReader::read_workspace(const Member& member, ImplementationRecipe& recipe) {
  const std::string title = fmt::format("workspace '{}'", member.key);
  if (!expect(member.value, Node::Kind::table, title, mistakes_) || !is_new(member, "workspace", workspaces_)) return;
  Section section(member.value, title, mistakes_);
  WorkspaceRecipe workspace;
  workspace.name = member.key;
  if (const Node* bytes = section.need("bytes")) {
    auto formula = read_formula(*bytes, section.what("bytes"), Stage::config, vocabulary_, mistakes_);
    if (formula) workspace.bytes = *std::move(formula);
  }
  if (const Node* zero = section.find("zero", Node::Kind::text)) {
    const auto known = zero_from(zero->text);
    if (!known) {
      mistakes_.add(zero->place, fmt::format("{}: unknown '{}'{}", section.what("zero"), zero->text,
                                             suggestion(zero->text, {"never", "once", "each"})));
    }
    workspace.zero = known.value_or(WorkspaceRecipe::Zero::never);
  }
  section.finish();
  recipe.workspaces.push_back(std::move(workspace));
}

void KernelReader::read_value(const Member& member, ImplementationRecipe& recipe) {
  if (!is_new(member, "value", values_)) return;
  auto formula =
      read_formula(member.value, fmt::format("value '{}'", member.key), Stage::config, vocabulary_, mistakes_);
  if (formula) recipe.values.push_back({member.key, *std::move(formula)});
}

void KernelReader::check_uses(const char* kind, const Definitions& defined,
                              const std::map<std::string, const Node*>& used) const {
  std::vector<std::string> known;
  for (const auto& [name, member] : defined) known.push_back(name);
  bool all_defined = true;
  for (const auto& [name, text] : used) {
    if (defined.contains(name)) continue;
    all_defined = false;
    mistakes_.add(text->place,
                  fmt::format("'{}': no {} of that name is defined{}", text->text, kind, suggestion(name, known)));
  }
  // A misspelt use also leaves its definition unused: report one mistake.
  if (!uses_known_ || !all_defined) return;
  for (const auto& [name, member] : defined) {
    if (used.contains(name)) continue;
    mistakes_.add(member->place, fmt::format("{} '{}' is defined, and no kernel takes it", kind, name));
  }
}

void KernelReader::finish() {
  check_uses("tensor map", maps_, used_maps_);
  check_uses("workspace", workspaces_, used_workspaces_);
  check_uses("value", values_, used_values_);
}

}  // namespace tilewright::reading
