// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/boosting.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace tilewright {
namespace {

constexpr std::size_t kBins = LossModel::kMostCuts + 1;
/// Rows whose bins are fetched before their use.
constexpr std::size_t kRowsAhead = 8;
/// In a cache line of 64 bytes.
constexpr std::size_t kBinsOfLine = 64 / sizeof(std::uint16_t);

/// Cuts half-way between neighbours if there are few distinct values, else at quantiles.
std::vector<float> cuts_of(std::vector<float> values) {
  std::ranges::sort(values);
  std::vector<float> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<float> cuts;
  const auto cut_below = [&](std::size_t place) {
    const float cut = distinct[place - 1] + (distinct[place] - distinct[place - 1]) / 2;
    if (cuts.empty() || cuts.back() < cut) cuts.push_back(cut);
  };
  if (distinct.size() <= kBins) {
    for (std::size_t i = 1; i < distinct.size(); ++i) cut_below(i);
    return cuts;
  }
  for (std::size_t i = 1; i < kBins; ++i) {
    const float value = values[i * values.size() / kBins];
    const auto place = static_cast<std::size_t>(std::ranges::lower_bound(distinct, value) - distinct.begin());
    if (place > 0) cut_below(place);
  }
  return cuts;
}

/// Sums over a leaf's rows in one bin of a feature, as a vector that one instruction adds. The number of rows is exact
/// up to 2^24.
struct Bin {
  [[gnu::vector_size(4 * sizeof(float))]] float sums = {};

  [[nodiscard]] double gradient() const { return double{sums[0]}; }
  [[nodiscard]] double weight() const { return double{sums[1]}; }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(sums[2]); }
};

struct Split {
  double gain = 0;
  std::size_t feature = 0;
  std::size_t cut = 0;
};

class Trees {
 public:
  Trees(const BoostingRows& rows, const BoostingSettings& settings, LossModel::Contents& contents)
      : rows_(rows), settings_(settings), contents_(contents) {
    contents_.cuts.clear();
    for (std::size_t f = 0; f < rows_.features; ++f) {
      std::vector<float> column;
      for (std::size_t i = 0; i < rows_.count(); ++i) column.push_back(rows_.values[i * rows_.features + f]);
      contents_.cuts.push_back(cuts_of(std::move(column)));
      if (contents_.cuts.back().empty()) continue;
      varying_.push_back(f);
      first_bin_.push_back(first_bin_.back() + contents_.cuts.back().size() + 1);
    }
    static_assert(LossModel::kLeaf * kBins <= 65536, "a feature's number is below kLeaf, and a bin's fits 16 bits");
    bins_.resize(rows_.count() * varying_.size());
    columns_.resize(bins_.size());
    for (std::size_t i = 0; i < rows_.count(); ++i) {
      for (std::size_t v = 0; v < varying_.size(); ++v) {
        const std::vector<float>& cuts = contents_.cuts[varying_[v]];
        const float value = rows_.values[i * rows_.features + varying_[v]];
        const auto bin = static_cast<std::size_t>(std::ranges::upper_bound(cuts, value) - cuts.begin());
        bins_[i * varying_.size() + v] = static_cast<std::uint16_t>(first_bin_[v] + bin);
        columns_[v * rows_.count() + i] = static_cast<std::uint8_t>(bin);
      }
    }
  }

  void grow() {
    double sum = 0, weight = 0;
    for (std::size_t i = 0; i < rows_.count(); ++i) {
      sum += double{rows_.weights[i]} * double{rows_.targets[i]};
      weight += double{rows_.weights[i]};
    }
    contents_.mean = weight > 0 ? static_cast<float>(sum / weight) : 0;
    for (const float target : rows_.targets) rest_.push_back(target - contents_.mean);
    const std::size_t parts = rows_.groups.empty() ? 1 : std::max<std::size_t>(1, settings_.parts);
    // With a single part no row is left out.
    part_.assign(rows_.count(), 1);
    for (std::size_t i = 0; i < rows_.count() && parts > 1; ++i) part_[i] = rows_.groups[i] % parts;
    std::size_t in_vain = 0;
    // If no feature varies, there is no split.
    for (int tree = 0; tree < settings_.trees && !varying_.empty() && in_vain < parts; ++tree) {
      out_ = static_cast<std::size_t>(tree) % parts;
      in_vain = grow_one() ? 0 : in_vain + 1;
    }
    write();
  }

