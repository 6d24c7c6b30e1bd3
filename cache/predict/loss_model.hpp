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

/// The expected loss of configs at shapes that nobody tuned, learned from all trials of an op on a device
/// (tuner/learn/learn.hpp): boosted regression trees over the features of a config at a shape, and the configs that it
/// was learned of. Values; any thread may ask.
namespace tilewright {

class LossModel {
 public:
  /// A node of a tree, in preorder: a feature below its `cut`-th cut goes to the next node, another to the one `right`
  /// further. A leaf has kLeaf for a feature, and its value in the other two bytes.
  struct Node {
    std::uint8_t feature = 0;
    std::uint8_t cut = 0;
    std::uint8_t right = 0;
    friend bool operator==(const Node&, const Node&) = default;
  };
  static constexpr std::uint8_t kLeaf = 255;
  /// The leaf that counts so many units, rounded.
  [[nodiscard]] static Node leaf(double units);
  static constexpr std::size_t kMostCuts = 254;

  /// A config that it was learned of, which was timed somewhere and failed nowhere; by the place of its hash in the
  /// space.
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
    /// The beginning of each tree.
    std::vector<std::uint32_t> roots;
    /// The loss expected without a tree, and the unit of a leaf's whole number.
    float mean = 0;
    float unit = 0;
    /// Shapes that it was learned from.
    std::size_t shapes = 0;
    friend bool operator==(const Contents&, const Contents&) = default;
  };

  /// Throws UsageError where the parts do not fit together: then a question might never end.
  explicit LossModel(Contents contents);

  [[nodiscard]] const FeatureSpace& space() const noexcept { return contents_.space; }
  [[nodiscard]] const std::vector<Known>& configs() const noexcept { return contents_.configs; }
  [[nodiscard]] std::size_t shapes() const noexcept { return contents_.shapes; }

  /// The loss of a config with these features, as many as the space has: how much slower it is than the best, a natural
  /// logarithm.
  [[nodiscard]] double loss(std::span<const float> features) const;
  /// The same of any number, whose features lie one after the other. Throws UsageError where the last lacks some.
  [[nodiscard]] std::vector<double> losses(std::span<const float> features) const;

  /// For caches and bundles, which compress it and keep its hash.
  [[nodiscard]] std::vector<std::byte> encode() const;
  /// An encoded model gives an equal one; nothing for one of a program that knows other features: learn it anew. Throws
  /// UsageError for bytes that are no model.
  [[nodiscard]] static std::optional<LossModel> decode(std::span<const std::byte> bytes);
  /// True of one that a newer program has learned. Throws as decode().
  [[nodiscard]] static bool is_newer(std::span<const std::byte> bytes);

  friend bool operator==(const LossModel&, const LossModel&) = default;

 private:
  void check() const;

  Contents contents_;
};

}  // namespace tilewright
