// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/selection.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "cache/base/content_hash.hpp"

namespace tilewright {
namespace {

// An implementation's candidates by preference: the base, then by hash.
using Ranked = std::map<std::pair<bool, std::string>, std::size_t>;

}  // namespace

std::vector<Candidate> select_candidates(std::vector<Candidate> legal, std::size_t most, const Config& base) {
  if (most == 0 || legal.size() <= most) return legal;
  std::map<std::string, Ranked> by_implementation;
  for (std::size_t i = 0; i < legal.size(); ++i) {
    const Config& config = legal[i].config;
    by_implementation[config.implementation].emplace(
        std::pair(config != base, content_hash(std::string_view(config.text()))), i);
  }

  // Takes one of each implementation in turn, starting with the base's. If one runs out, the others fill in.
  std::vector<Ranked> queues;
  for (auto& [implementation, ranked] : by_implementation) {
    const bool holds_base = implementation == base.implementation;
    queues.insert(holds_base ? queues.begin() : queues.end(), std::move(ranked));
  }
  std::vector<std::size_t> chosen;
  while (chosen.size() < most) {
    for (Ranked& queue : queues) {
      if (queue.empty() || chosen.size() == most) continue;
      chosen.push_back(queue.begin()->second);
      queue.erase(queue.begin());
    }
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<Candidate> selected;
  for (const std::size_t index : chosen) selected.push_back(std::move(legal[index]));
  return selected;
}

}  // namespace tilewright
