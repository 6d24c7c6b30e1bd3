// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/loss_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "cache/base/decode.hpp"
#include "cache/base/error.hpp"
#include "cache/base/former_hashes.hpp"

namespace tilewright {
namespace {

using nlohmann::json;

/// The version of the encoding and of the features' meaning, which the encoding does not say.
constexpr int kModelVersion = 3;
/// This version has features of the last kernel only.
constexpr int kOldestVersion = 2;

[[noreturn]] void refuse(const char* why) { throw UsageError(std::string("this is not a loss model: ") + why); }

std::int16_t leaf_value(const LossModel::Node& node) {
  const auto bits = static_cast<std::uint16_t>(node.cut | node.right << 8);
  std::int16_t value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class Value>
std::vector<std::uint8_t> bytes_of(const std::vector<Value>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(Value));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class Value>
std::vector<Value> values_of(const json& field) {
  const std::vector<std::uint8_t>& bytes = field.get_binary();
  if (bytes.size() % sizeof(Value) != 0) refuse("one of its lists ends within a value");
  std::vector<Value> values(bytes.size() / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Decoded decoded(std::span<const std::byte> bytes) {
  try {
    return decode_cbor(bytes);
  } catch (const UsageError& bad) {
    refuse(bad.what());
  }
}

json known_to_json(const LossModel::Known& known) { return {known.implementation, known.config.text()}; }

}  // namespace

LossModel::LossModel(Contents contents) : contents_(std::move(contents)) { check(); }

LossModel::Node LossModel::leaf(double units) {
  const auto bits =
      static_cast<std::uint16_t>(static_cast<std::int16_t>(std::lround(std::clamp(units, -32767.0, 32767.0))));
  return {kLeaf, static_cast<std::uint8_t>(bits & 0xFF), static_cast<std::uint8_t>(bits >> 8)};
}

void LossModel::check() const {
  const std::size_t features = contents_.space.count();
  // With very many dims the count may wrap to a small number.
  if (contents_.space.dims >= kLeaf || contents_.space.kernels >= kLeaf || features >= kLeaf ||
      contents_.cuts.size() != features)
    refuse("its features and their cuts differ in number");
  for (const std::vector<float>& cuts : contents_.cuts) {
    const bool has_no_number = std::ranges::any_of(cuts, [](float cut) { return std::isnan(cut); });
    if (cuts.size() > kMostCuts || has_no_number || !std::ranges::is_sorted(cuts))
      refuse("the cuts of a feature are not in order");
  }
  // Configs are sorted by their expected loss.
  if (!std::isfinite(contents_.mean) || !std::isfinite(contents_.unit)) refuse("its numbers are not finite");
  for (const Known& known : contents_.configs) {
    if (known.implementation >= contents_.space.implementations.size()) refuse("a config has no implementation");
  }
  for (std::size_t tree = 0; tree < contents_.roots.size(); ++tree) {
    const std::size_t first = contents_.roots[tree];
    const std::size_t end = tree + 1 < contents_.roots.size() ? contents_.roots[tree + 1] : contents_.nodes.size();
    if (first >= end || end > contents_.nodes.size()) refuse("a tree lies outside of it");
    for (std::size_t at = first; at < end; ++at) {
      const Node& node = contents_.nodes[at];
      if (node.feature == kLeaf) continue;
      // Both ways lead to a later node of this tree, so each walk ends.
      if (node.feature >= features || node.right < 2 || at + node.right >= end) refuse("a tree leads out of itself");
    }
  }
}

double LossModel::loss(std::span<const float> features) const {
  if (features.size() != contents_.cuts.size()) refuse("it was asked with other features than it has");
  return losses(features).front();
}

std::vector<double> LossModel::losses(std::span<const float> features) const {
  const std::size_t each = contents_.cuts.size();
  if (features.size() % each != 0) refuse("it was asked with other features than it has");
  std::vector<std::uint8_t> places(features.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::vector<float>& cuts = contents_.cuts[i % each];
    places[i] = static_cast<std::uint8_t>(std::ranges::upper_bound(cuts, features[i]) - cuts.begin());
  }
  // Tree by tree: one tree's nodes stay in the first-level cache, those of all trees would not.
  std::vector<std::int64_t> sums(features.size() / each);
  for (const std::uint32_t root : contents_.roots) {
    const std::uint8_t* place = places.data();
    for (std::int64_t& sum : sums) {
      const Node* node = &contents_.nodes[root];
      while (node->feature != kLeaf) node += place[node->feature] <= node->cut ? 1 : node->right;
      sum += leaf_value(*node);
      place += each;
    }
  }
  std::vector<double> losses;
  losses.reserve(sums.size());
  for (const std::int64_t sum : sums)
    losses.push_back(double{contents_.mean} + double{contents_.unit} * static_cast<double>(sum));
  return losses;
}

std::vector<std::byte> LossModel::encode() const {
  json configs = json::array();
  for (const Known& known : contents_.configs) configs.push_back(known_to_json(known));
  json cuts = json::array();
  for (const std::vector<float>& each : contents_.cuts) cuts.push_back(json::binary(bytes_of(each)));
  const json all = {{"version", kModelVersion},
                    {"implementations", contents_.space.implementations},
                    {"parameters", contents_.space.parameters},
                    {"dims", contents_.space.dims},
                    {"attributes", contents_.space.attributes},
                    {"kernels", contents_.space.kernels},
                    {"configs", configs},
                    {"cuts", cuts},
                    {"nodes", json::binary(bytes_of(contents_.nodes))},
                    {"roots", json::binary(bytes_of(contents_.roots))},
                    {"mean", contents_.mean},
                    {"unit", contents_.unit},
                    {"shapes", contents_.shapes}};
  const std::vector<std::uint8_t> bytes = json::to_cbor(all);
  const auto seen = std::as_bytes(std::span(bytes));
  return {seen.begin(), seen.end()};
}

std::optional<LossModel> LossModel::decode(std::span<const std::byte> bytes) {
  try {
    const Decoded tree = decoded(bytes);
    const json& all = *tree;
    const int version = all.at("version").get<int>();
    if (version < kOldestVersion || version > kModelVersion) return std::nullopt;
    Contents contents;
    for (const json& hash : all.at("implementations")) {
      contents.space.implementations.push_back(current_hash(hash.get<std::string>()));
    }
    all.at("parameters").get_to(contents.space.parameters);
    all.at("dims").get_to(contents.space.dims);
    all.at("attributes").get_to(contents.space.attributes);
    if (version > kOldestVersion) all.at("kernels").get_to(contents.space.kernels);
    for (const json& known : all.at("configs")) {
      contents.configs.push_back({known.at(0).get<std::size_t>(), Config::parse(known.at(1).get<std::string>())});
    }
    for (const json& cuts : all.at("cuts")) contents.cuts.push_back(values_of<float>(cuts));
    contents.nodes = values_of<Node>(all.at("nodes"));
    contents.roots = values_of<std::uint32_t>(all.at("roots"));
    all.at("mean").get_to(contents.mean);
    all.at("unit").get_to(contents.unit);
    all.at("shapes").get_to(contents.shapes);
    return LossModel(std::move(contents));
  } catch (const json::exception& bad) {
    refuse(bad.what());
  }
}

bool LossModel::is_newer(std::span<const std::byte> bytes) {
  try {
    return decoded(bytes)->at("version").get<int>() > kModelVersion;
  } catch (const json::exception& bad) {
    refuse(bad.what());
  }
}

}  // namespace tilewright
