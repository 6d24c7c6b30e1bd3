// SPDX-License-Identifier: Apache-2.0
#include "cache/model/recipe.hpp"

#include <fmt/format.h>

#include <array>

#include "cache/base/dtype.hpp"
#include "cache/base/json_fields.hpp"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 6> kParamKinds{"ptr", "dim", "scalar", "map", "workspace", "value"};
constexpr std::array<std::string_view, 3> kZeros{"never", "once", "each"};

nlohmann::json texts_of(const std::vector<Formula>& formulas) {
  nlohmann::json texts = nlohmann::json::array();
  for (const Formula& formula : formulas) texts.push_back(formula.text());
  return texts;
}

nlohmann::json json_of(const TensorMapRecipe& map) {
  nlohmann::json json{{"name", map.name},
                      {"dims", texts_of(map.dims)},
                      {"box", texts_of(map.box)},
                      {"strides", texts_of(map.strides)},
                      {"swizzle", map.swizzle.text()}};
  // Left out if unused: older programs can then read the map.
  if (map.tf32 != Formula()) json["tf32"] = map.tf32.text();
  if (!map.stride_scalars.empty()) json["stride_scalars"] = map.stride_scalars;
  if (map.workspace.empty()) {
    json["arg"] = map.arg;
  } else {
    json["workspace"] = map.workspace;
    json["type"] = map.type ? name(*map.type) : kDTypeWord;
  }
  return json;
}

nlohmann::json json_of(const WorkspaceRecipe& workspace) {
  return {{"name", workspace.name}, {"bytes", workspace.bytes.text()}, {"zero", name(workspace.zero)}};
}

nlohmann::json json_of(const ValueRecipe& value) { return {{"name", value.name}, {"value", value.value.text()}}; }

nlohmann::json json_of(const KernelRecipe& kernel) {
  nlohmann::json params = nlohmann::json::array();
  for (const KernelParam& param : kernel.params) params.push_back(text(param));
  return {{"entry", kernel.entry},
          {"when", kernel.when.text()},
          {"params", std::move(params)},
          {"grid", texts_of(kernel.grid)},
          {"block", texts_of(kernel.block)},
          {"shared_bytes", kernel.shared_bytes.text()},
          {"cluster", texts_of(kernel.cluster)},
          {"nonportable_cluster", kernel.nonportable_cluster},
          {"pdl", kernel.pdl}};
}

template <class Item>
nlohmann::json array_of(const std::vector<Item>& items) {
  nlohmann::json array = nlohmann::json::array();
  for (const Item& item : items) array.push_back(json_of(item));
  return array;
}

Formula parsed(const JsonObject& object, std::string text, const std::string& field) {
  try {
    return Formula::parse(std::move(text), {fmt::format("{}: {}", object.what(), field), 0, 0});
  } catch (const DefinitionError& error) {
    object.fail(error.what());
  }
}

Formula read_formula(JsonObject& object, const std::string& field) { return parsed(object, object.text(field), field); }

std::vector<Formula> read_formulas(JsonObject& object, const std::string& field) {
  std::vector<Formula> formulas;
  for (std::string& text : object.texts(field)) {
    formulas.push_back(parsed(object, std::move(text), element(field, formulas.size())));
  }
  return formulas;
}

TensorMapRecipe read_map(JsonObject& object) {
  const bool over_workspace = object.has("workspace");
  TensorMapRecipe map{object.text("name"),
                      over_workspace ? std::string() : object.text("arg"),
                      read_formulas(object, "dims"),
                      read_formulas(object, "box"),
                      read_formulas(object, "strides"),
                      read_formula(object, "swizzle"),
                      object.has("tf32") ? read_formula(object, "tf32") : Formula()};
  if (object.has("stride_scalars")) map.stride_scalars = object.texts("stride_scalars");
  if (!over_workspace) return map;
  map.workspace = object.text("workspace");
  if (const std::string type = object.text("type"); type != kDTypeWord) {
    map.type = dtype_from(type);
    if (!map.type) object.fail(fmt::format("'{}' is not a type", type));
  }
  return map;
}

WorkspaceRecipe read_workspace(JsonObject& object) {
  WorkspaceRecipe workspace{object.text("name"), read_formula(object, "bytes")};
  const std::string zero = object.text("zero");
  const auto known = zero_from(zero);
  if (!known) object.fail(fmt::format("'{}' is not a way to zero a workspace", zero));
  workspace.zero = *known;
  return workspace;
}

