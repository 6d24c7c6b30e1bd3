// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/model/config.hpp"
#include "cache/predict/features.hpp"

/// The expected loss of configs at untuned shapes, learned from all trials of an op on a device
/// (tuner/learn/learn.hpp): boosted regression trees over features, and the configs that it was learned from. Values;
/// any thread may ask.
namespace tilewright {

class LossModel {
 public:
  /// A node of a tree, in preorder. A feature below its `cut`-th cut leads to the next node, another to the node
  /// `right` further. A leaf has kLeaf as its feature, and its value in the other two bytes.
  struct Node {
    std::uint8_t feature = 0;
    std::uint8_t cut = 0;
    std::uint8_t right = 0;
    friend bool operator==(const Node&, const Node&) = default;
  };
  static constexpr std::uint8_t kLeaf = 255;
  /// A leaf of this many units, rounded.
  [[nodiscard]] static Node leaf(double units);
  static constexpr std::size_t kMostCuts = 254;

  /// A config that was learned from: timed somewhere and failed nowhere. `implementation` is the index of its hash in
  /// the space.
  struct Known {
    std::size_t implementation = 0;
    Config config;
    friend bool operator==(const Known&, const Known&) = default;
  };

  struct Contents {
    FeatureSpace space;
    std::vector<Known> configs;
    /// For each feature, ascending.
    std::vector<std::vector<float>> cuts;
    std::vector<Node> nodes;
    /// The first node of each tree.
    std::vector<std::uint32_t> roots;
    /// The loss expected without trees, and the value of a leaf's unit.
    float mean = 0;
    float unit = 0;
    /// The number of shapes learned from.
    std::size_t shapes = 0;
    friend bool operator==(const Contents&, const Contents&) = default;
  };

  /// Throws UsageError if the parts do not fit together: a walk through a tree might not end.
  explicit LossModel(Contents contents);

  [[nodiscard]] const FeatureSpace& space() const noexcept { return contents_.space; }
  [[nodiscard]] const std::vector<Known>& configs() const noexcept { return contents_.configs; }
  [[nodiscard]] std::size_t shapes() const noexcept { return contents_.shapes; }

  /// The loss of a config with these features, as many as the space has: how much slower it is than the best, a natural
  /// logarithm. Throws UsageError for another number of features.
  [[nodiscard]] double loss(std::span<const float> features) const;
  /// The same for many configs, whose features follow one another. Throws UsageError if the last lacks some.
  [[nodiscard]] std::vector<double> losses(std::span<const float> features) const;

  /// The bytes that caches and bundles compress and hash.
  [[nodiscard]] std::vector<std::byte> encode() const;
  /// Reads an encoded model; nullopt if it has other features than this program's: learn it anew. Throws UsageError if
  /// the bytes are not a model.
  [[nodiscard]] static std::optional<LossModel> decode(std::span<const std::byte> bytes);
  /// True if a newer program learned it. Throws as decode().
  [[nodiscard]] static bool is_newer(std::span<const std::byte> bytes);

  friend bool operator==(const LossModel&, const LossModel&) = default;

 private:
  void check() const;

  Contents contents_;
};

}  // namespace tilewright
