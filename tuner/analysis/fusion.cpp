// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/fusion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "cache/plan/plan.hpp"
#include "cache/plan/traffic.hpp"
#include "tuner/analysis/intervals.hpp"
#include "tuner/analysis/roofline.hpp"

namespace tilewright {
namespace {

/// A device's measurements, for predictions.
struct MeasuredCeilings {
  std::vector<Ceiling> copies;
  /// The fp32 rate.
  std::optional<ComputeRate> rate;

  /// The time to move a line's bytes, by the measured copy of the nearest size with its read/write ratio, or of any
  /// ratio if there is none.
  [[nodiscard]] std::optional<double> moving_ns(const FusionLine& line) const {
    const Ceiling* nearest = nullptr;
    const std::int64_t bytes = line.bytes;
    const auto distance = [&](const Ceiling& copy) {
      return std::pair(line.reads && copy.reads != *line.reads,
                       std::abs(std::log(static_cast<double>(copy.bytes) / static_cast<double>(bytes))));
    };
    for (const Ceiling& copy : copies) {
      if (copy.best_ns() <= 0 || copy.bytes <= 0) continue;
      if (nearest == nullptr || distance(copy) < distance(*nearest)) nearest = &copy;
    }
    if (nearest == nullptr || bytes <= 0) return std::nullopt;
    return nearest->best_ns() / static_cast<double>(nearest->bytes) * static_cast<double>(bytes);
  }

  /// At the rate of the line's own unit, if known; else in fp32.
  [[nodiscard]] std::optional<double> computing_ns(const FusionLine& line) const {
    const auto& best = line.roofline.rate ? line.roofline.rate : rate;
    if (!best || best->flops_per_second <= 0) return std::nullopt;
    return static_cast<double>(line.flops) / best->flops_per_second * 1e9;
  }
};

MeasuredCeilings ceilings_of(const Store& store, const std::string& fingerprint, MeasureMode mode) {
  MeasuredCeilings ceilings{store.ceilings(fingerprint), store.compute_rate(fingerprint)};
  std::erase_if(ceilings.copies, [&](const Ceiling& copy) { return copy.mode != mode; });
  return ceilings;
}

const Timing* timing_of(const FusionLine& line) {
  return line.trial && line.trial->timing ? &*line.trial->timing : nullptr;
}

/// Fills in the cache's knowledge of a line's problem.
void look_up(FusionLine& line, const Store& store, Ceilings& ceilings, const OpDefinition& definition,
             const std::string& fingerprint, MeasureMode mode) {
  const std::string hash = definition.interface.hash();
  line.reads = nearest_reads(traffic_of(definition.interface, *line.problem));
  line.roofline = roofline_of(ceilings, &definition, hash, *line.problem, fingerprint, mode);
  auto row = store.winner_of({*line.problem, hash, fingerprint}, mode, WinnerRole::best);
  if (row && timed(row->winner.trial)) {
    line.trial = std::move(row->winner.trial);
  } else {
    line.estimate = estimated_time(shape_of(*line.problem),
                                   store.times_near({*line.problem, hash, fingerprint}, mode, kTimesAround));
  }
}

/// The least compute time by the rate. If a step ran faster than fp32 and the tensor cores' rate is unknown: its
/// measured time.
std::optional<double> computing_of(const FusionLine& line, const MeasuredCeilings& ceilings) {
  const auto by_rate = ceilings.computing_ns(line);
  const Timing* timing = timing_of(line);
  return by_rate && timing != nullptr && beyond_fp32(line.roofline, timing) ? timing->median_ns : by_rate;
}

void predict(FusionAccount& account, const MeasuredCeilings& ceilings) {
  double floor = 0;
  for (const FusionLine& line : account.steps) {
    if (timing_of(line) != nullptr) floor = std::max(floor, timing_of(line)->floor_ns);
  }
  const auto at_least = [&](FusionLine& line) {
    const auto moving = ceilings.moving_ns(line);
    if (!moving) return;
    line.predicted_ns = std::max({*moving, line.computing_ns.value_or(0), floor});
  };
  double computing = 0;
  bool known = true;
  for (FusionLine& line : account.steps) {
    line.computing_ns = computing_of(line, ceilings);
    known = known && line.computing_ns;
    computing += line.computing_ns.value_or(0);
    at_least(line);
  }
  // The fused op computes what all steps compute.
  if (known) account.fused.computing_ns = computing;
  at_least(account.fused);
}

/// Shared bytes per block of the config that serves the problem: the winner, else the op's base.
std::optional<std::int64_t> shared_used(const OpDefinition& definition, const FusionAccount& account) {
  const Config& config = account.fused.trial ? account.fused.trial->config : definition.base;
  const auto& all = definition.implementations;
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const Implementation& each) { return each.recipe.name == config.implementation; });
  if (found == all.end()) return std::nullopt;
  try {
    const auto planned = make_plan(definition.interface, found->recipe, config, account.problem, *account.device);
    const auto* plan = std::get_if<LaunchPlan>(&planned);
    if (plan == nullptr) return std::nullopt;
    std::int64_t most = 0;
    for (const PlannedKernel& kernel : plan->kernels) most = std::max(most, std::int64_t{kernel.shared_bytes});
    return most;
  } catch (const UsageError&) {
    return std::nullopt;  // a winner of an older definition with other parameters
  }
}

