// SPDX-License-Identifier: Apache-2.0
#include "cache/model/interface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cache/base/content_hash.hpp"
#include "cache/base/decode.hpp"
#include "cache/base/dtype.hpp"
#include "cache/base/json_fields.hpp"
#include "cache/base/json_text.hpp"
#include "cache/model/bucket.hpp"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 4> kRoles{"in", "out", "inout", "scalar"};

using FormulaText = std::string (*)(const Formula&);

std::vector<std::string> texts_of(const std::vector<Formula>& formulas, FormulaText text_of) {
  std::vector<std::string> texts;
  for (const Formula& formula : formulas) texts.push_back(text_of(formula));
  return texts;
}

// Names are sorted, so that equal interfaces have equal texts. Fields added later are left out if they are empty, so
// that older hashes stay the same.

JsonText argument_text(const Argument& argument, FormulaText text_of) {
  JsonText json;
  json.add("alias", argument.alias).add("align", argument.align).add("name", argument.name);
  if (!argument.pitch.empty()) json.add("pitch", argument.pitch);
  json.add("role", name(argument.role)).add("shape", texts_of(argument.shape, text_of));
  if (!argument.strides.empty()) json.add("strides", argument.strides);
  json.add("type", argument.type ? name(*argument.type) : kDTypeWord);
  if (argument.when) json.add("when", text_of(*argument.when));
  return json;
}

std::string interface_text(const OpInterface& interface, FormulaText text_of) {
  std::vector<JsonText> args;
  for (const Argument& argument : interface.args) args.push_back(argument_text(argument, text_of));
  std::vector<JsonText> attributes;
  for (const Attribute& attribute : interface.attributes) {
    attributes.push_back(JsonText().add("name", attribute.name).add("values", attribute.values));
  }
  std::vector<std::string> dtypes;
  for (const DType type : interface.dtypes) dtypes.emplace_back(name(type));
  JsonText json;
  json.add_list("args", args).add_list("attributes", attributes);
  if (!interface.bucketed.empty()) json.add("bucketed", interface.bucketed);
  json.add("dims", interface.dims);
  if (!interface.domain.empty()) json.add("domain", texts_of(interface.domain, text_of));
  json.add("dtypes", dtypes).add("op", interface.op);
  return json.text();
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
  if (const std::string type = object.text("type"); type != kDTypeWord) argument.type = read_dtype(object, type);
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

bool OpInterface::is_bucketed(std::string_view dim) const noexcept {
  return std::ranges::find(bucketed, dim) != bucketed.end();
}

std::int64_t OpInterface::planned_extent(std::size_t index, std::int64_t extent) const noexcept {
  return is_bucketed(dims[index]) ? bucket_of(extent) : extent;
}

std::string OpInterface::hash() const {
  // Raise the number if the meaning of the hashed text changes.
  return content_hash("interface 1 " +
                      interface_text(*this, [](const Formula& formula) { return formula.canonical(); }));
}

nlohmann::json to_json(const OpInterface& interface) {
  return decode_json(interface_text(interface, [](const Formula& formula) { return formula.text(); })).take();
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
  if (object.has("bucketed")) interface.bucketed = object.texts("bucketed");
  if (object.has("domain")) {
    for (std::string& text : object.texts("domain")) {
      interface.domain.push_back(read_formula(object, std::move(text), element("domain", interface.domain.size())));
    }
  }
  object.finish();
  return interface;
}

}  // namespace tilewright
