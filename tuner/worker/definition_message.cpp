// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <utility>

#include "tuner/worker/messages.hpp"

namespace tilewright {
namespace {

Message to_message(const std::optional<Formula>& formula) {
  return formula ? Message(formula->text()) : Message(nullptr);
}

Formula formula_from(const Message& message) { return Formula::parse(message.get<std::string>()); }

std::optional<Formula> maybe_formula_from(const Message& message) {
  return message.is_null() ? std::nullopt : std::optional(formula_from(message));
}

Message to_message(const ToleranceTable& table) {
  const auto numbers = [](const Tolerance& tolerance) {
    Message all = Message::array({tolerance.absolute, tolerance.relative});
    if (tolerance.norm) all.push_back(*tolerance.norm);
    return all;
  };
  Message types = Message::object();
  for (const auto& [type, tolerance] : table.by_type) types[std::string(name(type))] = numbers(tolerance);
  Message arguments = Message::object();
  for (const auto& [argument, tolerance] : table.by_argument) arguments[argument] = numbers(tolerance);
  return {{"when", to_message(table.when)}, {"types", std::move(types)}, {"arguments", std::move(arguments)}};
}

ToleranceTable tolerance_from(const Message& message) {
  ToleranceTable table;
  table.when = maybe_formula_from(message.at("when"));
  const auto tolerance_of = [](const Message& numbers) {
    Tolerance tolerance{numbers.at(0), numbers.at(1)};
    if (numbers.size() > 2) tolerance.norm = numbers.at(2).get<double>();
    return tolerance;
  };
  for (const auto& [type, numbers] : message.at("types").items()) {
    table.by_type[dtype_from(type).value()] = tolerance_of(numbers);
  }
  for (const auto& [argument, numbers] : message.at("arguments").items()) {
    table.by_argument[argument] = tolerance_of(numbers);
  }
  return table;
}

Message to_message(const MadeInput& made) {
  Message dims = Message::array();
  for (const auto& [dim, formula] : made.dims) dims.push_back({dim, formula.text()});
  return {{"op", to_message(*made.op)},
          {"output", made.output},
          {"attributes", made.attributes},
          {"dims", std::move(dims)}};
}

MadeInput made_input_from(const Message& message) {
  MadeInput made{std::make_shared<const OpDefinition>(definition_from(message.at("op"))), message.at("output")};
  message.at("attributes").get_to(made.attributes);
  for (const Message& dim : message.at("dims")) made.dims.emplace_back(dim.at(0), formula_from(dim.at(1)));
  return made;
}

Message to_message(const Samples& samples) {
  Message message = Message::object();
  for (const auto& [argument, sample] : samples) {
    message[argument] = {{"fill", sample.fill},
                         {"scale", sample.scale},
                         {"formula", to_message(sample.formula)},
                         {"index", sample.index},
                         {"where", to_message(sample.where)},
                         {"from", to_message(sample.from)},
                         {"to", to_message(sample.to)},
                         {"sometimes", to_message(sample.sometimes)},
                         {"made", sample.made ? to_message(*sample.made) : Message(nullptr)}};
  }
  return message;
}

Samples samples_from(const Message& message) {
  Samples samples;
  for (const auto& [argument, sample] : message.items()) {
    Sample& read = samples[argument];
    sample.at("fill").get_to(read.fill);
    sample.at("scale").get_to(read.scale);
    read.formula = maybe_formula_from(sample.at("formula"));
    sample.at("index").get_to(read.index);
    read.where = maybe_formula_from(sample.at("where"));
    read.from = maybe_formula_from(sample.at("from"));
    read.to = maybe_formula_from(sample.at("to"));
    read.sometimes = maybe_formula_from(sample.at("sometimes"));
    if (const Message& made = sample.at("made"); !made.is_null()) read.made = made_input_from(made);
  }
  return samples;
}

}  // namespace

Message to_message(const OpDefinition& definition) {
  Message tolerance = Message::array();
  for (const ToleranceTable& table : definition.tolerance) tolerance.push_back(to_message(table));
  Message more_samples = Message::array();
  for (const NamedSamples& more : definition.more_samples)
    more_samples.push_back({more.name, to_message(more.samples)});
  Message recipes = Message::array();
  for (const Implementation& implementation : definition.implementations) {
    recipes.push_back(to_json(implementation.recipe));
  }
  return {{"interface", to_json(definition.interface)},
          {"file", definition.file.native()},
          {"bytes", definition.bytes.text()},
          {"flops", definition.flops.text()},
          {"reference",
           {{"source", definition.reference.source.native()},
            {"entry", definition.reference.entry},
            {"grid", definition.reference.grid.text()},
            {"sampled", definition.reference.sampled}}},
          {"tolerance", std::move(tolerance)},
          {"samples", to_message(definition.samples)},
          {"draws", definition.draws},
          {"more_samples", std::move(more_samples)},
          {"recipes", std::move(recipes)},
          {"base", definition.base.text()}};
}

OpDefinition definition_from(const Message& message) {
  OpDefinition definition;
  definition.interface = interface_from_json(message.at("interface"));
  definition.file = message.at("file").get<std::string>();
  definition.bytes = formula_from(message.at("bytes"));
  definition.flops = formula_from(message.at("flops"));
  const Message& reference = message.at("reference");
  definition.reference.source = reference.at("source").get<std::string>();
  reference.at("entry").get_to(definition.reference.entry);
  definition.reference.grid = formula_from(reference.at("grid"));
  reference.at("sampled").get_to(definition.reference.sampled);
  for (const Message& table : message.at("tolerance")) definition.tolerance.push_back(tolerance_from(table));
  definition.samples = samples_from(message.at("samples"));
  message.at("draws").get_to(definition.draws);
  for (const Message& more : message.at("more_samples")) {
    definition.more_samples.push_back({more.at(0), samples_from(more.at(1))});
  }
  for (const Message& recipe : message.at("recipes")) {
    definition.implementations.emplace_back().recipe = recipe_from_json(recipe);
  }
  definition.base = Config::parse(message.at("base").get<std::string>());
  return definition;
}

}  // namespace tilewright