 private:
  struct Leaf {
    std::size_t begin = 0, end = 0;  // of order_
    std::vector<Bin> histogram;
    double gradient = 0, weight = 0;
    Split best;
    /// Indices of its two halves, once it is split by `feature` and `cut`.
    std::optional<std::pair<std::size_t, std::size_t>> parts{};
    std::size_t feature = 0, cut = 0;
    double value = 0;
  };

  std::span<const std::uint16_t> bins_of(std::size_t row) const {
    return {bins_.data() + row * varying_.size(), varying_.size()};
  }

  std::vector<Bin> histogram_of(const Leaf& leaf) {
    std::vector<Bin> histogram;
    // Reuses histograms of the last tree: allocating one costs more than filling it.
    if (!unused_.empty()) {
      histogram = std::move(unused_.back());
      unused_.pop_back();
    }
    histogram.assign(first_bin_.back(), Bin());
    for (std::size_t i = leaf.begin; i < leaf.end; ++i) {
      // A leaf's rows are scattered in memory, where the processor does not foresee them.
      const std::span<const std::uint16_t> ahead = bins_of(order_[std::min(i + kRowsAhead, leaf.end - 1)]);
      for (std::size_t v = 0; v < ahead.size(); v += kBinsOfLine) __builtin_prefetch(&ahead[v]);
      const std::size_t row = order_[i];
      if (part_[row] == out_) continue;
      const float weight = rows_.weights[row];
      const Bin one{{weight * rest_[row], weight, 1}};
      for (const std::uint16_t bin : bins_of(row)) histogram[bin].sums += one.sums;
    }
    return histogram;
  }

  /// Sets the leaf's sums and best split.
  void judge(Leaf& leaf) const {
    leaf.gradient = leaf.weight = 0;
    std::size_t rows = 0;
    for (std::size_t bin = 0; bin < first_bin_[1]; ++bin) {
      leaf.gradient += leaf.histogram[bin].gradient();
      leaf.weight += leaf.histogram[bin].weight();
      rows += leaf.histogram[bin].rows();
    }
    leaf.best = {};
    if (rows < 2 * settings_.rows || leaf.weight <= 0) return;
    const auto explained = [&](double gradient, double weight) {
      return gradient * gradient / (weight + settings_.doubt);
    };
    const double whole = explained(leaf.gradient, leaf.weight);
    for (std::size_t v = 0; v < varying_.size(); ++v) {
      const Bin* const bins = leaf.histogram.data() + first_bin_[v];
      double gradient = 0, weight = 0;
      std::size_t below = 0;
      for (std::size_t cut = 0; cut < contents_.cuts[varying_[v]].size(); ++cut) {
        gradient += bins[cut].gradient();
        weight += bins[cut].weight();
        below += bins[cut].rows();
        if (below < settings_.rows) continue;
        if (rows - below < settings_.rows) break;
        const double other = leaf.gradient - gradient, other_weight = leaf.weight - weight;
        if (weight <= 0 || other_weight <= 0) continue;
        const double gain = explained(gradient, weight) + explained(other, other_weight) - whole;
        if (gain > leaf.best.gain) leaf.best = {gain, v, cut};
      }
    }
  }

  bool grow_one() {
    order_.resize(rows_.count());
    std::iota(order_.begin(), order_.end(), 0U);
    std::vector<Leaf> leaves(1);
    leaves.reserve(2 * settings_.leaves);
    leaves[0].end = order_.size();
    leaves[0].histogram = histogram_of(leaves[0]);
    judge(leaves[0]);
    for (std::size_t count = 1; count < settings_.leaves; ++count) {
      const auto best =
          std::ranges::max_element(leaves, {}, [](const Leaf& leaf) { return leaf.parts ? 0 : leaf.best.gain; });
      if (best->parts || best->best.gain <= kLeastGain) break;
      split(leaves, static_cast<std::size_t>(best - leaves.begin()));
    }
    if (leaves.size() == 1) return false;
    for (Leaf& leaf : leaves) {
      if (leaf.parts) continue;
      unused_.push_back(std::move(leaf.histogram));
      leaf.value = settings_.rate * leaf.gradient / (leaf.weight + settings_.doubt);
      for (std::size_t i = leaf.begin; i < leaf.end; ++i) rest_[order_[i]] -= static_cast<float>(leaf.value);
    }
    trees_.push_back(std::move(leaves));
    return true;
  }

