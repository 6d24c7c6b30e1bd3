// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/toml_tree.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cache/base/error.hpp"

namespace tilewright::reading {
namespace {

Place place_of(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

/// The bytes of `text` from a place on; columns count UTF-8 characters.
std::string_view from(std::string_view text, Place place) {
  for (int line = 1; line < place.line; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  for (int column = 1; column < place.column && !text.empty(); ++column) {
    text.remove_prefix(1);
    while (!text.empty() && continues(text.front())) text.remove_prefix(1);
  }
  return text;
}

/// Where the characters of a text begin: behind one quote or three, and behind a line break that follows the three.
Place content_place(std::string_view file, Place quote) {
  std::string_view rest = from(file, quote);
  if (!rest.starts_with(R"(""")") && !rest.starts_with("'''")) return {quote.line, quote.column + 1};
  rest.remove_prefix(3);
  const bool breaks = rest.starts_with("\n") || rest.starts_with("\r\n");
  return breaks ? Place{quote.line + 1, 1} : Place{quote.line, quote.column + 3};
}

Node convert(const toml::node& from_parser, std::string_view file) {
  Node node;
  node.place = place_of(from_parser.source());
  from_parser.visit([&](const auto& value) {
    using Kind = Node::Kind;
    if constexpr (toml::is_table<decltype(value)>) {
      node.kind = Kind::table;
      for (const auto& [key, child] : value) {
        node.members.push_back({std::string(key.str()), place_of(key.source()), convert(child, file)});
      }
      std::ranges::sort(node.members, {},
                        [](const Member& member) { return std::tuple(member.place.line, member.place.column); });
    } else if constexpr (toml::is_array<decltype(value)>) {
      node.kind = Kind::list;
      for (const toml::node& child : value) node.items.push_back(convert(child, file));
    } else if constexpr (toml::is_string<decltype(value)>) {
      node.kind = Kind::text;
      node.text = value.get();
      node.content = content_place(file, node.place);
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
    return convert(toml::parse(text, std::string_view(file)), text);
  } catch (const toml::parse_error& error) {
    const Place place = place_of(error.source());
    throw DefinitionError({{file, place.line, place.column, fmt::format("not TOML: {}", error.description())}});
  }
}

std::string canonical_text(const Node& node) {
  std::string out;
  write(node, false, out);
  return out;
}

}  // namespace tilewright::reading
