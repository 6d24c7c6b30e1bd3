// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/roofline.hpp"

#include "cache/plan/traffic.hpp"

namespace tilewright {
namespace {

// Both rate and time are measured, so a problem slightly above the rate still runs in fp32.
constexpr double kMostInFp32 = 1.05;
// Two medians of one kernel differ by up to this between two sweeps.
constexpr double kMostOfCopies = 1.02;
double ceiling_ns(const Roofline& roofline) { return roofline.ceiling ? roofline.ceiling->best_ns() : 0; }

}  // namespace

Roofline roofline_of(Ceilings& ceilings, const OpDefinition* definition, const std::string& interface_hash,
                     const Problem& problem, const std::string& fingerprint, MeasureMode mode) {
  Roofline roofline;
  if (definition == nullptr || definition->interface.hash() != interface_hash) return roofline;
  roofline.bytes = definition->bytes_of(problem);
  roofline.draws = definition->draws;
  roofline.draw_names = definition->draw_names;
  roofline.flops = definition->flops_of(problem);
  const int reads = nearest_reads(traffic_of(definition->interface, problem));
  roofline.ceiling = ceilings.copy(fingerprint, *roofline.bytes, reads, mode);
  roofline.rate = ceilings.rate(fingerprint, definition->unit_of(problem));
  return roofline;
}

std::string_view name(Bound bound) noexcept {
  return bound == Bound::launch ? "launch" : bound == Bound::memory ? "memory" : "compute";
}

std::optional<double> intensity_of(const Roofline& roofline) {
  if (!roofline.bytes || !roofline.flops || *roofline.bytes <= 0) return std::nullopt;
  return static_cast<double>(*roofline.flops) / static_cast<double>(*roofline.bytes);
}

std::optional<double> ridge_of(const Roofline& roofline) {
  if (!roofline.rate || ceiling_ns(roofline) <= 0 || roofline.ceiling->bytes <= 0) return std::nullopt;
  const double bytes_per_second = static_cast<double>(roofline.ceiling->bytes) / ceiling_ns(roofline) * 1e9;
  return roofline.rate->flops_per_second / bytes_per_second;
}

std::optional<Bound> bound_of(const Roofline& roofline, const Timing* timing) {
  if (timing != nullptr && timing->launch_bound()) return Bound::launch;
  const auto intensity = intensity_of(roofline);
  if (intensity && *intensity == 0) return Bound::memory;
  const auto ridge = ridge_of(roofline);
  if (!intensity || !ridge) return std::nullopt;
  return *intensity > *ridge ? Bound::compute : Bound::memory;
}

std::optional<double> share_of_memory(const Roofline& roofline, double time_ns) {
  if (ceiling_ns(roofline) <= 0 || time_ns <= 0) return std::nullopt;
  return ceiling_ns(roofline) / time_ns;
}

std::optional<double> share_of_compute(const Roofline& roofline, double time_ns) {
  if (!roofline.rate || roofline.rate->flops_per_second <= 0 || !roofline.flops || time_ns <= 0) return std::nullopt;
  return static_cast<double>(*roofline.flops) / time_ns * 1e9 / roofline.rate->flops_per_second;
}

bool beyond_fp32(const Roofline& roofline, const Timing* timing) {
  if (timing == nullptr || bound_of(roofline, timing) != Bound::compute || roofline.rate->unit != kFp32) return false;
  const auto share = share_of_compute(roofline, timing->median_ns);
  return share && *share > kMostInFp32;
}

bool beyond_copies(const Roofline& roofline, const Timing* timing) {
  if (timing == nullptr) return false;
  const auto bound = bound_of(roofline, timing);
  if (bound == Bound::launch || bound == Bound::compute) return false;
  return share_of_memory(roofline, timing->median_ns).value_or(0) > kMostOfCopies;
}

std::optional<double> share_of_ceiling(const Roofline& roofline, const Timing* timing) {
  if (timing == nullptr || beyond_fp32(roofline, timing) || beyond_copies(roofline, timing)) return std::nullopt;
  const auto bound = bound_of(roofline, timing);
  if (bound == Bound::launch) return std::nullopt;
  if (bound == Bound::compute) return share_of_compute(roofline, timing->median_ns);
  return share_of_memory(roofline, timing->median_ns);
}

}  // namespace tilewright