  void split(std::vector<Leaf>& leaves, std::size_t at) {
    const Split best = leaves[at].best;
    // As std::stable_partition, without branches, which a processor cannot foretell here.
    moved_.resize(order_.size());
    std::uint32_t *low_end = order_.data() + leaves[at].begin, *moved_end = moved_.data();
    const std::uint8_t* const column = columns_.data() + best.feature * rows_.count();
    for (std::size_t i = leaves[at].begin; i < leaves[at].end; ++i) {
      const std::uint32_t row = order_[i];
      const bool is_low = column[row] <= best.cut;
      *low_end = *moved_end = row;
      low_end += is_low ? 1 : 0;
      moved_end += is_low ? 0 : 1;
    }
    std::copy(moved_.data(), moved_end, low_end);
    Leaf low, high;
    low.begin = leaves[at].begin;
    low.end = high.begin = static_cast<std::size_t>(low_end - order_.data());
    high.end = leaves[at].end;
    // The greater half's histogram is the parent's less the smaller's.
    const bool is_low_smaller = low.end - low.begin <= high.end - high.begin;
    Leaf& smaller = is_low_smaller ? low : high;
    Leaf& greater = is_low_smaller ? high : low;
    smaller.histogram = histogram_of(smaller);
    greater.histogram = std::move(leaves[at].histogram);
    for (std::size_t i = 0; i < greater.histogram.size(); ++i) greater.histogram[i].sums -= smaller.histogram[i].sums;
    judge(low);
    judge(high);
    leaves[at].parts = std::pair(leaves.size(), leaves.size() + 1);
    leaves[at].feature = varying_[best.feature];
    leaves[at].cut = best.cut;
    leaves[at].histogram = {};
    leaves.push_back(std::move(low));
    leaves.push_back(std::move(high));
  }

  /// Writes leaf values as multiples of a unit that makes the greatest fit 15 bits.
  void write() {
    double greatest = 0;
    for (const std::vector<Leaf>& tree : trees_) {
      for (const Leaf& leaf : tree) greatest = std::max(greatest, std::fabs(leaf.value));
    }
    constexpr double kMost = std::numeric_limits<std::int16_t>::max();
    contents_.unit = greatest > 0 ? static_cast<float>(greatest / kMost) : 1;
    contents_.nodes.clear();
    contents_.roots.clear();
    for (const std::vector<Leaf>& tree : trees_) {
      contents_.roots.push_back(static_cast<std::uint32_t>(contents_.nodes.size()));
      write(tree, 0);
    }
  }

  void write(const std::vector<Leaf>& tree, std::size_t at) {
    const Leaf& leaf = tree[at];
    const std::size_t place = contents_.nodes.size();
    if (!leaf.parts) {
      contents_.nodes.push_back(LossModel::leaf(leaf.value / double{contents_.unit}));
      return;
    }
    contents_.nodes.push_back({static_cast<std::uint8_t>(leaf.feature), static_cast<std::uint8_t>(leaf.cut), 0});
    write(tree, leaf.parts->first);
    contents_.nodes[place].right = static_cast<std::uint8_t>(contents_.nodes.size() - place);
    write(tree, leaf.parts->second);
  }

  static constexpr double kLeastGain = 1e-9;

  const BoostingRows& rows_;
  const BoostingSettings& settings_;
  LossModel::Contents& contents_;
  /// The features that vary, and each one's first bin in a histogram; the last entry is the number of bins.
  std::vector<std::size_t> varying_, first_bin_{0};
  /// Each row's bins, as indices of a histogram, row by row; and as numbers within a feature, feature by feature.
  std::vector<std::uint16_t> bins_;
  std::vector<std::uint8_t> columns_;
  /// Each row's residual after the trees so far.
  std::vector<float> rest_;
  /// Each row's part of the groups, and the part that the current tree leaves out. Left-out residuals are updated, too.
  std::vector<std::size_t> part_;
  std::size_t out_ = 0;
  /// All rows; each leaf's are contiguous.
  std::vector<std::uint32_t> order_;
  /// Room for the rows that a split moves behind the others of its leaf.
  std::vector<std::uint32_t> moved_;
  std::vector<std::vector<Leaf>> trees_;
  std::vector<std::vector<Bin>> unused_;
};

}  // namespace

void boost(const BoostingRows& rows, const BoostingSettings& settings, LossModel::Contents& contents) {
  Trees(rows, settings, contents).grow();
}

}  // namespace tilewright
