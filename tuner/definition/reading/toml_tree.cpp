// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/toml_tree.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace tilewright::reading {
/// What the parser takes for granted does not hold.
struct BrokenAssumption final : std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn]] static void break_off(const char* assumption) { throw BrokenAssumption(assumption); }
}  // namespace tilewright::reading

// toml++ 3.3 asserts that a name and a value begin as such do, which text from outside need not; with NDEBUG it tells
// the compiler so instead, which may then make anything of it. Here it is an error like any other.
#ifdef NDEBUG
#define TILEWRIGHT_NDEBUG
#undef NDEBUG
#endif
#define TOML_ASSERT(holds) (static_cast<bool>(holds) ? static_cast<void>(0) : tilewright::reading::break_off(#holds))
// Lists and inline tables within each other: the parser recurses.
#define TOML_MAX_NESTED_VALUES 64
#include <toml++/toml.h>
#ifdef TILEWRIGHT_NDEBUG
#define NDEBUG
#endif

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cache/base/decode.hpp"
#include "cache/base/error.hpp"

namespace tilewright::reading {
namespace {

Place place_of(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

/// Names of one key, with dots between them: the parser makes a table of each, and frees them by recursion.
constexpr std::size_t kMostNames = 16;

[[noreturn]] void refuse(const std::string& file, Place place, std::string why) {
  throw DefinitionError({{file, place.line, place.column, std::move(why)}});
}

bool is_before(const Place& a, const Place& b) { return std::tie(a.line, a.column) < std::tie(b.line, b.column); }

/// A text in three quotes, and its first character: behind a line break that follows the quotes.
struct LongText {
  Place quote;
  Place content;
};

/// Passes through a file ahead of the parser. Knows texts, comments and the dots of keys.
class Scan {
 public:
  Scan(std::string_view text, const std::string& file) : rest_(text), file_(file) {
    if (text.size() > kMostBytes) refuse(file_, {}, fmt::format("it has more than {} bytes", kMostBytes));
  }

  /// The long texts in their order. Throws DefinitionError for a key of too many names.
  std::vector<LongText> run() {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '"' || c == '\'') {
        pass_text(c);
      } else if (c == '#') {
        while (!rest_.empty() && rest_.front() != '\n') pass(1);
      } else {
        count_names(c);
        pass(1);
      }
    }
    return std::move(texts_);
  }

 private:
  void count_names(char c) {
    if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) names_ = 1;
    if (c == '.' && ++names_ > kMostNames) {
      refuse(file_, place_, fmt::format("a key of more than {} names", kMostNames));
    }
  }

  void pass_text(char quote) {
    const Place begin = place_;
    const bool is_long = rest_.starts_with(std::string(3, quote));
    const std::string end(is_long ? 3 : 1, quote);
    pass(end.size());
    if (is_long) {
      if (rest_.starts_with("\r\n")) pass(1);
      if (rest_.starts_with('\n')) pass(1);
      texts_.push_back({begin, place_});
    }
    while (!rest_.empty() && !rest_.starts_with(end)) pass(quote == '"' && rest_.front() == '\\' ? 2 : 1);
    pass(end.size());
    // Two more quotes may belong to a long text.
    while (is_long && rest_.starts_with(quote)) pass(1);
  }

  /// So many bytes; columns count UTF-8 characters.
  void pass(std::size_t count) {
    for (; count > 0 && !rest_.empty(); --count) {
      const bool ends_line = rest_.front() == '\n';
      rest_.remove_prefix(1);
      const bool continues = !rest_.empty() && (static_cast<unsigned char>(rest_.front()) & 0xC0) == 0x80;
      if (ends_line) {
        place_ = {place_.line + 1, 1};
      } else if (!continues) {
        ++place_.column;
      }
    }
  }

  std::string_view rest_;
  const std::string& file_;
  Place place_{1, 1};
  std::size_t names_ = 1;
  std::vector<LongText> texts_;
};

