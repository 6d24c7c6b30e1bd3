// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/campaign.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/definition/reading/section.hpp"
#include "tuner/definition/reading/toml_tree.hpp"

namespace tilewright::app {
namespace {

using reading::Mistakes;
using reading::Node;
using reading::Section;

std::string text_of_file(const std::filesystem::path& file) {
  std::error_code ignored;
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file, ignored)) {
    throw UsageError(fmt::format("the campaign {} cannot be read: {}", file.string(),
                                 stream ? "it is a folder" : std::strerror(errno)));
  }
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> texts_of(const std::vector<Node>* nodes) {
  std::vector<std::string> texts;
  for (const Node& node : nodes != nullptr ? *nodes : std::vector<Node>()) texts.push_back(node.text);
  return texts;
}

/// A text, or a list of texts joined by commas as in NAME=VALUES.
std::string values_of(const Node& node, const std::string& what, Mistakes& mistakes) {
  if (node.kind == Node::Kind::text) return node.text;
  std::vector<std::string> values;
  if (!reading::expect(node, Node::Kind::list, what, mistakes)) return "";
  for (const Node& item : node.items) {
    if (!reading::expect(item, Node::Kind::text, what, mistakes)) return "";
    values.push_back(item.text);
  }
  return fmt::format("{}", fmt::join(values, ","));
}

ProblemGrid read_grid(const Node& table, const std::filesystem::path& folder, Mistakes& mistakes) {
  Section section(table, "[[sweep]]", mistakes);
  ProblemGrid grid;
  if (const Node* op = section.need("op", Node::Kind::text)) grid.words.op = op->text;
  if (const Node* dtype = section.find("dtype")) {
    grid.words.named.emplace_back("dtype", values_of(*dtype, section.what("dtype"), mistakes));
  }
  if (const Node* attributes = section.find("attributes", Node::Kind::table)) {
    for (const reading::Member& each : attributes->members) {
      grid.attributes.emplace_back(each.key, values_of(each.value, "attribute '" + each.key + "'", mistakes));
    }
  }
  grid.shapes = texts_of(section.find_texts("shapes"));
  if (const Node* file = section.find("shapes_file", Node::Kind::text)) grid.shapes_file = folder / file->text;
  section.finish();
  return grid;
}

void read_head(const Node& table, Campaign& campaign, Mistakes& mistakes) {
  Section section(table, "[campaign]", mistakes);
  if (const Node* name = section.find("name", Node::Kind::text)) campaign.name = name->text;
  campaign.devices = texts_of(section.find_texts("devices"));
  if (const Node* budget = section.find("budget", Node::Kind::text)) {
    const auto read = duration_from(budget->text);
    if (!read) mistakes.add(budget->place, "'budget' takes a time with its unit, such as \"60s\", \"5m\" or \"8h\"");
    campaign.budget = read.value_or(std::chrono::nanoseconds(0));
  }
  section.finish();
}

}  // namespace

Campaign read_campaign(const std::filesystem::path& file) {
  const Node root = reading::parse_toml(text_of_file(file), file.string());
  Mistakes mistakes(file.string());
  Campaign campaign;
  campaign.name = file.stem().string();
  Section section(root, "the campaign", mistakes);
  if (const Node* head = section.find("campaign", Node::Kind::table)) read_head(*head, campaign, mistakes);
  if (const Node* sweeps = section.need("sweep", Node::Kind::list)) {
    for (const Node& each : sweeps->items) {
      if (!reading::expect(each, Node::Kind::table, "[[sweep]]", mistakes)) continue;
      campaign.grids.push_back(read_grid(each, file.parent_path(), mistakes));
    }
    if (sweeps->items.empty()) mistakes.add(sweeps->place, "a campaign has one [[sweep]] at least");
  }
  section.finish();
  mistakes.throw_if_any();
  return campaign;
}

}  // namespace tilewright::app