bool is_timed(const FusionAccount& account) {
  return timing_of(account.fused) != nullptr &&
         std::all_of(account.steps.begin(), account.steps.end(),
                     [](const FusionLine& line) { return timing_of(line) != nullptr; });
}

// An estimated speed-up whose bounds are further apart tells less than the ceilings.
constexpr double kWidestEstimate = 4;

/// By measured times and estimates; nullopt if a line has neither.
std::optional<SpeedUp> known_speed_up(const FusionAccount& account) {
  const auto own = account.fused.known_time();
  const auto chain = account.chain_time();
  if (!own || !chain) return std::nullopt;
  return SpeedUp{chain->ns / own->ns, chain->low_ns / own->high_ns, chain->high_ns / own->low_ns};
}

FusionReason bound_reason(const FusionAccount& account) {
  const auto bound = account.bound();
  if (!bound) return {"bound by", "not known", std::nullopt, true};
  switch (*bound) {
    case Bound::launch:
      return {"bound by", fmt::format("launching: {} launches become one", account.steps.size()), true, true};
    case Bound::memory:
      return {"bound by", "memory: less traffic is less time", true, true};
    case Bound::compute:
      break;
  }
  return {"bound by", "computing: less traffic saves little of the chain's time", false, true};
}

FusionReason axis_reason(const FusionAccount& account) {
  const auto axes = account.common_axes();
  if (!axes) return {"parallel axis", "a step does not say its own", std::nullopt};
  if (axes->empty())
    return {"parallel axis", "none that all steps share: blocks would have to wait for each other", false};
  return {"parallel axis", fmt::format("{}, in all steps", fmt::join(*axes, ", ")), true};
}

FusionReason shared_reason(const FusionAccount& account) {
  std::string text = "not said";
  std::optional<bool> fits;
  if (account.shared_needed) {
    text = *account.shared_needed == 0
               ? "none needed between steps"
               : fmt::format("{} a block at least", show_bytes(static_cast<double>(*account.shared_needed)));
    if (account.shared_available) {
      fits = *account.shared_needed <= *account.shared_available;
      if (*account.shared_needed > 0) {
        text += fmt::format(" of {}{}", show_bytes(static_cast<double>(*account.shared_available)),
                            *fits ? "" : ": it does not fit");
      }
    }
  }
  if (account.shared_used) {
    text += fmt::format("; the {} uses {}", account.fused.trial ? "winner" : "base",
                        show_bytes(static_cast<double>(*account.shared_used)));
  }
  return {"shared memory", text, fits};
}

}  // namespace

