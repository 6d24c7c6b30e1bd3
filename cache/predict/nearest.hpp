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

/// From tuned shapes to a shape that nobody tuned: which config will do, judged by what like configs did at like
/// shapes. "Like" is measured in doublings, of the lengths of dims and of the values of parameters, so it needs to know
/// nothing of the op; and a config that was never timed has an expectation too. Pure.
namespace tilewright {

/// Shapes of so many dims, one behind the other: thousands are asked at each shape that was never tuned.
struct FlatShapes {
  std::size_t dims = 0;
  std::vector<std::int64_t> lengths{};
  [[nodiscard]] std::size_t count() const noexcept { return dims == 0 ? 0 : lengths.size() / dims; }
};

/// Tuned shapes that are asked about an untuned one; and at most, where no config of the nearest may serve it.
constexpr std::size_t kNeighbours = 16;
constexpr std::size_t kMostNeighbours = 128;

/// The `most` of `shapes` that are nearest to `shape` while nothing is known of the dims, nearest first. Of equals the
/// one that comes first.
[[nodiscard]] std::vector<ShapeDims> nearest_of(const FlatShapes& shapes, std::span<const std::int64_t> shape,
                                                std::size_t most);
[[nodiscard]] std::vector<ShapeDims> nearest_shapes(const std::vector<ShapeDims>& shapes,
                                                    std::span<const std::int64_t> shape,
                                                    std::size_t most = kNeighbours);

/// The expected loss of any config at one shape: the mean loss of all configs that were timed around, each weighted by
/// the normal curve of its distance. A step of the distance is half a doubling of a parameter (plus one), or one to two
/// doublings of a dim, the more the less that dim matters (cache/predict/losses.hpp); another implementation is one
/// step away. Without a timing of anything alike, it expects a factor of two. The cost of padding is taken out of the
/// losses first and put in again for the shape; how much a doubling of the padding costs is learned, too.
class NearestPredictor final : public Predictor {
 public:
  /// `padding` may be empty: nothing is known of it.
  NearestPredictor(const std::vector<ShapeSummary>& known, std::span<const std::int64_t> shape,
                   LogPadding padding = {});
  /// Every config has an expectation.
  [[nodiscard]] std::vector<std::optional<double>> losses(std::span<const ConfigId* const> configs) const override;
  [[nodiscard]] double loss(const ConfigId& config) const;
  /// The square of the steps from the shape to one with these dims.
  [[nodiscard]] double distance_to(std::span<const std::int64_t> dims) const;

 private:
  /// A config that was timed: the weights of the shapes where it was, by their distance, and what it lost there beside
  /// its padding times these.
  struct Point {
    std::vector<float> place;
    double weight = 0;
    double lost = 0;
  };

  ShapeDims shape_;
  /// Doublings of a dim that are one step.
  std::vector<double> steps_;
  LogPadding padding_;
  double cost_of_padding_ = 0;
  ConfigAxes axes_;
  std::vector<Point> points_;
};

/// The gain over a timed config that an untimed one must promise.
constexpr double kLeastRisk = 0.05;

/// The same, estimated from the op's trials: each of the nearest shapes is left out in turn, and the actual loss of the
/// best-ranked config that was timed only there is compared with its predicted loss, and with the actual loss of the
/// best-ranked config that was timed elsewhere, too. At least kLeastRisk.
[[nodiscard]] double untimed_risk(const std::vector<ShapeSummary>& known, const LogPadding& padding = {});

/// A config that may serve a shape, and by how much it is expected to be slower than the shape's best.
struct NearConfig {
  /// Where it is a winner or was timed; of several the nearest.
  ShapeDims tuned_for;
  /// As what it is a winner there; nothing: it was only timed.
  std::optional<WinnerRole> role;
  ConfigId id;
  bool has_binary = true;
  /// The source has a row of it there (WinnerSource::winner_of, timed).
  bool is_stored = true;
  /// A natural logarithm.
  double expected_loss = 0;
};

/// Whether a config may be thought of at all.
using Usable = std::function<bool(const ConfigSummary& config, const ShapeDims& tuned_for)>;

/// The configs of `known` for a shape, the least expected loss first. The caller judges whether they are legal here.
/// Left out are bases, configs that failed somewhere and were timed nowhere, and configs that `usable` refuses at the
/// shape where they were timed. The `untimed` configs, which the source does not store, are added where `known` lacks
/// them, as if tuned for its first shape. A config that was timed nowhere must promise `risk` more.
[[nodiscard]] std::vector<NearConfig> rank_nearest(const std::vector<ShapeSummary>& known,
                                                   std::span<const std::int64_t> shape, const Usable& usable,
                                                   const std::vector<ConfigSummary>& untimed = {},
                                                   double risk = kLeastRisk, const LogPadding& padding = {});

}  // namespace tilewright
