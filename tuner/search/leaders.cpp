// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/leaders.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace tilewright {
namespace {

double median(const std::optional<Trial>& trial) { return trial->timing->median_ns; }

/// The members of `group` that may be the fastest.
std::vector<std::size_t> leading(const std::vector<std::optional<Trial>>& trials, std::vector<std::size_t> group) {
  std::stable_sort(group.begin(), group.end(),
                   [&](std::size_t a, std::size_t b) { return median(trials[a]) < median(trials[b]); });
  double bound = std::numeric_limits<double>::infinity();
  for (const std::size_t i : group) bound = std::min(bound, likely(*trials[i]).high_ns);
  std::erase_if(group, [&](std::size_t i) { return likely(*trials[i]).low_ns > bound; });
  return group;
}

/// Whether the group's fastest is known. A sole leader needs a final, too, because compilers ran during its looks.
bool decided(const std::vector<std::optional<Trial>>& trials, const std::vector<std::size_t>& group) {
  return std::all_of(group.begin(), group.end(), [&](std::size_t i) {
    return trials[i]->look == LookLength::final && trials[i]->sweep == trials[group.front()]->sweep;
  });
}

}  // namespace

Leaders leaders(const std::vector<std::optional<Trial>>& trials) {
  std::vector<std::size_t> all;
  std::vector<std::size_t> dynamic;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!trials[i] || !timed(*trials[i])) continue;
    all.push_back(i);
    if (!trials[i]->config.specialised()) dynamic.push_back(i);
  }
  return {leading(trials, std::move(all)), leading(trials, std::move(dynamic))};
}

std::vector<std::size_t> finalists(const std::vector<std::optional<Trial>>& trials) {
  Leaders found = leaders(trials);
  std::set<std::size_t> chosen;
  bool done = true;
  for (std::vector<std::size_t>* group : {&found.best, &found.dynamic}) {
    if (group->size() > kMostFinalists) group->resize(kMostFinalists);
    done = done && decided(trials, *group);
    chosen.insert(group->begin(), group->end());
  }
  // One final for both roles: times of different finals are not compared.
  if (done) return {};
  std::vector<std::size_t> order(chosen.begin(), chosen.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return median(trials[a]) < median(trials[b]); });
  return order;
}

}  // namespace tilewright
