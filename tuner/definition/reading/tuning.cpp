// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tuner/definition/reading/op.hpp"
#include "tuner/definition/shapes.hpp"

namespace tilewright::reading {
namespace {

/// Blocks of 256 threads, one per 256 elements of the first output, up to a grid that fills any device.
Formula default_reference_grid(const OpPart& op, Place place, Mistakes& mistakes) {
  const Argument* output = nullptr;
  for (const Argument& arg : op.args.args) {
    if (arg.role != ArgRole::out && arg.role != ArgRole::inout) continue;
    // Prefer an output that is always present to a conditional one.
    if (output == nullptr || (output->when && !arg.when)) output = &arg;
  }
  std::string elements = "1";
  if (output != nullptr) {
    for (const Formula& extent : output->shape) elements += fmt::format(" * ({})", extent.text());
  }
  const std::string text = fmt::format("min(ceil_div({}, 256), 4096)", elements);
  return Formula::parse(text, {mistakes.file(), place.line, place.column});
}

/// A sampled reference leaves poison in unwritten elements, so outputs must be able to hold poison.
void check_sampled(const OpPart& op, Place place, Mistakes& mistakes) {
  const auto refuse = [&](const Argument& arg, std::string_view why) {
    mistakes.add(
        place, fmt::format("the reference of an op cannot be sampled where an output {}, as '{}' does", why, arg.name));
  };
  const auto is_whole = [](DType type) { return unit_roundoff(type) == 0; };
  const auto holds_whole_numbers = [&](const Argument& arg) {
    return arg.type ? is_whole(*arg.type) : std::ranges::any_of(op.definition.interface.dtypes, is_whole);
  };
  for (const Argument& arg : op.args.args) {
    if (arg.role == ArgRole::inout) {
      refuse(arg, "starts from an input's values");
    } else if (arg.role == ArgRole::out && holds_whole_numbers(arg)) {
      refuse(arg, "holds whole numbers");
    }
  }
}

void read_reference(Section& op_section, Sources& sources, OpPart& op) {
  Mistakes& mistakes = op_section.mistakes();
  const Node* table = op_section.need("reference", Node::Kind::table);
  if (table == nullptr) return;
  Section section(*table, "'reference' in [op]", mistakes);
  const Node* source = section.need("source", Node::Kind::text);
  const Node* entry = section.need("entry", Node::Kind::text);
  const SourceClosure* closure = source == nullptr ? nullptr : sources.find(*source, mistakes);
  Reference& reference = op.definition.reference;
  if (closure != nullptr) reference.source = closure->files.front().path;
  if (entry != nullptr) reference.entry = entry->text;
  if (closure != nullptr && entry != nullptr) {
    const bool is_known = op.args.complete && op.vocabulary.complete;
    const auto passed =
        is_known ? std::optional(passed_by(all_params(op.args.args, op.vocabulary.dims), op.args.args)) : std::nullopt;
    Sources::check_kernel(*closure, *entry, passed, "a reference, with every argument and then every dim,", mistakes);
  }
  if (const Node* sampled = section.find("sampled", Node::Kind::boolean)) {
    reference.sampled = sampled->boolean;
    if (reference.sampled) check_sampled(op, sampled->place, mistakes);
  }
  if (const Node* grid = section.find("grid")) {
    auto formula = read_formula(*grid, section.what("grid"), Stage::problem, op.vocabulary, mistakes);
    if (formula) reference.grid = *std::move(formula);
  } else {
    reference.grid = default_reference_grid(op, table->place, mistakes);
  }
  section.finish();
}

/// A dim's values in the command line's spelling.
std::optional<std::string> range_of(const Node& node, const std::string& dim, const std::string& what,
                                    Mistakes& mistakes) {
  const bool is_number = node.kind == Node::Kind::integer;
  if (!is_number && !expect(node, Node::Kind::text, what, mistakes)) return std::nullopt;
  const std::string text = is_number ? fmt::format("{}", node.integer) : node.text;
  try {
    static_cast<void>(parse_range(dim, text));
    return text;
  } catch (const UsageError& error) {
    mistakes.add(is_number ? node.place : node.content, error.what());
    return std::nullopt;
  }
}

std::vector<std::pair<std::string, std::string>> read_grid(const Node& table, const std::string& key, const OpPart& op,
                                                           Mistakes& mistakes) {
  std::vector<std::pair<std::string, std::string>> grid;
  Section section(table, fmt::format("'{}' in [op]", key), mistakes);
  for (const std::string& dim : op.vocabulary.dims) {
    const Node* node = section.need(dim);
    if (node == nullptr) continue;
    if (auto text = range_of(*node, dim, section.what(dim), mistakes)) grid.emplace_back(dim, *std::move(text));
  }
  if (op.vocabulary.complete) section.finish();
  return grid;
}

}  // namespace

void read_tuning(Section& section, Sources& sources, OpPart& op) {
  read_reference(section, sources, op);
  read_tolerance(section, op);
  read_samples(section, sources, op);
  if (const Node* grid = section.need("grid", Node::Kind::table)) {
    op.definition.grid = read_grid(*grid, "grid", op, section.mistakes());
  }
  if (const Node* grid = section.find("emulator_grid", Node::Kind::table)) {
    op.definition.emulator_grid = read_grid(*grid, "emulator_grid", op, section.mistakes());
  } else {
    op.definition.emulator_grid = op.definition.grid;
  }
}

}  // namespace tilewright::reading
