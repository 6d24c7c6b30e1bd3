// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tuner/definition/costs.hpp"
#include "tuner/definition/reading/lets.hpp"
#include "tuner/definition/reading/made_input.hpp"

namespace tilewright::reading {
namespace {

bool is_whole(DType type) { return unit_roundoff(type) <= 0; }

/// Reads a definition's samples: the first set, then the named sets.
class SamplesReader {
 public:
  SamplesReader(OpPart& op, Sources& sources, Mistakes& mistakes) : op_(op), sources_(sources), mistakes_(mistakes) {
    for (const Argument& arg : op.args.args) {
      if (is_whole_scalar(arg)) add_number(arg.name);
    }
    add_number(std::string(kDraw));
  }

  void read_first(const Node* table) {
    const Node nothing;
    read(table == nullptr ? nothing : *table, "[op.sample]", op_.definition.samples);
    for (std::size_t i = 0; i < op_.args.args.size() && op_.args.complete; ++i) {
      const Argument& arg = op_.args.args[i];
      if (arg.role != ArgRole::scalar || op_.definition.samples.contains(arg.name)) continue;
      mistakes_.add(op_.args.places[i],
                    fmt::format("scalar '{}' has no value in [op.sample]: which one shall the tuner "
                                "pass? Such as: sample = {{ {} = {} }}",
                                arg.name, arg.name, holds_whole_numbers(arg) ? "1" : "0.5"));
    }
  }

  void read_more(const Node& table) {
    for (const Member& member : table.members) {
      const std::string title = fmt::format("[op.samples.{}]", member.key);
      check_identifier(member.key, "sample", member.place, mistakes_);
      if (!expect(member.value, Node::Kind::table, title, mistakes_)) continue;
      if (member.value.members.empty()) {
        mistakes_.add(member.place, fmt::format("{} is empty, so it repeats [op.sample]", title));
      }
      op_.definition.more_samples.push_back({member.key, op_.definition.samples});
      read(member.value, title, op_.definition.more_samples.back().samples);
    }
  }

 private:
  void add_number(const std::string& name) {
    const auto& known = vocabulary_.dims;
    const auto is_attribute = [&](const Attribute& attribute) { return attribute.name == name; };
    if (std::ranges::find(known, name) != known.end()) return;
    if (std::ranges::any_of(vocabulary_.attributes, is_attribute)) return;
    vocabulary_.dims.push_back(name);
  }

  void read(const Node& table, const std::string& title, Samples& samples) {
    Section section(table, title, mistakes_);
    for (const Argument& arg : op_.args.args) {
      if (arg.role == ArgRole::out) continue;
      const Node* node = section.find(arg.name);
      if (node == nullptr) continue;
      samples[arg.name] = arg.role == ArgRole::scalar ? read_scalar(*node, arg) : read_tensor(*node, arg, title);
    }
    if (op_.args.complete) section.finish();
  }

  Sample read_scalar(const Node& node, const Argument& arg) {
    const std::string what = fmt::format("the sample of the scalar '{}'", arg.name);
    Sample sample{"value", 0.0};
    if (node.kind == Node::Kind::integer || node.kind == Node::Kind::text) {
      sample.formula = read_formula(node, what, Stage::problem, op_.vocabulary, mistakes_);
      if (node.kind == Node::Kind::integer) sample.scale = static_cast<double>(node.integer);
    } else if (node.kind == Node::Kind::real) {
      sample.scale = node.real;
      if (holds_whole_numbers(arg)) {
        mistakes_.add(node.place, fmt::format("{} must be a whole number, as '{}' is {}", what, arg.name,
                                              arg.type ? name(*arg.type) : "dtype"));
      }
    } else {
      mistakes_.add(node.place, fmt::format("{} must be a number or a formula, and is {}", what, name(node.kind)));
    }
    return sample;
  }

  Sample read_tensor(const Node& node, const Argument& arg, const std::string& set) {
    Sample sample;
    const std::string title = set == "[op.sample]" ? fmt::format("the sample of '{}'", arg.name)
                                                   : fmt::format("the sample of '{}' in {}", arg.name, set);
    if (!expect(node, Node::Kind::table, title, mistakes_)) return sample;
    Section section(node, title, mistakes_);
    if (node.member("op") != nullptr) {
      sample.fill = "made";
      sample.made = read_made_input(section, arg, op_, sources_, made_attributes_);
      return sample;
    }
    if (node.member("value") != nullptr || node.member("index") != nullptr) {
      read_formula_sample(node, section, arg, sample);
    } else {
      read_fill(section, arg, sample);
    }
    section.finish();
    return sample;
  }

  void read_fill(Section& section, const Argument& arg, Sample& sample) {
    static const std::vector<std::string> kRandom{"normal", "uniform"};
    static const std::vector<std::string> kWhole{"range", "prefix", "permutation"};
    const Node* fill = section.need("fill", Node::Kind::text);
    if (fill != nullptr) sample.fill = fill->text;
    if (std::ranges::find(kWhole, sample.fill) != kWhole.end()) {
      if (!holds_whole_numbers(arg)) {
        mistakes_.add(fill->place, fmt::format("a {} is of whole numbers, and '{}' is {}", sample.fill, arg.name,
                                               arg.type ? name(*arg.type) : "dtype, which is not always one of them"));
      }
      read_bounds(section, sample);
      return;
    }
    if (fill != nullptr && std::ranges::find(kRandom, sample.fill) == kRandom.end()) {
      std::vector<std::string> known = kRandom;
      known.insert(known.end(), kWhole.begin(), kWhole.end());
      mistakes_.add(fill->place, fmt::format("unknown fill '{}'{}", fill->text, suggestion(fill->text, known)));
    }
    if (const Node* scale = section.find("scale")) {
      sample.scale = number_of(*scale, section.what("scale"), mistakes_).value_or(1.0);
      if (!std::isfinite(sample.scale) || sample.scale <= 0) {
        mistakes_.add(scale->place, fmt::format("{} must be more than 0: other data would hide wrong kernels",
                                                section.what("scale")));
      }
    }
  }

