// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/set_cover.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace tilewright {
namespace {

class Bits {
 public:
  explicit Bits(std::size_t size = 0) : words_((size + 63) / 64) {}
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << i % 64; }
  [[nodiscard]] bool has(std::size_t i) const { return (words_[i / 64] >> i % 64 & 1) != 0; }
  [[nodiscard]] std::size_t count() const {
    std::size_t sum = 0;
    for (const std::uint64_t word : words_) sum += static_cast<std::size_t>(std::popcount(word));
    return sum;
  }
  [[nodiscard]] bool none() const {
    return std::ranges::all_of(words_, [](std::uint64_t word) { return word == 0; });
  }
  [[nodiscard]] std::size_t shared(const Bits& other) const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      sum += static_cast<std::size_t>(std::popcount(words_[i] & other.words_[i]));
    }
    return sum;
  }
  void remove(const Bits& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
  }

 private:
  std::vector<std::uint64_t> words_;
};

class CoverSearch {
 public:
  CoverSearch(std::size_t elements, std::vector<Bits> sets, std::size_t most_steps)
      : elements_(elements), sets_(std::move(sets)), steps_left_(most_steps) {}

  SetCover run(const Bits& missing) {
    best_ = greedy(missing);
    std::vector<std::size_t> chosen;
    branch(missing, chosen);
    std::ranges::sort(best_);
    return {best_, steps_left_ > 0};
  }

 private:
  /// The set with the most missing elements, and their number; of equals the first.
  [[nodiscard]] std::pair<std::size_t, std::size_t> widest(const Bits& missing) const {
    std::pair<std::size_t, std::size_t> found{0, 0};
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      if (const std::size_t holds = sets_[i].shared(missing); holds > found.second) found = {i, holds};
    }
    return found;
  }

  [[nodiscard]] std::vector<std::size_t> greedy(Bits missing) const {
    std::vector<std::size_t> chosen;
    while (!missing.none()) {
      chosen.push_back(widest(missing).first);
      missing.remove(sets_[chosen.back()]);
    }
    return chosen;
  }

  void branch(const Bits& missing, std::vector<std::size_t>& chosen) {
    if (steps_left_ == 0) return;
    --steps_left_;
    if (missing.none()) {
      if (chosen.size() < best_.size()) best_ = chosen;
      return;
    }
    const std::size_t most = widest(missing).second;
    if (chosen.size() + (missing.count() + most - 1) / most >= best_.size()) return;
    // Any cover has one of the sets that hold the element with the fewest holders.
    std::vector<std::size_t> holders;
    for (std::size_t element = 0; element < elements_; ++element) {
      if (!missing.has(element)) continue;
      std::vector<std::size_t> here;
      for (std::size_t i = 0; i < sets_.size(); ++i) {
        if (sets_[i].has(element)) here.push_back(i);
      }
      if (holders.empty() || here.size() < holders.size()) holders = std::move(here);
      if (holders.size() == 1) break;
    }
    std::ranges::stable_sort(holders, std::ranges::greater{}, [&](std::size_t i) { return sets_[i].shared(missing); });
    for (const std::size_t i : holders) {
      Bits rest = missing;
      rest.remove(sets_[i]);
      chosen.push_back(i);
      branch(rest, chosen);
      chosen.pop_back();
    }
  }

  std::size_t elements_;
  std::vector<Bits> sets_;
  std::vector<std::size_t> best_;
  std::size_t steps_left_;
};

}  // namespace

SetCover cover(std::size_t elements, const std::vector<std::vector<std::size_t>>& sets,
               const std::vector<std::size_t>& given, std::size_t most_steps) {
  Bits missing(elements);
  for (const auto& set : sets) {
    for (const std::size_t element : set) missing.set(element);
  }
  Bits needless(elements);
  for (const std::size_t element : given) needless.set(element);
  missing.remove(needless);

  // A set whose missing elements another set holds as well is not needed; of equal ones the first stays.
  std::vector<Bits> all;
  std::vector<std::size_t> sizes;
  for (const auto& set : sets) {
    Bits bits(elements);
    for (const std::size_t element : set) bits.set(element);
    bits.remove(needless);
    sizes.push_back(bits.count());
    all.push_back(std::move(bits));
  }
  std::vector<Bits> kept;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool dominated = sizes[i] == 0;
    for (std::size_t j = 0; j < all.size() && !dominated; ++j) {
      const bool is_wider = sizes[j] > sizes[i] || (sizes[j] == sizes[i] && j < i);
      dominated = is_wider && all[i].shared(all[j]) == sizes[i];
    }
    if (dominated) continue;
    kept.push_back(all[i]);
    places.push_back(i);
  }
  SetCover found = CoverSearch(elements, std::move(kept), most_steps).run(missing);
  for (std::size_t& each : found.chosen) each = places[each];
  return found;
}

}  // namespace tilewright
