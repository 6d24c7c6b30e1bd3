// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/model/config_id.hpp"
#include "cache/model/records.hpp"
#include "cache/plan/padding.hpp"
#include "cache/predict/expected_time.hpp"
#include "cache/predict/loss_model.hpp"

/// A source of winners, and of all that launching them needs: a cache (cache/store/store.hpp), or another file with the
/// same content. Matching (cache/serve/candidates.hpp) and the launch library see only this interface.
///
/// All methods read, and throw CacheError if the file is damaged or unreadable. For one thread at a time.
namespace tilewright {

/// A config with a binary that may serve other shapes than its own: a winner that is no base, or a spare.
struct StoredConfig {
  ShapeDims tuned_for;
  /// Its role as a winner there; nullopt: it is a spare.
  std::optional<WinnerRole> role;
  ConfigId id;
};

/// The model of an op on a device, and the configs that can serve an op, dtype and attributes: a config without
/// specialised dims once, others once for each shape.
struct Learned {
  std::shared_ptr<const LossModel> model;
  /// Seconds since 1970.
  std::int64_t learned_at = 0;
  std::vector<StoredConfig> servers;
};

/// A decision of people about a config on a device, for a problem or for all of a spec.
enum class PinKind : std::uint8_t {
  pin,   ///< served before all else if it is legal
  ban,   ///< never served
  free,  ///< no longer pinned or banned
};
struct Pin {
  PinKind kind = PinKind::pin;
  ConfigId config;
  /// True: for that one problem; false: for all problems of the spec.
  bool is_of_problem = false;
  /// Has no control characters.
  std::string reason;
  /// Seconds since 1970.
  std::int64_t since = 0;

  /// "banned 2026-03-01 14:05 UTC: gives NaN for empty rows".
  [[nodiscard]] std::string text() const;
};
struct Pins {
  std::vector<Pin> pins;
  /// The error of damaged pins, which do not count; empty if there are none.
  std::string unread;
};

class WinnerSource {
 public:
  WinnerSource() = default;
  WinnerSource(const WinnerSource&) = delete;
  WinnerSource& operator=(const WinnerSource&) = delete;
  WinnerSource(WinnerSource&&) noexcept = default;
  WinnerSource& operator=(WinnerSource&&) noexcept = default;
  virtual ~WinnerSource() = default;

  /// For texts: "the cache /home/me/softmax.db".
  [[nodiscard]] virtual std::string title() const = 0;
  /// True if the content may have changed since this was opened, or if only reopening the path shows the present
  /// content.
  [[nodiscard]] virtual bool changed() const = 0;
  /// A number that changes when winners are put into the same file, and not with each write of a tuner. If it changes,
  /// served shapes are worth a new look-up. 0: unknown, only changed() tells.
  [[nodiscard]] virtual std::uint64_t winners_state() const { return 0; }

  // Ops, devices, specs.
  [[nodiscard]] virtual std::vector<std::string> ops() const = 0;
  [[nodiscard]] virtual std::vector<DeviceFacts> devices() const = 0;
  /// The newest interface of an op, or the one with the given hash.
  [[nodiscard]] virtual std::optional<OpInterface> interface_of(const std::string& op) const = 0;
  [[nodiscard]] virtual std::optional<OpInterface> interface_by_hash(const std::string& hash) const = 0;
  [[nodiscard]] virtual std::optional<StoredImplementation> implementation_by_hash(const std::string& hash) const = 0;

  // Winners, found by index: the time of the first two does not grow with their number.
  /// The first winner of a role for exactly this problem.
  [[nodiscard]] virtual std::optional<WinnerRow> winner_of(const ProblemKey& key, MeasureMode mode,
                                                           WinnerRole role) const = 0;
  /// The winner of a role with the newest trial among all problems of the same spec; the dims of `key` are ignored.
  [[nodiscard]] virtual std::optional<WinnerRow> newest_of_spec(const ProblemKey& key, MeasureMode mode,
                                                                WinnerRole role) const = 0;
  /// The dims of all shapes of the spec of `key` with a best winner on its device; the dims of `key` are ignored.
  [[nodiscard]] virtual std::vector<ShapeDims> tuned_shapes(const ProblemKey& key, MeasureMode mode) const = 0;
  /// The `most` of these shapes that are nearest to the dims of `key` (nearest_shapes). Searches memory once they are
  /// read.
  [[nodiscard]] virtual std::vector<ShapeDims> tuned_near(const ProblemKey& key, MeasureMode mode,
                                                          std::size_t most) const;
  /// The times of the best winners at these shapes, all above 0; those without a time are left out.
  [[nodiscard]] virtual std::vector<TimedShape> times_near(const ProblemKey& key, MeasureMode mode,
                                                           std::size_t most) const;
  /// For each of these shapes of that spec: its winners, the first of a role first; the newest time of each other
  /// config, if it is kept; and its spares. A config that failed anywhere, in any dtype and with any attributes, is no
  /// spare.
  [[nodiscard]] virtual std::vector<ShapeSummary> known_shapes(const ProblemKey& key, MeasureMode mode,
                                                               const std::vector<ShapeDims>& shapes) const = 0;

  /// The model of that spec, as learned, and the configs that can serve now. Null if there is none, or if an
  /// implementation that it does not know has won since.
  [[nodiscard]] virtual std::shared_ptr<const Learned> learned(const ProblemKey& key, MeasureMode mode) const = 0;

  /// A config without a role in known_shapes, as a row of role `dynamic` of its newest trial at exactly this problem.
  /// Without a build it must be compiled to serve; a spare that was not timed here has no timing.
  [[nodiscard]] virtual std::optional<WinnerRow> timed(const ProblemKey& key, MeasureMode mode,
                                                       const ConfigId& config) const = 0;

  /// The pins and bans for a problem on a device, in the order in which pins serve: the problem's before its spec's,
  /// the newest first.
  [[nodiscard]] virtual Pins pins(const ProblemKey& /*key*/) const { return {}; }

  // Binaries.
  [[nodiscard]] virtual std::optional<Build> build(const std::string& key) const = 0;
  /// The binary's bytes, checked against their hash. Throws CacheError if they are missing or damaged.
  [[nodiscard]] virtual std::vector<std::byte> binary(const std::string& content_hash) const = 0;
};

/// The recipes of a source, which must outlive the result. Each is read once; a recipe that it lacks is empty.
[[nodiscard]] RecipeOf recipes_of(const WinnerSource& source);

/// The configs of these shapes that serve: winners, then spares that failed at none, each in the order of the shapes.
[[nodiscard]] std::vector<StoredConfig> servers_of(const std::vector<ShapeSummary>& known);

}  // namespace tilewright
