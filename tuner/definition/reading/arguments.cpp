// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "cache/base/limits.hpp"
#include "tuner/definition/reading/names.hpp"

namespace tilewright::reading {
namespace {

constexpr std::array kTypes{DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32,
                            DType::i64, DType::u32, DType::u64,  DType::u8};

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const DType type : kTypes) names.emplace_back(name(type));
  return names;
}

std::optional<ArgRole> read_role(const Node& text, Mistakes& mistakes) {
  const auto role = arg_role_from(text.text);
  if (!role) {
    mistakes.add(text.place, fmt::format("unknown role '{}'{}", text.text,
                                         suggestion(text.text, {"in", "out", "inout", "scalar"})));
  }
  return role;
}

/// A whole number, with or without quotes.
std::optional<std::int64_t> whole(const Node& node) {
  if (node.kind == Node::Kind::integer) return node.integer;
  if (node.kind != Node::Kind::text) return std::nullopt;
  std::int64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [stop, error] = std::from_chars(node.text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::int64_t read_align(const Node& node, Section& section) {
  const auto align = whole(node);
  constexpr std::int64_t kMost = 1024;
  if (align && *align >= 1 && *align <= kMost && std::has_single_bit(static_cast<std::uint64_t>(*align))) return *align;
  section.mistakes().add(node.place, fmt::format("{} must be a power of two from 1 to {}: elements, not bytes",
                                                 section.what("align"), kMost));
  return 1;
}

/// Reads the keys that only tensors have.
void read_tensor(Section& section, Argument& arg, const Vocabulary& vocabulary) {
  constexpr std::size_t kMostDims = 8;
  if (const Node* shape = section.need("shape")) {
    auto extents =
        read_formulas(*shape, section.what("shape"), 1, kMostDims, Stage::problem, vocabulary, section.mistakes());
    if (extents) arg.shape = *std::move(extents);
  }
  if (const Node* align = section.find("align")) arg.align = read_align(*align, section);
  const Node* pitch = section.find("pitch", Node::Kind::text);
  if (pitch != nullptr && arg.shape.size() == 1) {
    section.mistakes().add(pitch->place,
                           fmt::format("{}: a tensor with one extent has no rows", section.what("pitch")));
  } else if (pitch != nullptr) {
    arg.pitch = pitch->text;
  }
  const std::vector<Node>* strides = section.find_texts("strides");
  if (strides == nullptr) return;
  const Place place = section.find("strides")->place;
  if (pitch != nullptr) {
    arg.pitch.clear();
    section.mistakes().add(place,
                           fmt::format("{}: the tensor has a pitch; it is one or the other", section.what("strides")));
  } else if (!arg.shape.empty() && strides->size() + 1 != arg.shape.size()) {
    section.mistakes().add(
        place, fmt::format("{} are {}; a tensor with {} extents has {}: one for each but the last",
                           section.what("strides"), strides->size(), arg.shape.size(), arg.shape.size() - 1));
  } else {
    for (const Node& scalar : *strides) arg.strides.push_back(scalar.text);
  }
}

void refuse_on_scalar(Section& section) {
  for (const char* key : {"shape", "align", "pitch", "strides", "alias"}) {
    if (const Node* node = section.find(key)) {
      section.mistakes().add(node->place, fmt::format("{}: a scalar has none", section.what(key)));
    }
  }
}

bool same_shape(const Argument& a, const Argument& b) {
  return std::ranges::equal(a.shape, b.shape, {}, &Formula::canonical, &Formula::canonical);
}

void check_alias(const Node& text, std::size_t output_index, const ArgumentList& list, Mistakes& mistakes) {
  const Argument& output = list.args[output_index];
  const Argument* input = list.find(text.text);
  if (input == nullptr) {
    if (list.complete) {
      mistakes.add(text.place, fmt::format("'{}' cannot alias '{}': there is no such argument{}", output.name,
                                           text.text, suggestion(text.text, list.names(false))));
    }
  } else if (!list.sound[output_index] || !list.sound[static_cast<std::size_t>(input - list.args.data())]) {
    return;  // their mistakes are already reported
  } else if (input->role != ArgRole::in) {
    mistakes.add(text.place, fmt::format("'{}' cannot alias '{}': only an argument with role \"in\" can be aliased",
                                         output.name, text.text));
  } else if (input->type != output.type) {
    mistakes.add(text.place, fmt::format("'{}' cannot alias '{}': their types differ", output.name, text.text));
  } else if (!same_shape(*input, output)) {
    mistakes.add(text.place, fmt::format("'{}' cannot alias '{}': their shapes differ", output.name, text.text));
  } else if (input->pitch.empty() != output.pitch.empty()) {
    mistakes.add(text.place,
                 fmt::format("'{}' cannot alias '{}': only one of them has a pitch", output.name, text.text));
  } else if (input->strides.empty() != output.strides.empty()) {
    mistakes.add(text.place,
                 fmt::format("'{}' cannot alias '{}': only one of them has strides", output.name, text.text));
  }
}

/// `what` is "the pitch" or "a stride".
void check_stride(const Node& text, const ArgumentList& list, const std::string& arg, std::string_view what,
                  Mistakes& mistakes) {
  const Argument* scalar = list.find(text.text);
  if (scalar == nullptr) {
    if (list.complete) {
      mistakes.add(text.place, fmt::format("{} of '{}' is '{}', and there is no such argument{}", what, arg, text.text,
                                           suggestion(text.text, list.names(true))));
    }
  } else if (!list.sound[static_cast<std::size_t>(scalar - list.args.data())]) {
    return;  // its mistake is already reported
  } else if (scalar->role != ArgRole::scalar || scalar->type != DType::i64) {
    mistakes.add(text.place,
                 fmt::format("{} of '{}' is '{}', which is not a scalar of type i64", what, arg, text.text));
  }
}

class ArgumentsReader {
 public:
  ArgumentsReader(const Vocabulary& vocabulary, Mistakes& mistakes) : vocabulary_(vocabulary), mistakes_(mistakes) {}

  void read(const Node& table) {
    if (!expect(table, Node::Kind::table, "each of 'args' in [op]", mistakes_)) {
      list_.complete = false;
      return;
    }
    const Member* given = table.member("name");
    const bool has_name = given != nullptr && given->value.kind == Node::Kind::text;
    Section section(table, has_name ? fmt::format("argument '{}'", given->value.text) : "an argument", mistakes_);
    Argument arg;
    const std::size_t before = mistakes_.unusable();
    read_name(section, arg);

    const Node* role = section.need("role", Node::Kind::text);
    const auto known_role = role == nullptr ? std::nullopt : read_role(*role, mistakes_);
    arg.role = known_role.value_or(ArgRole::in);
    if (const Node* type = section.find("type", Node::Kind::text); type != nullptr && type->text != "dtype") {
      arg.type = read_dtype(*type, section.what("type"), mistakes_);
    }
    if (!known_role) {
      // The required keys depend on the role, so nothing more can be checked.
      for (const char* key : {"shape", "align", "pitch", "strides"}) static_cast<void>(section.find(key));
    } else if (arg.role == ArgRole::scalar) {
      refuse_on_scalar(section);
    } else {
      read_tensor(section, arg, vocabulary_);
    }
    list_.sound.push_back(mistakes_.unusable() == before);
    if (const Node* when = section.find("when")) {
      arg.when = read_formula(*when, section.what("when"), Stage::call, vocabulary_, mistakes_);
    }
    const std::vector<Node>* alias = arg.role == ArgRole::scalar ? nullptr : section.find_texts("alias");
    if (alias != nullptr && known_role) note_alias(*alias, arg);
    if (!arg.pitch.empty()) pitches_.emplace_back(&table.member("pitch")->value, arg.name);
    if (!arg.strides.empty()) strides_.emplace_back(&table.member("strides")->value.items, arg.name);
    section.finish();
    list_.places.push_back(table.place);
    list_.args.push_back(std::move(arg));
  }

  ArgumentList take() {
    for (const auto& [text, output] : aliases_) check_alias(*text, output, list_, mistakes_);
    for (const auto& [text, arg] : pitches_) check_stride(*text, list_, arg, "the pitch", mistakes_);
    for (const auto& [texts, arg] : strides_) {
      const Formula* when = nullptr;
      for (std::size_t i = 0; i < texts->size(); ++i) {
        check_stride((*texts)[i], list_, arg, "a stride", mistakes_);
        const Argument* scalar = list_.find((*texts)[i].text);
        if (scalar == nullptr) continue;
        const Formula* const here = scalar->when ? &*scalar->when : nullptr;
        const bool is_same =
            (here == nullptr) == (when == nullptr) && (here == nullptr || here->canonical() == when->canonical());
        if (i > 0 && !is_same) {
          mistakes_.add((*texts)[i].place,
                        fmt::format("the strides of '{}' must have one 'when': a call has all or none", arg));
          break;
        }
        when = here;
      }
    }
    return std::move(list_);
  }

 private:
  void read_name(Section& section, Argument& arg) {
    const Node* node = section.need("name", Node::Kind::text);
    if (node == nullptr || !check_identifier(node->text, "argument", node->place, mistakes_)) {
      list_.complete = false;
    } else if (list_.find(node->text) != nullptr) {
      mistakes_.add(node->place, fmt::format("argument '{}' appears twice", node->text));
      list_.complete = false;
    }
    if (node != nullptr) arg.name = node->text;
  }

  void note_alias(const std::vector<Node>& alias, Argument& arg) {
    for (const Node& text : alias) {
      if (arg.role != ArgRole::out) {
        mistakes_.add(text.place, fmt::format("'{}' has role \"{}\": only an \"out\" argument may alias an input",
                                              arg.name, name(arg.role)));
        continue;
      }
      arg.alias.push_back(text.text);
      aliases_.emplace_back(&text, list_.args.size());
    }
  }

  const Vocabulary& vocabulary_;
  Mistakes& mistakes_;
  ArgumentList list_;
  /// Checked after all arguments are read: an output may precede its input, a tensor its pitch.
  std::vector<std::pair<const Node*, std::size_t>> aliases_;
  /// Each with the tensor's name.
  std::vector<std::pair<const Node*, std::string>> pitches_;
  std::vector<std::pair<const std::vector<Node>*, std::string>> strides_;
};

}  // namespace

const Argument* ArgumentList::find(std::string_view wanted) const noexcept {
  const auto found = std::ranges::find(args, wanted, &Argument::name);
  return found == args.end() ? nullptr : &*found;
}

std::vector<std::string> ArgumentList::names(bool scalars) const {
  std::vector<std::string> found;
  for (const Argument& arg : args) {
    if ((arg.role == ArgRole::scalar) == scalars) found.push_back(arg.name);
  }
  return found;
}

ArgumentList read_arguments(const Node& list, const Vocabulary& vocabulary, Mistakes& mistakes) {
  if (list.items.size() > kMostArgs) {
    mistakes.add(list.place,
                 fmt::format("an op has at most {} arguments, and this has {}", kMostArgs, list.items.size()));
    ArgumentList nothing;
    nothing.complete = false;
    return nothing;
  }
  ArgumentsReader reader(vocabulary, mistakes);
  for (const Node& table : list.items) reader.read(table);
  ArgumentList result = reader.take();
  const auto writes = [](const Argument& arg) { return arg.role == ArgRole::out || arg.role == ArgRole::inout; };
  const bool is_known = result.complete && std::ranges::find(result.sound, false) == result.sound.end();
  if (is_known && std::ranges::none_of(result.args, writes)) {
    mistakes.add(list.place, "no argument has role \"out\" or \"inout\": the op computes nothing");
  }
  return result;
}

std::optional<DType> read_dtype(const Node& text, const std::string& what, Mistakes& mistakes) {
  const auto type = dtype_from(text.text);
  if (!type) {
    std::vector<std::string> known = type_names();
    if (what.starts_with("'type'")) known.insert(known.begin(), "dtype");
    mistakes.add(text.place, fmt::format("{}: unknown type '{}'{}", what, text.text, suggestion(text.text, known)));
  }
  return type;
}

}  // namespace tilewright::reading