std::string_view name(FusionBasis basis) noexcept {
  switch (basis) {
    case FusionBasis::measured:
      return "measured";
    case FusionBasis::estimated:
      return "estimated";
    case FusionBasis::predicted:
      break;
  }
  return "predicted";
}

std::optional<EstimatedTime> FusionLine::known_time() const {
  const Timing* timing = timing_of(*this);
  if (timing == nullptr) return estimate;
  const Likely interval = likely(*trial);
  return EstimatedTime{timing->median_ns, interval.low_ns, interval.high_ns};
}

std::int64_t FusionAccount::chain_bytes() const noexcept {
  return std::accumulate(steps.begin(), steps.end(), std::int64_t{0},
                         [](std::int64_t sum, const FusionLine& line) { return sum + line.bytes; });
}

std::int64_t FusionAccount::chain_flops() const noexcept {
  return std::accumulate(steps.begin(), steps.end(), std::int64_t{0},
                         [](std::int64_t sum, const FusionLine& line) { return sum + line.flops; });
}

double FusionAccount::traffic_ratio() const noexcept {
  return fused.bytes > 0 ? static_cast<double>(chain_bytes()) / static_cast<double>(fused.bytes) : 1;
}

std::optional<EstimatedTime> FusionAccount::chain_time() const {
  EstimatedTime chain;
  for (const FusionLine& line : steps) {
    const auto step = line.known_time();
    if (!step) return std::nullopt;
    chain.ns += step->ns;
    chain.low_ns += step->low_ns;
    chain.high_ns += step->high_ns;
  }
  return chain;
}

std::optional<double> FusionAccount::predicted_by_ceilings() const {
  if (!fused.predicted_ns) return std::nullopt;
  double chain = 0;
  for (const FusionLine& line : steps) {
    if (!line.predicted_ns) return std::nullopt;
    chain += *line.predicted_ns;
  }
  return chain / *fused.predicted_ns;
}

std::optional<double> FusionAccount::predicted() const {
  if (const auto by_ceilings = predicted_by_ceilings()) return by_ceilings;
  return bound() == Bound::compute ? std::nullopt : std::optional(traffic_ratio());
}

std::optional<SpeedUp> FusionAccount::measured() const {
  return is_timed(*this) ? known_speed_up(*this) : std::nullopt;
}

std::optional<SpeedUp> FusionAccount::estimated() const {
  const auto ratio = is_timed(*this) ? std::nullopt : known_speed_up(*this);
  return ratio && ratio->high <= kWidestEstimate * ratio->low ? ratio : std::nullopt;
}

std::optional<Bound> FusionAccount::bound() const {
  const bool launching = !steps.empty() && std::all_of(steps.begin(), steps.end(), [](const FusionLine& line) {
    return timing_of(line) != nullptr && timing_of(line)->launch_bound();
  });
  if (launching) return Bound::launch;
  double computing = 0;
  double total = 0;
  bool known = true;
  for (const FusionLine& line : steps) {
    known = known && line.predicted_ns && line.computing_ns;
    if (!known) break;
    computing += *line.computing_ns;
    total += *line.predicted_ns;
  }
  if (known) return computing > total / 2 ? Bound::compute : Bound::memory;
  if (chain_bytes() <= 0) return std::nullopt;
  const double intensity = static_cast<double>(chain_flops()) / static_cast<double>(chain_bytes());
  return intensity > kSurelyComputes ? Bound::compute : Bound::memory;
}

std::optional<std::vector<std::string>> FusionAccount::common_axes() const {
  std::vector<std::string> common;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].parallel.empty()) return std::nullopt;
    if (i == 0) common = steps[i].parallel;
    std::erase_if(common, [&](const std::string& dim) {
      return std::find(steps[i].parallel.begin(), steps[i].parallel.end(), dim) == steps[i].parallel.end();
    });
  }
  return common;
}

