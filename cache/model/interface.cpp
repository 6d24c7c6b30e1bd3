// SPDX-License-Identifier: Apache-2.0
#include "cache/model/interface.hpp"

#include <fmt/format.h>

#include <array>

#include "cache/base/content_hash.hpp"
#include "cache/base/json_fields.hpp"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 4> kRoles{"in", "out", "inout", "scalar"};
constexpr std::string_view kOpDtype = "dtype";

using FormulaText = std::string (*)(const Formula&);

nlohmann::json argument_json(const Argument& argument, FormulaText text_of) {
  nlohmann::json shape = nlohmann::json::array();
  for (const Formula& extent : argument.shape) shape.push_back(text_of(extent));
  nlohmann::json json{{"name", argument.name},
                      {"role", name(argument.role)},
                      {"type", argument.type ? name(*argument.type) : kOpDtype},
                      {"shape", std::move(shape)},
                      {"align", argument.align},
                      {"alias", argument.alias}};
  // Left out where there is none, so that interfaces without a pitch keep the hash that they had before there was one.
  if (!argument.pitch.empty()) json["pitch"] = argument.pitch;
  if (!argument.strides.empty()) json["strides"] = argument.strides;
  if (argument.when) json["when"] = text_of(*argument.when);
  return json;
}

nlohmann::json interface_json(const OpInterface& interface, FormulaText text_of) {
  nlohmann::json dtypes = nlohmann::json::array();
  for (const DType type : interface.dtypes) dtypes.push_back(name(type));
  nlohmann::json attributes = nlohmann::json::array();
  for (const Attribute& attribute : interface.attributes) {
    attributes.push_back({{"name", attribute.name}, {"values", attribute.values}});
  }
  nlohmann::json args = nlohmann::json::array();
  for (const Argument& argument : interface.args) args.push_back(argument_json(argument, text_of));
  nlohmann::json json{{"op", interface.op},
                      {"dims", interface.dims},
                      {"dtypes", std::move(dtypes)},
                      {"attributes", std::move(attributes)},
                      {"args", std::move(args)}};
  // Left out where there is none, as a pitch is.
  for (const Formula& formula : interface.domain) json["domain"].push_back(text_of(formula));
  return json;
}

DType read_dtype(const JsonObject& object, const std::string& text) {
  const std::optional<DType> type = dtype_from(text);
  if (!type) object.fail(fmt::format("'{}' is not a type", text));
  return *type;
}

Formula read_formula(const JsonObject& object, std::string text, const std::string& field) {
  try {
    return Formula::parse(std::move(text), {fmt::format("{}: {}", object.what(), field), 0, 0});
  } catch (const DefinitionError& error) {
    object.fail(error.what());
  }
}

Argument read_argument(const nlohmann::json& json, const std::string& what) {
  JsonObject object(json, what);
  Argument argument;
  argument.name = object.text("name");
  const std::string role = object.text("role");
  if (const auto known = arg_role_from(role)) {
    argument.role = *known;
  } else {
    object.fail(fmt::format("'{}' is not a role", role));
  }
  if (const std::string type = object.text("type"); type != kOpDtype) argument.type = read_dtype(object, type);
  for (std::string& extent : object.texts("shape")) {
    argument.shape.push_back(read_formula(object, std::move(extent), element("shape", argument.shape.size())));
  }
  argument.align = object.integer("align");
  argument.alias = object.texts("alias");
  if (object.has("pitch")) argument.pitch = object.text("pitch");
  if (object.has("strides")) argument.strides = object.texts("strides");
  if (object.has("when")) argument.when = read_formula(object, object.text("when"), "when");
  object.finish();
  return argument;
}

}  // namespace

std::string_view name(ArgRole role) noexcept { return kRoles[static_cast<std::size_t>(role)]; }

std::optional<ArgRole> arg_role_from(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (kRoles[i] == name) return static_cast<ArgRole>(i);
  }
  return std::nullopt;
}

std::string OpInterface::hash() const {
  // JSON objects are sorted by key, so that equal interfaces give equal text. The number is to be raised should what is
  // hashed ever change its meaning.
  const nlohmann::json canonical = interface_json(*this, [](const Formula& formula) { return formula.canonical(); });
  return content_hash("interface 1 " + canonical.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::json to_json(const OpInterface& interface) {
  return interface_json(interface, [](const Formula& formula) { return formula.text(); });
}

OpInterface interface_from_json(const nlohmann::json& json) {
  JsonObject object(json, "an op's interface");
  OpInterface interface;
  interface.op = object.text("op");
  const std::string what = fmt::format("interface of {}", interface.op);
  interface.dims = object.texts("dims");
  for (const std::string& type : object.texts("dtypes")) interface.dtypes.push_back(read_dtype(object, type));
  for (const nlohmann::json& attribute : object.array("attributes")) {
    JsonObject fields(attribute, fmt::format("{}: {}", what, element("attributes", interface.attributes.size())));
    interface.attributes.push_back({fields.text("name"), fields.texts("values")});
    fields.finish();
  }
  for (const nlohmann::json& argument : object.array("args")) {
    interface.args.push_back(
        read_argument(argument, fmt::format("{}: {}", what, element("args", interface.args.size()))));
  }
  if (object.has("domain")) {
    for (std::string& text : object.texts("domain")) {
      interface.domain.push_back(read_formula(object, std::move(text), element("domain", interface.domain.size())));
    }
  }
  object.finish();
  return interface;
}

}  // namespace tilewright