/// Where the characters of the text at `quote` begin.
Place content_place(const std::vector<LongText>& long_texts, Place quote) {
  const auto found = std::ranges::lower_bound(long_texts, quote, is_before, &LongText::quote);
  if (found != long_texts.end() && !is_before(quote, found->quote)) return found->content;
  return {quote.line, quote.column + 1};
}

Node convert(const toml::node& from_parser, const std::vector<LongText>& long_texts) {
  Node node;
  node.place = place_of(from_parser.source());
  from_parser.visit([&](const auto& value) {
    using Kind = Node::Kind;
    if constexpr (toml::is_table<decltype(value)>) {
      node.kind = Kind::table;
      for (const auto& [key, child] : value) {
        node.members.push_back({std::string(key.str()), place_of(key.source()), convert(child, long_texts)});
      }
      std::ranges::sort(node.members, is_before, &Member::place);
    } else if constexpr (toml::is_array<decltype(value)>) {
      node.kind = Kind::list;
      for (const toml::node& child : value) node.items.push_back(convert(child, long_texts));
    } else if constexpr (toml::is_string<decltype(value)>) {
      node.kind = Kind::text;
      node.text = value.get();
      node.content = content_place(long_texts, node.place);
    } else if constexpr (toml::is_integer<decltype(value)>) {
      node.kind = Kind::integer;
      node.integer = value.get();
    } else if constexpr (toml::is_floating_point<decltype(value)>) {
      node.kind = Kind::real;
      node.real = value.get();
    } else if constexpr (toml::is_boolean<decltype(value)>) {
      node.kind = Kind::boolean;
      node.boolean = value.get();
    } else {
      node.kind = Kind::date;
    }
  });
  return node;
}

void write(const Node& node, bool keep_order, std::string& out) {
  switch (node.kind) {
    case Node::Kind::text:
      out += nlohmann::json(node.text).dump();
      break;
    case Node::Kind::integer:
      out += fmt::format("{}", node.integer);
      break;
    case Node::Kind::real:
      out += fmt::format("{:a}", node.real);
      break;
    case Node::Kind::boolean:
      out += node.boolean ? "true" : "false";
      break;
    case Node::Kind::date:
      out += "date";
      break;
    case Node::Kind::list:
      out += '[';
      for (const Node& item : node.items) {
        write(item, false, out);
        out += ',';
      }
      out += ']';
      break;
    case Node::Kind::table: {
      std::vector<const Member*> members;
      for (const Member& member : node.members) members.push_back(&member);
      if (!keep_order) std::ranges::sort(members, {}, &Member::key);
      out += '{';
      for (const Member* member : members) {
        out += nlohmann::json(member->key).dump();
        out += ':';
        write(member->value, member->key == "space", out);
        out += ',';
      }
      out += '}';
      break;
    }
  }
}

}  // namespace

const Member* Node::member(std::string_view key) const noexcept {
  const auto found = std::ranges::find(members, key, &Member::key);
  return found == members.end() ? nullptr : &*found;
}

std::string_view name(Node::Kind kind) noexcept {
  constexpr std::array<std::string_view, 7> kNames{
      "a text", "an integer", "a number with a fraction", "true or false", "a date", "a list", "a table"};
  return kNames[static_cast<std::size_t>(kind)];
}

Node parse_toml(std::string_view text, const std::string& file) {
  try {
    const std::vector<LongText> long_texts = Scan(text, file).run();
    return convert(toml::parse(text, std::string_view(file)), long_texts);
  } catch (const toml::parse_error& error) {
    refuse(file, place_of(error.source()), fmt::format("not TOML: {}", error.description()));
  } catch (const BrokenAssumption&) {
    refuse(file, {}, "not TOML: a name or a value begins as none does, such as [$] or [}");
  }
}

std::string canonical_text(const Node& node) {
  std::string out;
  write(node, false, out);
  return out;
}

}  // namespace tilewright::reading
