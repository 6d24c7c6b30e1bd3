// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/timeline_data.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace tilewright {
namespace {

// Five days fit into 32 bits.
constexpr std::int64_t kTick = 100;

/// A bad clock must not make a page that cannot be read.
std::uint32_t bounded(std::int64_t number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, std::numeric_limits<std::uint32_t>::max()));
}

/// When anything of a sweep began first, by its id.
class Beginnings {
 public:
  void meet(std::int64_t sweep, std::int64_t moment) {
    if (moment <= 0) return;
    const auto [first, is_new] = first_.try_emplace(sweep, moment);
    if (!is_new) first->second = std::min(first->second, moment);
  }
  [[nodiscard]] bool empty() const noexcept { return first_.empty(); }
  /// 0: nothing is known of it.
  [[nodiscard]] std::int64_t of(std::int64_t sweep) const {
    const auto first = first_.find(sweep);
    return first == first_.end() ? 0 : first->second;
  }
  [[nodiscard]] std::uint32_t ticks(std::int64_t sweep, std::int64_t moment) const {
    return moment <= 0 ? 0 : bounded((moment - of(sweep)) / kTick + 1);
  }

 private:
  std::map<std::int64_t, std::int64_t> first_;
};

PageJson trial_columns(const std::vector<const History::TrialOf*>& trials, const Beginnings& beginnings) {
  std::vector<std::uint32_t> began, set_up, verify, measure, gpu;
  for (const History::TrialOf* trial : trials) {
    const Phases& phases = trial->phases;
    began.push_back(beginnings.ticks(trial->sweep, phases.began_us));
    set_up.push_back(bounded(phases.set_up_us));
    verify.push_back(bounded(phases.verify_us));
    measure.push_back(bounded(phases.measure_us));
    gpu.push_back(static_cast<std::uint32_t>(trial->gpu));
  }
  return {{"began", packed(began)},
          {"set_up_us", packed(set_up)},
          {"verify_us", packed(verify)},
          {"measure_us", packed(measure)},
          {"gpu", packed(gpu)}};
}

}  // namespace

PageJson timeline_data(const History& history, const std::vector<const History::TrialOf*>& trials) {
  Beginnings beginnings;
  for (const auto& [id, build] : history.builds) beginnings.meet(build.sweep, build.began_us);
  for (const History::TrialOf* trial : trials) beginnings.meet(trial->sweep, trial->phases.began_us);
  if (beginnings.empty()) return nullptr;

  PageJson firsts = PageJson::array();
  std::map<std::int64_t, std::uint32_t> after;
  for (const auto& [id, sweep] : history.sweeps) {
    firsts.push_back(static_cast<double>(beginnings.of(id)) / 1e6);
    after.emplace(id, static_cast<std::uint32_t>(firsts.size()));
  }
  std::vector<std::uint32_t> began, worker, sweep;
  for (const auto& [id, build] : history.builds) {
    const auto place = after.find(build.sweep);
    sweep.push_back(place == after.end() ? 0 : place->second);
    began.push_back(place == after.end() ? 0 : beginnings.ticks(build.sweep, build.began_us));
    worker.push_back(bounded(build.worker));
  }
  return {{"sweeps", std::move(firsts)},
          {"gpus", history.gpus},
          {"builds", {{"began", packed(began)}, {"worker", packed(worker)}, {"sweep", packed(sweep)}}},
          {"trials", trial_columns(trials, beginnings)}};
}

}  // namespace tilewright
