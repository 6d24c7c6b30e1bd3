// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/plan/combinations.hpp"
#include "cache/predict/loss_model.hpp"
#include "cache/predict/nearest.hpp"
#include "cache/serve/problem_query.hpp"
#include "cache/serve/winner_source.hpp"

/// The configs of a source that may serve a query, best first. Each is looked up on demand. For one thread at a time.
namespace tilewright {

/// A config that may serve a problem, and how it fits.
struct MatchCandidate {
  Match match;
  WinnerRow row;
  /// It serves only after a compile for the problem.
  bool needs_compile = false;
  /// The pin that puts it first, or the ban that forbids it.
  std::optional<Pin> decided = std::nullopt;
  /// The expected loss of a nearest config against the fastest, a natural logarithm.
  std::optional<double> expected_loss = std::nullopt;
};

/// The order is that of docs/untuned.md: the query's device first, then the others of its architecture, the most
/// similar first. A config that must be compiled is a candidate only if the query is `with_compiles`: it has no binary,
/// or one for other values of its specialised dims, or was not timed. The caller judges whether a candidate is legal.
///
/// A damaged row gives way to the next candidate, a damaged model to the nearest shapes. next() throws at once if the
/// cache is locked or unreadable, since another try may succeed.
class Candidates {
 public:
  /// The source and the query must outlive this object.
  Candidates(const WinnerSource& source, const ProblemQuery& query);
  // The steps hold `this`.
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;

  /// The next candidate, or nullopt if there is no other.
  [[nodiscard]] std::optional<MatchCandidate> next();
  /// Skips the last candidate, of which a part cannot be read. Throws at once as next() does.
  void pass_over(const CacheError& error);

  /// The first error of the rows that were skipped; empty if all could be read.
  [[nodiscard]] const std::string& unread() const noexcept { return unread_; }
  /// Throws this error, if there is one. For queries that nothing serves.
  void rethrow_unread() const;
  /// The pins met so far whose config has no binary that can serve.
  [[nodiscard]] const std::vector<Pin>& pins_without_binary() const noexcept { return pins_without_binary_; }

 private:
  using Step = std::function<void()>;
  /// Shared by the steps that walk through it.
  using Ranking = std::shared_ptr<const std::vector<NearConfig>>;
  /// The parameter values of implementations, by hash.
  using ValuesByHash = std::map<std::string, SeenValues>;
  /// The state of a search among other shapes.
  struct Around {
    ProblemKey key;
    DeviceFit device;
    MeasureMode mode;
    std::vector<ShapeDims> shapes;
  };

  template <class Read>
  auto readable(const Read& read) -> decltype(read());
  void later(Step step) { added_.push_back(std::move(step)); }
  void run(const Step& step);

  void pinned(const ProblemKey& key, DeviceFit device);
  void offer_pinned(const Pin& pin, const ProblemKey& key, DeviceFit device);
  void exact(const ProblemKey& key, DeviceFit device);
  void nearest(const ProblemKey& key, DeviceFit device, std::size_t mode);
  void by_shapes(const Around& around);
  void by_shapes(const Around& around, const std::vector<ShapeDims>& shapes);
  void base(const ProblemKey& key, DeviceFit device);
  void one_of(const Ranking& ranking, std::size_t at, const Around& around, const Match& match);
  void offer(Match match, std::optional<WinnerRow> row, bool needs_compile = false, const Pin* pin = nullptr);
  const std::vector<Pin>& decided(const std::string& fingerprint);
  [[nodiscard]] const Pin* ban_of(const WinnerRow& row);

  [[nodiscard]] bool is_wanted(const Match& match) const;
  std::optional<WinnerRow> winner_of(const ProblemKey& key, MeasureMode mode, WinnerRole role);
  std::vector<ShapeSummary> known_shapes(const Around& around, const std::vector<ShapeDims>& shapes);
  std::vector<NearConfig> rank_by_model(const Learned& learned, const Around& around);
  std::optional<ShapeDims> first_readable(const Around& around);
  ConfigIds refused_around(const Around& around);
  DeviceFacts facts_of(const std::string& fingerprint);
  std::vector<ConfigSummary> untimed(const std::vector<ShapeSummary>& known, const Problem& problem);
  [[nodiscard]] ValuesByHash values_of(const LossModel& model) const;
  [[nodiscard]] std::vector<ConfigId> combined(const ValuesByHash& seen, const Problem& problem) const;
  [[nodiscard]] std::optional<WinnerRow> row_of(const NearConfig& near, const ProblemKey& origin,
                                                MeasureMode mode) const;
  bool serves(const NearConfig& near, const Problem& problem);
  bool serves(const ConfigId& config, const ShapeDims& tuned_for, const Problem& problem);

  const WinnerSource& source_;
  const ProblemQuery& query_;
  RecipeOf recipe_;
  /// The steps still to take, in order; and the steps that the running one puts before them.
  std::deque<Step> steps_;
  std::vector<Step> added_;
  std::optional<MatchCandidate> found_;
  std::string unread_;
  /// Pins and bans by fingerprint.
  std::map<std::string, std::vector<Pin>> decided_;
  std::vector<Pin> pins_without_binary_;
  std::exception_ptr error_;
  std::size_t failures_ = 0;
  /// Configs offered as nearest of one device and mode, so that none is offered twice.
  ConfigIds offered_;
  /// The configs, with their shapes, whose rows could not be read.
  std::set<std::pair<ConfigId, ShapeDims>> unread_rows_;
};

}  // namespace tilewright
