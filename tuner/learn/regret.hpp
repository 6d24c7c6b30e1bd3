// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/serve/choose.hpp"
#include "cache/store/store.hpp"
#include "tuner/learn/lessons.hpp"

/// Regret: the loss of a shape if it were not tuned. The shape is left out, match serves it from the rest, and the
/// served config is compared with the true winner. Shows how much an application may lose between tuned shapes, and
/// where to tune more. Reads stores; measures nothing.
namespace tilewright {

enum class LeftOut : std::uint8_t {
  relatives,  ///< the shape, and each that shares a dim's value: keeps a dense grid from looking too good
  itself,     ///< only the shape
};

struct Regret {
  Problem problem;
  /// The shape is tuned and was left out; if false, the whole cache serves it.
  bool is_tuned = true;
  /// The shape's best winner.
  Config winner;
  std::string winner_hash;
  double best_ns = 0;
  /// The match that serves the shape; its fit is `none` if nothing serves.
  Match match;
  std::optional<Config> served;
  std::string implementation_hash;
  /// The problem whose winner is served.
  std::optional<Problem> tuned_for;
  /// The served config's time at this shape; unset if it was not timed here.
  std::optional<double> served_ns;
  /// The failure of the served config at this shape: "wrong_result: …".
  std::string failure;

  /// 0.02: 2 % slower than the winner; nullopt if unknown.
  [[nodiscard]] std::optional<double> loss() const noexcept;
};

/// The configs that may serve.
enum class Servers : std::uint8_t {
  kept,      ///< configs with a binary in the cache
  compiled,  ///< all that a compiling launcher (tw_options.jit) can serve, as if compiled
};

struct RegretSetting {
  LeftOut left_out = LeftOut::relatives;
  Servers servers = Servers::kept;
  /// The number of spares (tuner/learn/spares.hpp) to choose from the rest and treat as compiled, as `prepare` does.
  std::size_t spares = 0;
  /// Serve as an export does: only winners and spares have binaries.
  bool exported = false;
  /// If set, replaces `left_out`: the shapes it accepts serve, and all others are judged.
  std::function<bool(const ShapeDims& shape)> only_from{};
  /// If not empty, only these shapes are judged. An untuned one is served from the whole store.
  std::vector<ShapeDims> judged{};
  /// The lessons that the models were learned with.
  Lessons lessons{};
  /// A cache with the winners of untuned shapes; null: untuned shapes are skipped.
  const Store* truth = nullptr;
};

/// The regret of each tuned shape of a spec on a device, in the store's order, or of setting.judged. Throws CacheError
/// if a part of the store cannot be read, although serving would skip it.
[[nodiscard]] std::vector<Regret> regrets(const Store& store, const OpInterface& interface, const OpSpec& spec,
                                          const DeviceFacts& device, MeasureMode mode, const RegretSetting& setting);

/// The known losses; counts of the others.
struct RegretSummary {
  std::size_t shapes = 0;
  /// Served, but not timed there.
  std::size_t untimed = 0;
  /// Not served.
  std::size_t unserved = 0;
  /// Served by a config that failed there.
  std::size_t failed = 0;
  double mean = 0;
  double p95 = 0;
  double worst = 0;
  std::optional<Problem> worst_at;
};
[[nodiscard]] RegretSummary summarise_regrets(const std::vector<Regret>& regrets);

/// Shapes whose dims each lie within the same power of 16. `text` names the bounds: "rows 256..4095".
struct Region {
  std::string text;
  std::vector<Regret> regrets;
};
/// The regions, the smallest first.
[[nodiscard]] std::vector<Region> by_region(const std::vector<Regret>& regrets);

/// At most `most` untuned shapes whose tuning would help most, the greatest loss first. For each tuned shape that lost
/// more than `tolerated`, the shape half-way to the one that served it; an untuned shape stands for itself.
[[nodiscard]] std::vector<Problem> shapes_to_tune(const std::vector<Regret>& regrets, double tolerated,
                                                  std::size_t most);

}  // namespace tilewright
