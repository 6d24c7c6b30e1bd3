// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/model/records.hpp"
#include "cache/plan/padding.hpp"
#include "cache/predict/config_axes.hpp"
#include "cache/predict/predictor.hpp"

/// From tuned shapes to an untuned shape: ranks configs by the losses of similar configs at similar shapes. Similarity
/// is measured in doublings of dims and of parameter values, so it needs no knowledge of the op, and a config that was
/// not timed has an expectation too. Pure.
namespace tilewright {

/// Shapes of `dims` dims, one after the other: thousands are searched for each untuned shape.
struct FlatShapes {
  std::size_t dims = 0;
  std::vector<std::int64_t> lengths{};
  [[nodiscard]] std::size_t count() const noexcept { return dims == 0 ? 0 : lengths.size() / dims; }
};

/// The tuned shapes asked about an untuned one, and the most if no config of the nearest can serve.
constexpr std::size_t kNeighbours = 16;
constexpr std::size_t kMostNeighbours = 128;

/// The `most` of `shapes` that are nearest to `shape`, with all dims weighted alike, nearest first. Of equals the
/// first.
[[nodiscard]] std::vector<ShapeDims> nearest_of(const FlatShapes& shapes, std::span<const std::int64_t> shape,
                                                std::size_t most);
[[nodiscard]] std::vector<ShapeDims> nearest_shapes(const std::vector<ShapeDims>& shapes,
                                                    std::span<const std::int64_t> shape,
                                                    std::size_t most = kNeighbours);

/// The expected loss of any config at one shape: the mean loss of all configs timed around it, each weighted by the
/// normal curve of its distance. A step of the distance is half a doubling of a parameter (plus one), or one to two
/// doublings of a dim: more if the dim matters less (cache/predict/losses.hpp). Another implementation is one step
/// away. Without a timing of anything similar, it expects a factor of two. The cost of padding, which is learned too,
/// is removed from the losses and added again for the shape.
class NearestPredictor final : public Predictor {
 public:
  /// `padding` may be empty: it is unknown.
  NearestPredictor(const std::vector<ShapeSummary>& known, std::span<const std::int64_t> shape,
                   LogPadding padding = {});
  /// Returns an expectation for each config.
  [[nodiscard]] std::vector<std::optional<double>> losses(std::span<const ConfigId* const> configs) const override;
  [[nodiscard]] double loss(const ConfigId& config) const;
  /// The squared distance, in steps, from the shape to one with these dims.
  [[nodiscard]] double distance_to(std::span<const std::int64_t> dims) const;

 private:
  /// A timed config: the sum of its shapes' weights by distance, and the weighted sum of its losses there without
  /// padding.
  struct Point {
    std::vector<float> place;
    double weight = 0;
    double lost = 0;
  };

  ShapeDims shape_;
  /// The doublings of each dim that are one step.
  std::vector<double> steps_;
  LogPadding padding_;
  double cost_of_padding_ = 0;
  ConfigAxes axes_;
  std::vector<Point> points_;
};

/// The gain over a timed config that an untimed one must promise.
constexpr double kLeastRisk = 0.05;

/// The same, estimated from the op's trials. Each of the nearest shapes is left out in turn. The excess of actual over
/// predicted loss is taken of the best-ranked config timed only there, and of the best-ranked one timed elsewhere too.
/// The mean difference of the two excesses; at least kLeastRisk.
[[nodiscard]] double untimed_risk(const std::vector<ShapeSummary>& known, const LogPadding& padding = {});

/// A config that may serve a shape, and its expected loss against the shape's best.
struct NearConfig {
  /// The shape where it is a winner or was timed; of several the nearest, those with a binary first.
  ShapeDims tuned_for;
  /// Its role as a winner there; nullopt: it was only timed.
  std::optional<WinnerRole> role;
  ConfigId id;
  bool has_binary = true;
  /// The source has a row of it there (WinnerSource::winner_of, timed).
  bool is_stored = true;
  /// A natural logarithm.
  double expected_loss = 0;
};

/// Whether a config may be considered at all.
using Usable = std::function<bool(const ConfigSummary& config, const ShapeDims& tuned_for)>;

/// Ranks the configs of `known` for a shape, the least expected loss first. The caller judges whether they are legal.
/// Leaves out bases, configs that failed somewhere and were timed nowhere, and configs that `usable` refuses at the
/// shape where they were timed. Adds the `untimed` configs that `known` lacks, as if tuned for its first shape; the
/// source does not store them. A config that was timed nowhere must promise `risk` more.
[[nodiscard]] std::vector<NearConfig> rank_nearest(const std::vector<ShapeSummary>& known,
                                                   std::span<const std::int64_t> shape, const Usable& usable,
                                                   const std::vector<ConfigSummary>& untimed = {},
                                                   double risk = kLeastRisk, const LogPadding& padding = {});

}  // namespace tilewright