ValueRecipe read_value(JsonObject& object) { return {object.text("name"), read_formula(object, "value")}; }

KernelRecipe read_kernel(JsonObject& object) {
  KernelRecipe kernel;
  kernel.entry = object.text("entry");
  kernel.when = read_formula(object, "when");
  for (const std::string& written : object.texts("params")) {
    const auto param = kernel_param_from(written);
    if (!param) object.fail(fmt::format("'{}' is not a kernel parameter", written));
    kernel.params.push_back(*param);
  }
  kernel.grid = read_formulas(object, "grid");
  kernel.block = read_formulas(object, "block");
  kernel.shared_bytes = read_formula(object, "shared_bytes");
  kernel.cluster = read_formulas(object, "cluster");
  kernel.nonportable_cluster = object.flag("nonportable_cluster");
  kernel.pdl = object.flag("pdl");
  return kernel;
}

template <class Item>
std::vector<Item> read_array(JsonObject& object, const std::string& field, Item (*read)(JsonObject&)) {
  std::vector<Item> items;
  for (const nlohmann::json& json : object.array(field)) {
    JsonObject fields(json, fmt::format("{}: {}", object.what(), element(field, items.size())));
    items.push_back(read(fields));
    fields.finish();
  }
  return items;
}

}  // namespace

std::string text(const KernelParam& param) {
  return fmt::format("{}:{}", kParamKinds[static_cast<std::size_t>(param.kind)], param.name);
}

std::optional<KernelParam> kernel_param_from(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return std::nullopt;
  for (std::size_t i = 0; i < kParamKinds.size(); ++i) {
    if (kParamKinds[i] != text.substr(0, colon)) continue;
    return KernelParam{static_cast<KernelParam::Kind>(i), std::string(text.substr(colon + 1))};
  }
  return std::nullopt;
}

std::string_view name(WorkspaceRecipe::Zero zero) noexcept { return kZeros[static_cast<std::size_t>(zero)]; }

std::optional<WorkspaceRecipe::Zero> zero_from(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kZeros.size(); ++i) {
    if (kZeros[i] == name) return static_cast<WorkspaceRecipe::Zero>(i);
  }
  return std::nullopt;
}

nlohmann::json to_json(const ImplementationRecipe& recipe) {
  nlohmann::json align = nlohmann::json::object();
  for (const auto& [arg, bytes] : recipe.align) align[arg] = bytes.text();
  nlohmann::json json{{"name", recipe.name},
                      {"requires", recipe.requires_arch},
                      {"parameters", recipe.parameters},
                      {"constraints", texts_of(recipe.constraints)},
                      {"specialize", recipe.specialize},
                      {"align", std::move(align)},
                      {"maps", array_of(recipe.maps)},
                      {"workspaces", array_of(recipe.workspaces)},
                      {"kernels", array_of(recipe.kernels)}};
  // Left out if empty: older programs can then read the recipe.
  for (const auto& [dim, cover] : recipe.covers) json["covers"][dim] = cover.text();
  if (!recipe.values.empty()) json["values"] = array_of(recipe.values);
  return json;
}

ImplementationRecipe recipe_from_json(const nlohmann::json& json) {
  std::string name = JsonObject(json, "an implementation's recipe").text("name");
  JsonObject object(json, fmt::format("recipe of {}", name));
  ImplementationRecipe recipe;
  recipe.name = object.text("name");
  recipe.requires_arch = object.text("requires");
  recipe.parameters = object.texts("parameters");
  recipe.constraints = read_formulas(object, "constraints");
  recipe.specialize = object.texts("specialize");
  JsonObject align(object.object("align"), fmt::format("{}: align", object.what()));
  for (const auto& [arg, bytes] : object.object("align").items()) recipe.align[arg] = read_formula(align, arg);
  if (object.has("covers")) {
    JsonObject covers(object.object("covers"), fmt::format("{}: covers", object.what()));
    for (const auto& [dim, cover] : object.object("covers").items()) recipe.covers[dim] = read_formula(covers, dim);
  }
  recipe.maps = read_array(object, "maps", read_map);
  recipe.workspaces = read_array(object, "workspaces", read_workspace);
  if (object.has("values")) recipe.values = read_array(object, "values", read_value);
  recipe.kernels = read_array(object, "kernels", read_kernel);
  object.finish();
  return recipe;
}

}  // namespace tilewright
