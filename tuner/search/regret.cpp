// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/regret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "cache/nearest.hpp"

namespace tilewright {
namespace {

ShapeDims shape_of(const Problem& problem) {
  ShapeDims shape;
  for (const auto& dim : problem.dims) shape.push_back(dim.second);
  return shape;
}

/// A cache as it would be without a shape.
class Without final : public WinnerSource {
 public:
  Without(const Store& store, ShapeDims shape, LeftOut left_out)
      : store_(store), shape_(std::move(shape)), left_out_(left_out) {}

  [[nodiscard]] std::string title() const override { return store_.title(); }
  [[nodiscard]] bool changed() const override { return false; }
  [[nodiscard]] std::vector<std::string> ops() const override { return store_.ops(); }
  [[nodiscard]] std::vector<DeviceFacts> devices() const override { return {}; }
  [[nodiscard]] std::optional<OpInterface> interface_of(const std::string& op) const override {
    return store_.interface_of(op);
  }
  [[nodiscard]] std::optional<OpInterface> interface_by_hash(const std::string& hash) const override {
    return store_.interface_by_hash(hash);
  }
  [[nodiscard]] std::optional<StoredImplementation> implementation_by_hash(const std::string& hash) const override {
    return store_.implementation_by_hash(hash);
  }
  [[nodiscard]] std::optional<WinnerRow> winner_of(const ProblemKey& key, MeasureMode mode,
                                                   WinnerRole role) const override {
    if (is_left_out(shape_of(key.problem))) return std::nullopt;
    return store_.winner_of(key, mode, role);
  }
  /// The base is one config for all shapes: that the newest is of this very shape does not matter.
  [[nodiscard]] std::optional<WinnerRow> newest_of_spec(const ProblemKey& key, MeasureMode mode,
                                                        WinnerRole role) const override {
    return store_.newest_of_spec(key, mode, role);
  }
  [[nodiscard]] std::vector<ShapeDims> tuned_shapes(const ProblemKey& key, MeasureMode mode) const override {
    std::vector<ShapeDims> shapes = store_.tuned_shapes(key, mode);
    std::erase_if(shapes, [&](const ShapeDims& shape) { return is_left_out(shape); });
    return shapes;
  }
  [[nodiscard]] std::vector<KnownShape> known_shapes(const ProblemKey& key, MeasureMode mode,
                                                     const std::vector<ShapeDims>& shapes) const override {
    return store_.known_shapes(key, mode, shapes);
  }
  [[nodiscard]] std::optional<WinnerRow> timed(const ProblemKey& key, MeasureMode mode,
                                               const std::string& implementation_hash,
                                               const Config& config) const override {
    return store_.timed(key, mode, implementation_hash, config);
  }
  [[nodiscard]] std::optional<Build> build(const std::string& key) const override { return store_.build(key); }
  [[nodiscard]] std::vector<std::byte> binary(const std::string& content_hash) const override {
    return store_.binary(content_hash);
  }

 private:
  [[nodiscard]] bool is_left_out(const ShapeDims& shape) const {
    if (left_out_ == LeftOut::itself) return shape == shape_;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == shape_[d]) return true;
    }
    return false;
  }

  const Store& store_;
  ShapeDims shape_;
  LeftOut left_out_;
};

std::optional<double> time_of(const Store& store, const ProblemKey& key, const std::string& implementation_hash,
                              const Config& config, MeasureMode mode) {
  for (const Trial& trial : store.trials(key, {implementation_hash}, mode)) {
    if (trial.config == config && trial.status == TrialStatus::ok && trial.timing) return trial.timing->median_ns;
  }
  return std::nullopt;
}

int region_of(std::int64_t value) { return static_cast<int>(std::log2(static_cast<double>(value)) / 4 + 1e-9); }

/// Half-way by logarithms; a multiple of 8 where both are.
std::int64_t between(std::int64_t a, std::int64_t b) {
  const double middle = std::sqrt(static_cast<double>(a) * static_cast<double>(b));
  const std::int64_t step = a % 8 == 0 && b % 8 == 0 ? 8 : 1;
  return std::max<std::int64_t>(1, std::llround(middle / static_cast<double>(step))) * step;
}

}  // namespace

std::optional<double> Regret::loss() const noexcept {
  if (!served_ns || best_ns <= 0) return std::nullopt;
  return *served_ns / best_ns - 1;
}

