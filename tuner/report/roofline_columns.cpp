// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/roofline_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/analysis/roofline.hpp"

namespace tilewright {
namespace {

/// The median in nanoseconds; 0 without a timing.
double median(const Placed& placed) { return placed.timing != nullptr ? placed.timing->median_ns : 0; }

/// An amount per nanosecond is 10^9 per second: GB/s for bytes, GFLOP/s for operations.
std::optional<double> giga_per_second(const Placed& placed, const std::optional<std::int64_t>& amount) {
  if (!amount || median(placed) <= 0) return std::nullopt;
  return static_cast<double>(*amount) / median(placed);
}

/// Whether the rate of computing tells more than that of memory; without a measured ceiling, the intensity decides.
bool computes(const Placed& placed) {
  const auto bound = bound_of(*placed.roofline, placed.timing);
  return bound ? *bound == Bound::compute : intensity_of(*placed.roofline).value_or(0) > kSurelyComputes;
}

}  // namespace

std::vector<Source<Placed>> rate_sources() {
  return {
      {column("gb_per_s", "GB/s", Unit::rate, Shown::programs),
       [](const Placed& placed) { return cell_of(giga_per_second(placed, placed.roofline->bytes)); }},
      {column("gflop_per_s", "GFLOP/s", Unit::rate, Shown::programs),
       [](const Placed& placed) { return cell_of(giga_per_second(placed, placed.roofline->flops)); }},
      {data_column("ceiling_ns"),
       [](const Placed& placed) {
         const auto& ceiling = placed.roofline->ceiling;
         return ceiling && ceiling->best_ns() > 0 ? Cell(ceiling->best_ns()) : Cell();
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
      // Behind the share, which is the last of these to give way on a narrow page.
      {spare_column("memory_gb_per_s", "GB/s", Unit::rate, Shown::people),
       [](const Placed& placed) {
         return computes(placed) ? Cell() : cell_of(giga_per_second(placed, placed.roofline->bytes));
       }},
      {spare_column("compute_tflop_per_s", "TFLOP/s", Unit::rate, Shown::people),
       [](const Placed& placed) {
         const auto rate = giga_per_second(placed, placed.roofline->flops);
         return computes(placed) && rate ? Cell(*rate / 1e3) : Cell();
       }},
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
  const auto outrun = std::count_if(
      all.begin(), all.end(), [](const Placed& placed) { return beyond_copies(*placed.roofline, placed.timing); });
  if (outrun > 0) {
    notes.push_back(fmt::format("No share is told of {}, faster than any copy of as many bytes that was measured.",
                                outrun == 1 ? "1 time" : fmt::format("{} times", outrun)));
  }
  return notes;
}

}  // namespace tilewright