std::vector<FusionReason> FusionAccount::reasons() const {
  const double ratio = traffic_ratio();
  return {{"traffic",
           fmt::format("{} less: {} in {}, {} fused; worth it from {} on", show_ratio(ratio),
                       show_bytes(static_cast<double>(chain_bytes())), counted(steps.size(), "step"),
                       show_bytes(static_cast<double>(fused.bytes)), show_ratio(kLeastTrafficSaved)),
           ratio >= kLeastTrafficSaved, true},
          bound_reason(*this),
          axis_reason(*this),
          shared_reason(*this)};
}

FusionBasis FusionAccount::basis() const {
  return measured() ? FusionBasis::measured : estimated() ? FusionBasis::estimated : FusionBasis::predicted;
}

FusionVerdict FusionAccount::verdict() const {
  if (const auto ratio = is_timed(*this) ? measured() : estimated()) {
    if (!ratio->significant()) return FusionVerdict::either;
    return ratio->ratio > 1 ? FusionVerdict::worth_it : FusionVerdict::not_worth_it;
  }
  // Launches saved are worth it whatever the traffic.
  const bool launching = bound() == Bound::launch;
  const auto predicted = launching ? std::nullopt : predicted_by_ceilings();
  if (predicted && *predicted < kLeastPredicted) return FusionVerdict::not_worth_it;
  const std::vector<FusionReason> all = reasons();
  const bool holds = std::all_of(all.begin(), all.end(), [&](const FusionReason& reason) {
    const bool is_told = (launching && reason.name == "traffic") || (predicted && reason.is_of_time);
    return reason.holds.value_or(true) || is_told;
  });
  return holds ? FusionVerdict::worth_it : FusionVerdict::not_worth_it;
}

FusionAccount fusion_account(const Store* store, Catalogue& catalogue, const OpDefinition& fused,
                             const Problem& problem, const std::optional<DeviceFacts>& device, MeasureMode mode) {
  if (!fused.fusion) {
    throw UsageError(
        fmt::format("{} names no unfused chain: its definition has no [fusion] section ({}); docs/definitions.md tells "
                    "how to write one",
                    fused.interface.op, fused.file.string()));
  }
  const std::vector<UnfusedStep> chain = unfused_steps(fused, problem, catalogue);
  if (chain.size() < 2) {
    throw UsageError(
        fmt::format("there is nothing to fuse in {}: its chain has {}", problem.key(), counted(chain.size(), "step")));
  }
  FusionAccount account;
  account.problem = problem;
  account.device = device;
  account.mode = mode;
  account.fused.name = "fused";
  account.fused.problem = problem;
  account.fused.bytes = fused.bytes_of(problem);
  account.fused.flops = fused.flops_of(problem);
  const std::string fingerprint = device ? device->fingerprint() : "";
  std::optional<Ceilings> ceilings;
  if (store != nullptr) ceilings.emplace(*store);
  for (const UnfusedStep& step : chain) {
    FusionLine& line = account.steps.emplace_back();
    line.name = step.step->name;
    line.problem = step.problem;
    line.bytes = step.bytes;
    line.flops = step.flops;
    line.parallel = step.step->parallel;
    if (ceilings && device && step.problem) {
      look_up(line, *store, *ceilings, *step.definition, fingerprint, mode);
    }
  }
  if (fused.fusion->shared_bytes) account.shared_needed = fused.fusion->shared_bytes->integer(ProblemScope(problem));
  if (!device) return account;
  account.shared_available = device->shared_per_block_optin;
  if (ceilings) {
    look_up(account.fused, *store, *ceilings, fused, fingerprint, mode);
    predict(account, ceilings_of(*store, fingerprint, mode));
  }
  account.shared_used = shared_used(fused, account);
  return account;
}

}  // namespace tilewright
