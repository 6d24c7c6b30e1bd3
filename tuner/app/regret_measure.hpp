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
#include "tuner/app/regret.hpp"
#include "tuner/app/regret_shapes.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/learn/regret.hpp"

/// Measures losses that the cache does not know. Untuned shapes are swept into a cache of their own, for their winners;
/// configs that were not timed where they serve are timed there. The judged cache stays as it is.
namespace tilewright::app {

class RegretMeasure {
 public:
  /// Opens the device of the request, which has a measuring. Null when cancelled, as the listener hears. Throws Error
  /// where the op's definition is not that of `interface`, UsageError where its cache is the one that is judged. All
  /// must outlive it.
  [[nodiscard]] static std::unique_ptr<RegretMeasure> open(const RegretRequest& request, Listener& listener,
                                                           const Store& cache, const OpInterface& interface);

  [[nodiscard]] const DeviceFacts& device() const noexcept { return session_->device().facts(); }
  [[nodiscard]] const OpDefinition& definition() const noexcept { return definition_; }

  /// Draws shapes of a spec by the seed between the tuned ones: none moves more bytes or needs more flops than the
  /// largest of these, none is learned from. Those that share the fewest dims with one that is come first. Fewer than
  /// `count` where there are no more.
  [[nodiscard]] std::vector<Problem> draw(const OpSpec& spec, const std::vector<ShapeDims>& tuned,
                                          const std::vector<ShapeDims>& learned_from, std::size_t count) const;

  /// Finds the winners of untuned shapes, as `sweep` does: all of them before anything is timed.
  void sweep(const std::vector<JudgedShapes>& parts);
  /// Has them.
  [[nodiscard]] const Store& swept() { return session_->own_cache(); }

  /// Times the served config where it has no time, in turns with the winner. The served config is checked against the
  /// reference before and, on other data, after; `failure` says where it is wrong or fails.
  void time(std::vector<Regret>& regrets, MeasureMode mode);

  /// For people: what could not be timed, and why.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

 private:
  RegretMeasure(const RegretRequest& request, Listener& listener, const Store& cache, const OpInterface& interface);
  /// Nothing: its source or parameters have changed since.
  [[nodiscard]] std::optional<Candidate> as_defined(const Config& config, const std::string& hash) const;
  /// The serving config and the winner; nothing, and a note, where one of them is no config of today's definition.
  [[nodiscard]] std::optional<std::pair<Candidate, Candidate>> rivals(const Regret& regret);
  /// All that is to be timed, so that nothing compiles meanwhile.
  void compile(const std::vector<Regret*>& untimed);
  void time(Regret& regret, const Candidate& served, const Candidate& winner, MeasureMode mode);
  /// A config made ready and found right; else why not, and nothing when cancelled.
  [[nodiscard]] std::string try_out(const Problem& problem, const Candidate& candidate, ConfigRunner& runner,
                                    std::optional<DeviceSession::Ready>& ready);

  const RegretRequest& request_;
  Listener& listener_;
  Catalogue catalogue_;
  const OpDefinition& definition_;
  std::unique_ptr<DeviceSession> session_;
  StopRule rule_;
  std::vector<std::string> notes_;
};

}  // namespace tilewright::app
