// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/op_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/report/sources.hpp"

namespace tilewright {
namespace {

std::string shape_text(const Argument& argument) {
  std::vector<std::string> extents;
  for (const Formula& extent : argument.shape) extents.push_back(extent.text());
  return fmt::format("{}", fmt::join(extents, " x "));
}

Cell text_or_nothing(std::string text) {
  if (text.empty()) return {};
  return Cell(std::move(text));
}

}  // namespace

std::string attributes_text(const OpInterface& interface) {
  std::vector<std::string> parts;
  for (const Attribute& attribute : interface.attributes) {
    parts.push_back(fmt::format("{}={}", attribute.name, fmt::join(attribute.values, "|")));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string dtypes_text(const OpInterface& interface) {
  std::vector<std::string> names;
  for (const DType type : interface.dtypes) names.emplace_back(name(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

Table op_table(const OpDefinition& definition) {
  Table table;
  table.as_records = true;
  table.columns = {column("op", "op"),         column("summary", "summary"),       column("dims", "dims"),
                   column("dtypes", "dtypes"), column("attributes", "attributes"), column("base", "base"),
                   column("bytes", "bytes"),   column("flops", "flops"),           column("file", "file")};
  table.rows.push_back(
      {definition.interface.op, definition.summary, fmt::format("{}", fmt::join(definition.interface.dims, ", ")),
       dtypes_text(definition.interface), text_or_nothing(attributes_text(definition.interface)),
       definition.base.text(), definition.bytes.text(), definition.flops.text(), definition.file.string()});
  return table;
}

Table arguments_table(const OpDefinition& definition) {
  Table table;
  table.title = fmt::format("Arguments of {}, in the order of a call", definition.interface.op);
  const std::vector<Source<Argument>> sources{
      {column("argument", "argument"), [](const Argument& argument) { return Cell(argument.name); }},
      {column("role", "role"), [](const Argument& argument) { return Cell(std::string(name(argument.role))); }},
      {column("type", "type"),
       [](const Argument& argument) { return Cell(std::string(argument.type ? name(*argument.type) : "dtype")); }},
      {column("shape", "shape"), [](const Argument& argument) { return text_or_nothing(shape_text(argument)); }},
      {column("align", "align"), [](const Argument& argument) { return Cell(argument.align); }},
      {column("pitch", "pitch"),
       [](const Argument& argument) {
         return text_or_nothing(argument.strides.empty() ? argument.pitch
                                                         : fmt::format("{}", fmt::join(argument.strides, ", ")));
       }},
      {column("may_be", "may be"),
       [](const Argument& argument) { return text_or_nothing(fmt::format("{}", fmt::join(argument.alias, ", "))); }},
      {column("when", "when"),
       [](const Argument& argument) { return argument.when ? Cell(argument.when->text()) : Cell(); }}};
  fill(table, sources, definition.interface.args);
  return table;
}

Table parameters_table(const OpDefinition& definition) {
  Table table;
  table.title = fmt::format("Implementations of {} and their parameters", definition.interface.op);
  table.columns = {column("implementation", "implementation"),
                   column("requires", "requires"),
                   column("parameter", "parameter"),
                   {.name = "values", .heading = "values", .breakable = true}};
  for (const Implementation& implementation : definition.implementations) {
    for (const Parameter& parameter : implementation.space) {
      table.rows.push_back({implementation.recipe.name, implementation.recipe.requires_arch, parameter.name,
                            fmt::format("{}", fmt::join(parameter.values, ", "))});
    }
  }
  return table;
}

}  // namespace tilewright
