// SPDX-License-Identifier: Apache-2.0
#include "tuner/analysis/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/plan/traffic.hpp"

namespace tilewright {
namespace {

// Both rate and time are measured: what is a hair above the rate runs in fp32 all the same.
constexpr double kMostInFp32 = 1.05;
// Operations a byte: above the ridge point of any GPU in fp32.
constexpr double kSurelyComputes = 32;

double ceiling_ns(const Roofline& roofline) { return roofline.ceiling ? roofline.ceiling->best_ns() : 0; }

/// Positive, or 0 where there is none.
double median(const Placed& placed) { return placed.timing != nullptr ? placed.timing->median_ns : 0; }

/// Amount a nanosecond is 10^9 a second: GB/s for bytes, GFLOP/s for operations.
std::optional<double> giga_per_second(const Placed& placed, const std::optional<std::int64_t>& amount) {
  if (!amount || median(placed) <= 0) return std::nullopt;
  return static_cast<double>(*amount) / median(placed);
}

/// For which of the two rates tells more; by the intensity alone where no ceiling was measured.
bool computes(const Placed& placed) {
  const auto bound = bound_of(*placed.roofline, placed.timing);
  return bound ? *bound == Bound::compute : intensity_of(*placed.roofline).value_or(0) > kSurelyComputes;
}

}  // namespace

Roofline roofline_of(const Store& store, const OpDefinition* definition, const std::string& interface_hash,
                     const Problem& problem, const std::string& fingerprint, MeasureMode mode) {
  Roofline roofline;
  if (definition == nullptr || definition->interface.hash() != interface_hash) return roofline;
  roofline.bytes = definition->bytes_of(problem);
  roofline.flops = definition->flops_of(problem);
  const int reads = nearest_reads(traffic_of(definition->interface, problem));
  roofline.ceiling = store.ceiling(fingerprint, *roofline.bytes, reads, mode);
  roofline.rate = store.compute_rate(fingerprint, definition->unit_of(problem));
  // A cache of before units were told apart still tells memory and computing apart.
  if (!roofline.rate) roofline.rate = store.compute_rate(fingerprint);
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

std::optional<double> share_of_ceiling(const Roofline& roofline, const Timing* timing) {
  if (timing == nullptr || beyond_fp32(roofline, timing)) return std::nullopt;
  if (bound_of(roofline, timing) == Bound::compute) return share_of_compute(roofline, timing->median_ns);
  return share_of_memory(roofline, timing->median_ns);
}

std::vector<Source<Placed>> rate_sources() {
  return {
      {column("gb_per_s", "GB/s", Unit::rate, Shown::programs),
       [](const Placed& placed) { return cell_of(giga_per_second(placed, placed.roofline->bytes)); }},
      {column("gflop_per_s", "GFLOP/s", Unit::rate, Shown::programs),
       [](const Placed& placed) { return cell_of(giga_per_second(placed, placed.roofline->flops)); }},
      {spare_column("memory_gb_per_s", "GB/s", Unit::rate, Shown::people),
       [](const Placed& placed) {
         return computes(placed) ? Cell() : cell_of(giga_per_second(placed, placed.roofline->bytes));
       }},
      {spare_column("compute_tflop_per_s", "TFLOP/s", Unit::rate, Shown::people),
       [](const Placed& placed) {
         const auto rate = giga_per_second(placed, placed.roofline->flops);
         return computes(placed) && rate ? Cell(*rate / 1e3) : Cell();
       }},
      {data_column("ceiling_ns"),
       [](const Placed& placed) {
         const double ns = ceiling_ns(*placed.roofline);
         return ns > 0 ? Cell(ns) : Cell();
       }},
      {data_column("ceiling_reads_per_write"),
       [](const Placed& placed) {
         const auto& ceiling = placed.roofline->ceiling;
         return ceiling ? Cell(std::int64_t{ceiling->reads}) : Cell();
       }},
      {data_column("ceiling_gflop_per_s"),
       [](const Placed& placed) {
         const auto& rate = placed.roofline->rate;
         return rate ? Cell(rate->flops_per_second / 1e9) : Cell();
       }},
      {data_column("ceiling_unit"),
       [](const Placed& placed) {
         const auto& rate = placed.roofline->rate;
         return rate ? Cell(rate->unit) : Cell();
       }},
      {spare_column("share_of_ceiling", "of ceiling", Unit::share),
       [](const Placed& placed) { return cell_of(share_of_ceiling(*placed.roofline, placed.timing)); }},
      {data_column("share_of_memory_ceiling"),
       [](const Placed& placed) { return cell_of(share_of_memory(*placed.roofline, median(placed))); }},
      {data_column("share_of_compute_ceiling"),
       [](const Placed& placed) { return cell_of(share_of_compute(*placed.roofline, median(placed))); }},
  };
}

std::vector<Source<Placed>> bound_sources() {
  return {
      {spare_column("bound", "bound"),
       [](const Placed& placed) {
         const auto bound = bound_of(*placed.roofline, placed.timing);
         return bound ? Cell(std::string(name(*bound))) : Cell();
       }},
      {spare_column("flop_per_byte", "flop/byte", Unit::rate),
       [](const Placed& placed) { return cell_of(intensity_of(*placed.roofline)); }},
      {data_column("ridge_flop_per_byte"), [](const Placed& placed) { return cell_of(ridge_of(*placed.roofline)); }},
      {spare_column("bytes", "bytes", Unit::bytes),
       [](const Placed& placed) { return cell_of(placed.roofline->bytes); }},
      {spare_column("flops", "flops", Unit::count),
       [](const Placed& placed) { return cell_of(placed.roofline->flops); }},
  };
}

std::vector<std::string> roofline_notes(const std::vector<Placed>& all) {
  std::vector<std::string> notes;
  const auto launch = std::count_if(all.begin(), all.end(), [](const Placed& placed) {
    return placed.timing != nullptr && placed.timing->launch_bound();
  });
  if (launch > 0) {
    notes.push_back(fmt::format("{} launch-bound (within twice an empty kernel's): the launch is what was timed.",
                                launch == 1 ? "1 time is" : fmt::format("{} times are", launch)));
  }
  const auto beyond = std::count_if(all.begin(), all.end(),
                                    [](const Placed& placed) { return beyond_fp32(*placed.roofline, placed.timing); });
  if (beyond > 0) {
    notes.push_back(fmt::format(
        "No share is told of {} that fp32 arithmetic, the one ceiling of computing that is measured, could not "
        "reach: tensor cores have another.",
        beyond == 1 ? "1 time" : fmt::format("{} times", beyond)));
  }
  return notes;
}

}  // namespace tilewright
