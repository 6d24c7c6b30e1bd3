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

/// The loss of a shape, had it not been tuned: it is left out, served by match from the rest, and the served config is
/// compared with its true winner. Says how much an application may lose between the tuned shapes, and where to tune
/// more. Reads; measures nothing.
namespace tilewright {

enum class LeftOut : std::uint8_t {
  relatives,  ///< the shape, and every shape that has one of its dims' values: a dense grid does not flatter
  itself,     ///< the shape alone
};

struct Regret {
  Problem problem;
  /// It was tuned, and was left out; else it is served by all that the cache has.
  bool is_tuned = true;
  /// Its best winner.
  Config winner;
  std::string winner_hash;
  double best_ns = 0;
  /// The match that serves it; nothing beyond the fit `none` when nothing could.
  Match match;
  std::optional<Config> served;
  std::string implementation_hash;
  /// The problem that the served config is a winner of.
  std::optional<Problem> tuned_for;
  /// The time of the served config at this shape; nothing when nobody timed it here.
  std::optional<double> served_ns;
  /// The failure of the served config, tried at this shape: "wrong_result: …".
  std::string failure;

  /// 0.02: 2 % slower than the winner; nothing when it is not known.
  [[nodiscard]] std::optional<double> loss() const noexcept;
};

/// The configs that may serve.
enum class Servers : std::uint8_t {
  kept,      ///< those with a binary in the cache
  compiled,  ///< those of a launcher that compiles (tw_options.jit), once it has compiled them
};

struct RegretSetting {
  LeftOut left_out = LeftOut::relatives;
  Servers servers = Servers::kept;
  /// So many spares (tuner/learn/spares.hpp) are thought of as compiled, chosen from what is left.
  std::size_t spares = 0;
  /// Serve as an export would: only winners and spares have binaries.
  bool exported = false;
  /// If set, only the shapes that it takes serve, and all others are judged; instead of `left_out`.
  std::function<bool(const ShapeDims& shape)> only_from{};
  /// If not empty, these shapes are judged and no others. One that is not tuned is served from the whole store.
  std::vector<ShapeDims> judged{};
  /// The lessons of which the shapes' models were learned besides.
  Lessons lessons{};
  /// A cache with the winners of untuned shapes; null: such shapes are passed over.
  const Store* truth = nullptr;
};

/// The regret of each tuned shape of a spec on a device, in the order of the store, or of those that the setting names.
/// Throws CacheError for a part of the store that cannot be read, which serving would pass over.
[[nodiscard]] std::vector<Regret> regrets(const Store& store, const OpInterface& interface, const OpSpec& spec,
                                          const DeviceFacts& device, MeasureMode mode, const RegretSetting& setting);

/// The losses that are known.
struct RegretSummary {
  std::size_t shapes = 0;
  /// Served, and nobody timed it there.
  std::size_t untimed = 0;
  /// Nothing could serve them.
  std::size_t unserved = 0;
  /// Served by what went wrong there.
  std::size_t failed = 0;
  double mean = 0;
  double p95 = 0;
  double worst = 0;
  std::optional<Problem> worst_at;
};
[[nodiscard]] RegretSummary summarise_regrets(const std::vector<Regret>& regrets);

/// Shapes of similar size: every dim within the same power of 16, the smallest first. The text names the bounds: "rows
/// 256..4095".
struct Region {
  std::string text;
  std::vector<Regret> regrets;
};
[[nodiscard]] std::vector<Region> by_region(const std::vector<Regret>& regrets);

/// The shapes whose tuning would help most, the greatest loss first: half-way, in every dim, between a shape that lost
/// more than `tolerated` and the one that served it; or the shape itself, where it is not tuned. Tuned shapes are left
/// out.
[[nodiscard]] std::vector<Problem> shapes_to_tune(const std::vector<Regret>& regrets, double tolerated,
                                                  std::size_t most);

}  // namespace tilewright
