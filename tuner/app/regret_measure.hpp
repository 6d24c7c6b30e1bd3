// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/app/device_session.hpp"
#include "tuner/app/drawn_problems.hpp"
#include "tuner/app/regret.hpp"
#include "tuner/app/regret_shapes.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/learn/regret.hpp"

/// Measures losses that the cache does not know. Untuned shapes are swept into another cache, for their winners;
/// configs without a time on the shape that they serve are timed on it. The judged cache stays unchanged.
namespace tilewright::app {

class RegretMeasure {
 public:
  /// Opens the device of a request with `measuring`. Null if cancelled, with a warning. Throws Error if the op's
  /// definition is not that of `interface`, CacheError if others may write a cache. The arguments must outlive it.
  [[nodiscard]] static std::unique_ptr<RegretMeasure> open(const RegretRequest& request, Listener& listener,
                                                           const Store& cache, const OpInterface& interface);

  [[nodiscard]] const DeviceFacts& device() const noexcept { return session_->device().facts(); }
  [[nodiscard]] const OpDefinition& definition() const noexcept { return definition_; }

  /// draw_problems() with the request's seed.
  [[nodiscard]] std::vector<Problem> draw(const OpSpec& spec, const std::vector<ShapeDims>& tuned,
                                          const std::vector<ShapeDims>& learned_from, std::size_t count) const;

  /// Sweeps the untuned shapes for their winners. Call it before time().
  void sweep(const std::vector<JudgedShapes>& parts);
  /// The cache with these winners.
  [[nodiscard]] const Store& swept() { return session_->own_cache(); }

  /// Times served configs without a time, in turns with the winner. A served config is compared with the reference
  /// before and, on other data, after; `failure` tells that it is wrong or fails.
  void time(std::vector<Regret>& regrets, MeasureMode mode);

  /// For people: what could not be timed, and why.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

 private:
  RegretMeasure(const RegretRequest& request, Listener& listener, const Store& cache, const OpInterface& interface);
  /// nullopt if its source or parameters have changed since.
  [[nodiscard]] std::optional<Candidate> as_defined(const Config& config, const std::string& hash) const;
  /// The served config and the winner; nullopt, with a note, if the current definition lacks one of them.
  [[nodiscard]] std::optional<std::pair<Candidate, Candidate>> rivals(const Regret& regret);
  /// Compiles all that is to be timed, so that nothing compiles meanwhile.
  void compile(const std::vector<Regret*>& untimed);
  void time(Regret& regret, const Candidate& served, const Candidate& winner, MeasureMode mode);
  /// Makes a config ready and verifies it. Returns why it fails; empty if it is right, or if cancelled.
  [[nodiscard]] std::string try_out(const Problem& problem, const Candidate& candidate, ConfigRunner& runner,
                                    std::optional<DeviceSession::Ready>& ready);

  const RegretRequest& request_;
  Listener& listener_;
  Catalogue catalogue_;
  const OpDefinition& definition_;
  std::unique_ptr<DeviceSession> session_;
  Bounds bounds_;
  StopRule rule_;
  std::vector<std::string> notes_;
};

}  // namespace tilewright::app
