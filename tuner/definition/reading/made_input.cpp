// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/made_input.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/holds.hpp"

namespace tilewright::reading {
namespace {

const Attribute* attribute_of(const OpInterface& interface, const std::string& name) {
  const auto found = std::ranges::find(interface.attributes, name, &Attribute::name);
  return found == interface.attributes.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const auto& all) {
  std::vector<std::string> names;
  for (const auto& each : all) names.push_back(each.name);
  return names;
}

class MadeInputReader {
 public:
  MadeInputReader(Section& section, const Argument& arg, const OpPart& op, MadeAttributes& attributes)
      : section_(section), mistakes_(section.mistakes()), arg_(arg), own_(op), attributes_(attributes) {}

  std::optional<MadeInput> read(Sources& sources) {
    const std::size_t before = mistakes_.unusable();
    const Node* name = section_.need("op", Node::Kind::text);
    const Node* output = section_.need("output", Node::Kind::text);
    const Node* attributes = section_.find("attributes", Node::Kind::table);
    const Node* dims = section_.find("dims", Node::Kind::table);
    section_.finish();
    if (name == nullptr || output == nullptr) return std::nullopt;
    made_.op = sources.other_op(*name, mistakes_);
    if (made_.op == nullptr) return std::nullopt;
    check_dtypes(name->place);
    if (made_.op->reference.sampled) {
      mistakes_.add(name->place, fmt::format("the reference of {} is sampled: it leaves out elements that '{}' needs",
                                             other().op, arg_.name));
    }
    read_output(*output);
    if (attributes != nullptr) read_attributes(*attributes);
    add_attributes(name->place);
    read_dims(dims, name->place);
    if (mistakes_.unusable() != before) return std::nullopt;
    return std::move(made_);
  }

 private:
  [[nodiscard]] const OpInterface& other() const { return made_.op->interface; }

  void check_dtypes(Place place) {
    for (const DType type : own_.vocabulary.dtypes) {
      if (holds(other().dtypes, type)) continue;
      mistakes_.add(place, fmt::format("{} has no dtype {}, so it cannot make '{}' of this op", other().op, name(type),
                                       arg_.name));
    }
  }

  void read_output(const Node& node) {
    made_.output = node.text;
    std::vector<std::string> outputs;
    for (const Argument& arg : other().args) {
      if (arg.role != ArgRole::out) continue;
      outputs.push_back(arg.name);
      if (arg.name != node.text) continue;
      if (arg.type == arg_.type) return;
      const auto words = [](const std::optional<DType>& type) { return type ? name(*type) : "dtype"; };
      mistakes_.add(node.place, fmt::format("'{}' of {} has the type {}, but '{}' has {}", arg.name, other().op,
                                            words(arg.type), arg_.name, words(arg_.type)));
      return;
    }
    mistakes_.add(node.place,
                  fmt::format("{} has no output '{}'{}", other().op, node.text, suggestion(node.text, outputs)));
  }

  void read_attributes(const Node& table) {
    for (const Member& member : table.members) {
      const Attribute* attribute = attribute_of(other(), member.key);
      if (attribute == nullptr) {
        mistakes_.add(member.place, fmt::format("{} has no attribute '{}'{}", other().op, member.key,
                                                suggestion(member.key, names_of(other().attributes))));
      } else if (attribute_of(own_.definition.interface, member.key) != nullptr) {
        mistakes_.add(member.place, fmt::format("attribute '{}' of {} takes this op's value; leave it out here",
                                                member.key, other().op));
      } else if (expect(member.value, Node::Kind::text, fmt::format("attribute '{}'", member.key), mistakes_)) {
        if (!holds(attribute->values, member.value.text)) {
          mistakes_.add(member.value.place,
                        fmt::format("attribute '{}' of {} has no value '{}'{}", member.key, other().op,
                                    member.value.text, suggestion(member.value.text, attribute->values)));
        }
        made_.attributes.emplace_back(member.key, member.value.text);
      }
    }
  }

  /// One struct holds this op's attributes and those of all ops that make its inputs.
  void add_attributes(Place place) {
    for (const Attribute& attribute : other().attributes) {
      if (const Attribute* own = attribute_of(own_.definition.interface, attribute.name)) {
        for (const std::string& value : own->values) {
          if (holds(attribute.values, value)) continue;
          mistakes_.add(place, fmt::format("attribute '{}' of {} takes this op's value, but cannot be '{}'",
                                           attribute.name, other().op, value));
        }
        continue;
      }
      const auto given =
          std::ranges::find(made_.attributes, attribute.name, &std::pair<std::string, std::string>::first);
      const std::string& value = given == made_.attributes.end() ? attribute.values.front() : given->second;
      const auto [there, is_new] = attributes_.emplace(attribute.name, value);
      if (is_new || there->second == value) continue;
      mistakes_.add(place, fmt::format("attribute '{}' is '{}' for {}, and '{}' where another input is made: one "
                                       "binary holds both references, so they share one value",
                                       attribute.name, value, other().op, there->second));
    }
  }

  void read_dims(const Node* table, Place place) {
    const Node nothing;
    Section dims(table == nullptr ? nothing : *table, section_.what("dims"), mistakes_);
    for (const std::string& dim : other().dims) {
      if (const Node* node = dims.find(dim)) {
        auto formula = read_formula(*node, dims.what(dim), Stage::problem, own_.vocabulary, mistakes_);
        if (formula) made_.dims.emplace_back(dim, *std::move(formula));
      } else if (holds(own_.vocabulary.dims, dim)) {
        made_.dims.emplace_back(dim, Formula::parse(dim, {mistakes_.file(), place.line, place.column}));
      } else {
        mistakes_.add(place, fmt::format("this op has no dim '{}', which {} has: give its value, as in dims = {{ {} = "
                                         "\"{}\" }}",
                                         dim, other().op, dim,
                                         own_.vocabulary.dims.empty() ? "1" : own_.vocabulary.dims.front()));
      }
    }
    dims.finish();
  }

  Section& section_;
  Mistakes& mistakes_;
  const Argument& arg_;
  const OpPart& own_;
  MadeAttributes& attributes_;
  MadeInput made_;
};

}  // namespace

std::optional<MadeInput> read_made_input(Section& section, const Argument& arg, const OpPart& op, Sources& sources,
                                         MadeAttributes& attributes) {
  return MadeInputReader(section, arg, op, attributes).read(sources);
}

}  // namespace tilewright::reading
