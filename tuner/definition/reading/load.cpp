// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tuner/definition/definition.hpp"
#include "tuner/definition/reading/fusion.hpp"
#include "tuner/definition/reading/implementation.hpp"
#include "tuner/definition/reading/op.hpp"
#include "tuner/definition/reading/rehearsal.hpp"

namespace tilewright {
namespace {

using namespace reading;

/// Reads all `[[implementation]]` tables. Returns which of them can be planned.
std::vector<bool> read_implementations(const Node& list, OpPart& op, Sources& sources, Mistakes& mistakes) {
  std::vector<bool> is_plannable;
  bool takes_params = false;
  for (const Node& table : list.items) {
    if (!expect(table, Node::Kind::table, "[[implementation]]", mistakes)) continue;
    ImplementationPart part = read_implementation(table, op, sources, mistakes);
    for (const Implementation& other : op.definition.implementations) {
      if (other.recipe.name.empty() || other.recipe.name != part.implementation.recipe.name) continue;
      mistakes.add(table.member("name")->value.place,
                   fmt::format("implementation '{}' appears twice", other.recipe.name));
      part.sound = false;
    }
    takes_params = takes_params || part.takes_params;
    is_plannable.push_back(op.sound && part.sound);
    op.definition.implementations.push_back(std::move(part.implementation));
  }
  if (op.params != nullptr && !takes_params) {
    mistakes.add(op.params->place, "no kernel takes the 'params' of [op]: each lists its own");
  }
  return is_plannable;
}

}  // namespace

std::vector<std::string> implementation_hashes(const std::filesystem::path& toml_file,
                                               const std::vector<std::filesystem::path>& kernel_dirs) {
  const std::filesystem::path file = std::filesystem::absolute(toml_file).lexically_normal();
  Mistakes mistakes(toml_file.string());
  const Node root = parse_toml(read_file(file), mistakes.file());
  Sources sources(file.parent_path(), kernel_dirs);
  std::vector<std::string> hashes;
  const Member* list = root.member("implementation");
  if (list == nullptr) return hashes;
  const Member* op = root.member("op");
  for (const Node& table : list->value.items) {
    if (auto hash = read_hash(table, op == nullptr ? nullptr : &op->value, sources, mistakes)) {
      hashes.push_back(*std::move(hash));
    }
  }
  return hashes;
}

OpDefinition reading::load(const std::filesystem::path& toml_file,
                           const std::vector<std::filesystem::path>& kernel_dirs, bool has_other_ops) {
  const std::filesystem::path file = std::filesystem::absolute(toml_file).lexically_normal();
  Mistakes mistakes(toml_file.string());
  const Node root = parse_toml(read_file(file), mistakes.file());
  Sources sources(file.parent_path(), kernel_dirs, has_other_ops);

  Section top(root, "the definition", mistakes);
  const Node* op_table = top.need("op", Node::Kind::table);
  const Node* list = top.need("implementation", Node::Kind::list);
  const Node* fusion = top.find("fusion", Node::Kind::table);
  top.finish();
  // Without [op] nothing else can be checked.
  if (op_table == nullptr) mistakes.throw_if_any();

  OpPart op = read_op(*op_table, file.stem().string(), sources, mistakes);
  op.definition.file = file;
  const std::size_t before_fusion = mistakes.unusable();
  if (fusion != nullptr) read_fusion(*fusion, op, mistakes);
  if (op.sound && mistakes.unusable() == before_fusion) rehearse_fusion(op.definition, mistakes);
  if (op.sound) rehearse_domain(op.definition, mistakes);
  if (op.sound) rehearse_samples(op.definition, mistakes);
  if (list != nullptr) {
    const std::vector<bool> is_plannable = read_implementations(*list, op, sources, mistakes);
    if (op.base != nullptr) op.definition.base = read_base(*op.base, op.definition, is_plannable, mistakes);
    for (std::size_t i = 0; i < is_plannable.size(); ++i) {
      if (is_plannable[i]) rehearse(op.definition, op.definition.implementations[i], mistakes);
    }
  }
  mistakes.throw_if_any();
  return std::move(op.definition);
}

OpDefinition load_definition(const std::filesystem::path& toml_file,
                             const std::vector<std::filesystem::path>& kernel_dirs) {
  return load(toml_file, kernel_dirs, true);
}

}  // namespace tilewright