  [[nodiscard]] bool holds_whole_numbers(const Argument& arg) const {
    return arg.type ? is_whole(*arg.type) : std::ranges::all_of(op_.vocabulary.dtypes, is_whole);
  }

  void read_bounds(Section& section, Sample& sample) {
    const auto read = [&](const Node* node, const char* key) -> std::optional<Formula> {
      if (node == nullptr) return std::nullopt;
      return read_formula(*node, section.what(key), Stage::problem, vocabulary_, mistakes_);
    };
    sample.to = read(section.need("to"), "to");
    if (sample.fill != "range") return;
    sample.from = read(section.find("from"), "from");
    sample.sometimes = read(section.find("sometimes"), "sometimes");
  }

  void read_formula_sample(const Node& node, Section& section, const Argument& arg, Sample& sample) {
    sample.fill = "formula";
    Vocabulary vocabulary = vocabulary_;
    NameRegistry names = op_.names;
    if (const std::vector<Node>* index = section.need_texts("index")) {
      if (index->size() != arg.shape.size()) {
        mistakes_.add(section.find("index")->place,
                      fmt::format("{} must name the {} indices of '{}', and names {}", section.what("index"),
                                  arg.shape.size(), arg.name, index->size()));
      }
      for (const Node& each : *index) {
        if (std::ranges::find(vocabulary_.dims, each.text) != vocabulary_.dims.end() && !is_dim(each.text)) {
          mistakes_.add(each.place,
                        fmt::format("index '{}' clashes: there is a scalar, or `draw`, of that name", each.text));
        }
        if (!names.claim(each.text, "index", each.place, mistakes_)) vocabulary.complete = false;
        sample.index.push_back(each.text);
        vocabulary.dims.push_back(each.text);
      }
    } else {
      vocabulary.complete = false;
    }
    read_lets(node, section, names, vocabulary);
    for (const auto& [let, formula] : vocabulary.lets) vocabulary.dims.push_back(let);
    const auto read = [&](const Node* formula, const char* key) -> std::optional<Formula> {
      if (formula == nullptr) return std::nullopt;
      return read_formula(*formula, section.what(key), Stage::problem, vocabulary, mistakes_);
    };
    sample.formula = read(section.need("value"), "value");
    sample.where = read(section.find("where"), "where");
    if (const Node* scale = section.find("scale")) {
      sample.scale = number_of(*scale, section.what("scale"), mistakes_).value_or(1.0);
      if (holds_whole_numbers(arg)) {
        mistakes_.add(scale->place, fmt::format("'{}' is of whole numbers: multiply in 'value'", arg.name));
      } else if (!std::isfinite(sample.scale) || sample.scale == 0) {
        mistakes_.add(scale->place, fmt::format("{} must be a number other than 0", section.what("scale")));
      }
    }
  }

  [[nodiscard]] bool is_dim(const std::string& name) const {
    return std::ranges::find(op_.vocabulary.dims, name) != op_.vocabulary.dims.end();
  }

  OpPart& op_;
  Sources& sources_;
  Mistakes& mistakes_;
  /// For tensor formulas.
  Vocabulary vocabulary_ = op_.vocabulary;
  MadeAttributes made_attributes_{};
};

void read_draws(Section& section, OpPart& op) {
  constexpr const char* kDraws = "draws";
  constexpr std::int64_t kMost = 16;
  const Node* node = section.find(kDraws);
  if (node == nullptr) return;
  std::int64_t count = 0;
  std::vector<std::string> names;
  if (node->kind == Node::Kind::list) {
    const std::vector<Node>* texts = section.find_texts(kDraws);
    if (texts == nullptr) return;
    for (const Node& each : *texts) names.push_back(each.text);
    count = static_cast<std::int64_t>(names.size());
  } else if (expect(*node, Node::Kind::integer, section.what(kDraws), section.mistakes())) {
    count = node->integer;
  } else {
    return;
  }
  if (count < 1 || count > kMost) {
    section.mistakes().add(node->place, fmt::format("{} must be 1 to {}", section.what(kDraws), kMost));
    return;
  }
  op.definition.draws = count;
  op.definition.draw_names = std::move(names);
}

/// Inputs that costs sum must have elements known without a device.
void check_costs(const OpPart& op, Mistakes& mistakes) {
  for (const Formula* cost : {&op.definition.bytes, &op.definition.flops}) {
    for (const std::string& name : cost->names()) {
      const Argument* arg = op.args.find(name);
      if (arg == nullptr || !is_summed(*arg) || op.vocabulary.is_of_problem(name)) continue;
      const auto sample = op.definition.samples.find(name);
      if (sample != op.definition.samples.end() && sample->second.fill == "formula" && !sample->second.where) continue;
      const SourcePlace& place = cost->place();
      mistakes.add(DefinitionError(
          {{place.file, place.line, place.column,
            fmt::format("`{}` sums the elements of '{}', which no formula alone fills: write [op.sample.{}] with "
                        "'index' and 'value', and no 'where'",
                        cost->text(), name, name)}}));
    }
  }
}

}  // namespace

void read_samples(Section& section, Sources& sources, OpPart& op) {
  SamplesReader reader(op, sources, section.mistakes());
  reader.read_first(section.find("sample", Node::Kind::table));
  if (const Node* more = section.find("samples", Node::Kind::table)) reader.read_more(*more);
  read_draws(section, op);
  check_costs(op, section.mistakes());
}

}  // namespace tilewright::reading