std::vector<Regret> regrets(const Store& store, const OpInterface& interface, const OpSpec& spec,
                            const DeviceFacts& device, MeasureMode mode, LeftOut left_out, Servers servers) {
  std::vector<Regret> found;
  // Whatever is wanted counts as compiled.
  const auto compiled = [](const Serving&) -> std::optional<std::string> { return "compiled"; };
  ProblemKey key{Problem{spec, {}}, interface.hash(), device.fingerprint()};
  for (const std::string& dim : interface.dims) key.problem.dims.emplace_back(dim, 1);
  for (const ShapeDims& shape : store.tuned_shapes(key, mode)) {
    for (std::size_t d = 0; d < shape.size(); ++d) key.problem.dims[d].second = shape[d];
    const std::optional<WinnerRow> winner = store.winner_of(key, mode, WinnerRole::best);
    if (!winner || !winner->winner.trial.timing) continue;
    Regret regret;
    regret.problem = key.problem;
    regret.winner = winner->winner.trial.config;
    regret.best_ns = winner->winner.trial.timing->median_ns;
    const Chosen chosen = choose(Without(store, shape, left_out), interface, key.problem, device, {}, {}, {},
                                 servers == Servers::compiled ? CompiledHere(compiled) : CompiledHere());
    if (chosen.choice) {
      const WinnerRow& row = chosen.choice->row;
      regret.match = chosen.choice->match;
      regret.served = row.winner.trial.config;
      regret.implementation_hash = row.implementation_hash;
      regret.tuned_for = row.problem;
      const bool is_winner = *regret.served == regret.winner && row.implementation_hash == winner->implementation_hash;
      regret.served_ns = is_winner ? std::optional(regret.best_ns)
                                   : time_of(store, key, row.implementation_hash, *regret.served, mode);
    }
    found.push_back(std::move(regret));
  }
  return found;
}

RegretSummary summarise_regrets(const std::vector<Regret>& regrets) {
  RegretSummary summary;
  summary.shapes = regrets.size();
  std::vector<double> losses;
  for (const Regret& regret : regrets) {
    if (!regret.served) ++summary.unserved;
    if (regret.served && !regret.served_ns) ++summary.untimed;
    const std::optional<double> loss = regret.loss();
    if (!loss) continue;
    losses.push_back(*loss);
    if (!summary.worst_at || *loss > summary.worst) {
      summary.worst = *loss;
      summary.worst_at = regret.problem;
    }
  }
  if (losses.empty()) return summary;
  std::ranges::sort(losses);
  for (const double loss : losses) summary.mean += loss / static_cast<double>(losses.size());
  const auto place = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(losses.size())));
  summary.p95 = losses[std::max<std::size_t>(place, 1) - 1];
  return summary;
}

std::vector<Region> by_region(const std::vector<Regret>& regrets) {
  std::map<std::vector<int>, Region> regions;
  for (const Regret& regret : regrets) {
    std::vector<int> powers;
    std::string text;
    for (const auto& [name, value] : regret.problem.dims) {
      const int power = region_of(value);
      powers.push_back(power);
      text += fmt::format("{}{} {}..{}", text.empty() ? "" : ", ", name, std::int64_t{1} << (4 * power),
                          (std::int64_t{1} << (4 * std::min(power, 14) + 4)) - 1);
    }
    Region& region = regions[powers];
    region.text = text;
    region.regrets.push_back(regret);
  }
  std::vector<Region> found;
  for (auto& [powers, region] : regions) found.push_back(std::move(region));
  return found;
}

std::vector<Problem> shapes_to_tune(const std::vector<Regret>& regrets, double tolerated, std::size_t most) {
  std::vector<const Regret*> losers;
  std::set<ShapeDims> known;
  for (const Regret& regret : regrets) {
    known.insert(shape_of(regret.problem));
    if (regret.tuned_for && regret.loss().value_or(0) > tolerated) losers.push_back(&regret);
  }
  std::ranges::stable_sort(losers, std::greater{}, [](const Regret* regret) { return *regret->loss(); });
  std::vector<Problem> found;
  for (const Regret* regret : losers) {
    if (found.size() == most) break;
    Problem problem = regret->problem;
    for (std::size_t d = 0; d < problem.dims.size(); ++d) {
      problem.dims[d].second = between(problem.dims[d].second, regret->tuned_for->dims[d].second);
    }
    if (known.insert(shape_of(problem)).second) found.push_back(std::move(problem));
  }
  return found;
}

}  // namespace tilewright
