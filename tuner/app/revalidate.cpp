// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/revalidate.hpp"

#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/version.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/app/stored_winners.hpp"
#include "tuner/report/roofline_columns.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/sweep/revalidate.hpp"

namespace tilewright::app {
namespace {

/// A stale winner and its verdict. It does not move: the sweep's request refers to it.
struct RevalidatedLine {
  const OpDefinition* definition = nullptr;
  StaleWinner before;
  Revalidated verdict = Revalidated::left;
  /// The winner that serves now.
  std::optional<Winner> now;
  Roofline roofline{};
};
using Lines = std::deque<RevalidatedLine>;

const Timing* timing_now(const RevalidatedLine& line) {
  return line.now && line.now->trial.timing ? &*line.now->trial.timing : nullptr;
}

Table lines_table(const Lines& lines) {
  Table table;
  table.title = "Revalidated";
  std::vector<Source<const RevalidatedLine*>> sources{
      {column("problem", "problem"), [](const RevalidatedLine* line) { return Cell(line->before.problem.key()); }},
      {column("verdict", "verdict"),
       [](const RevalidatedLine* line) { return Cell(std::string(name(line->verdict))); }},
      {column("why", "stale since"), [](const RevalidatedLine* line) { return Cell(line->before.why); }},
      {column("config_before", "winner before"),
       [](const RevalidatedLine* line) { return Cell(line->before.config.text()); }},
      {column("median_before_ns", "time", Unit::nanoseconds),
       [](const RevalidatedLine* line) { return Cell(line->before.median_ns); }},
      {column("config", "winner now"),
       [](const RevalidatedLine* line) { return line->now ? Cell(line->now->trial.config.text()) : Cell(); }},
      {column("median_ns", "time now", Unit::nanoseconds), [](const RevalidatedLine* line) {
         const Timing* timing = timing_now(*line);
         return timing != nullptr ? Cell(timing->median_ns) : Cell();
       }}};
  for (const auto& placed : {rate_sources(), bound_sources()}) {
    add_placed<const RevalidatedLine*>(sources, placed, [](const RevalidatedLine* const& line) {
      return Placed{&line->roofline, timing_now(*line)};
    });
  }
  sources.push_back(
      {common_column("device", "device"), [](const RevalidatedLine* line) { return Cell(line->before.fingerprint); }});
  std::vector<const RevalidatedLine*> all;
  for (const RevalidatedLine& line : lines) all.push_back(&line);
  fill(table, sources, all);
  return table;
}

class Revalidation {
 public:
  Revalidation(SweepRequest& request, std::optional<Regime> regime, Catalogue& catalogue, DevicePool& devices,
               Store& store, Listener& listener)
      : request_(request),
        regime_(regime),
        catalogue_(catalogue),
        devices_(devices),
        store_(store),
        listener_(listener) {}

  /// Adds the stale winners of an op.
  void find(const OpDefinition& definition) {
    for (const std::string& fingerprint : devices_.fingerprints()) {
      for (StaleWinner& stale : stale_now(definition, fingerprint)) {
        lines_.push_back({&definition, std::move(stale), Revalidated::left, std::nullopt});
      }
    }
  }

  /// False if cancelled, or if a problem was left.
  bool run() {
    bool all = true;
    SharedBudget budget(request_.budget, lines_.size());
    for (std::size_t first = 0; first < lines_.size() && !listener_.cancelled();) {
      const OpDefinition* const definition = lines_[first].definition;
      std::vector<StaleWinner*> stale;
      for (; first + stale.size() < lines_.size() && lines_[first + stale.size()].definition == definition;) {
        stale.push_back(&lines_[first + stale.size()].before);
      }
      request_.budget = budget.start(stale.size());
      request_.definition = definition;
      recheck(request_, stale, regime_);
      all = sweep() && all;
      budget.end();
      first += stale.size();
    }
    judge_all();
    return all && !listener_.cancelled();
  }

  [[nodiscard]] const Lines& lines() const noexcept { return lines_; }

 private:
  [[nodiscard]] std::vector<StaleWinner> stale_now(const OpDefinition& definition,
                                                   const std::string& fingerprint) const {
    // Devices of one host have one driver.
    return stale_winners(store_, definition, fingerprint, request_.mode,
                         {devices_.first().driver_version(), request_.compiler->version(), version()});
  }

  void judge_all() {
    std::map<std::pair<const OpDefinition*, std::string>, std::set<std::string>> stale;
    Ceilings ceilings(store_);
    for (RevalidatedLine& line : lines_) {
      const auto [found, is_new] = stale.try_emplace({line.definition, line.before.fingerprint});
      if (is_new) {
        for (const StaleWinner& each : stale_now(*line.definition, line.before.fingerprint)) {
          found->second.insert(each.problem.key());
        }
      }
      const ProblemKey key{line.before.problem, line.definition->interface.hash(), line.before.fingerprint};
      if (auto row = store_.winner_of(key, request_.mode, WinnerRole::best)) line.now = std::move(row->winner);
      line.roofline = roofline_of(ceilings, line.definition, key.interface_hash, key.problem, key.device_fingerprint,
                                  request_.mode);
      const bool fresh = line.now && found->second.count(line.before.problem.key()) == 0;
      line.verdict = verdict(line.before, fresh ? &*line.now : nullptr);
    }
  }

  bool sweep() {
    const SweepSummary summary = run_told(request_, catalogue_, devices_, store_, listener_, store_.path());
    for (const std::string& lost : summary.lost) listener_.note(lost);
    return is_whole(summary);
  }

  SweepRequest& request_;
  std::optional<Regime> regime_;
  Catalogue& catalogue_;
  DevicePool& devices_;
  Store& store_;
  Listener& listener_;
  /// The lines of one op are adjacent.
  Lines lines_;
};

}  // namespace

RevalidateResult revalidate(const RevalidateRequest& asked, Listener& listener) {
  Catalogue catalogue = open_catalogue(asked.place);
  if (!asked.op.empty()) static_cast<void>(catalogue.find(asked.op));
  const std::filesystem::path path = cache_path(asked.place);
  if (!std::filesystem::exists(path)) {
    throw UsageError(fmt::format("there is no cache {}: no winner to time again; --cache or TILEWRIGHT_CACHE names one",
                                 path.string()));
  }
  Store store(path);
  SweepRequest request;
  const std::optional<SweepPlace> place = open_sweep(asked.place, asked.tuning, request, listener);
  if (!place) return {std::nullopt, false};
  Revalidation revalidation(request, asked.regime, catalogue, *place->devices, store, listener);
  const std::vector<std::string> ops =
      asked.op.empty() ? defined_ops(store, catalogue, listener) : std::vector{asked.op};
  for (const std::string& op : ops) revalidation.find(catalogue.find(op));
  if (revalidation.lines().empty()) {
    listener.warn(fmt::format("No winner in {} is stale: nothing to time again.", store.path().string()));
    return {};
  }
  RevalidateResult result;
  result.whole = revalidation.run();
  result.table = lines_table(revalidation.lines());
  result.table->notes.emplace_back(
      "kept, promoted: the fastest of the leaders, timed again in turns. re-swept: no leader was as fast as the winner "
      "was, within 3 %, so all configs were searched. left: not reached, and still stale.");
  for (const std::string& lost : place->devices->lost()) {
    result.whole = false;
    result.table->notes.push_back(lost + ".");
  }
  return result;
}

}  // namespace tilewright::app
