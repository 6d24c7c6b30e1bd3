// SPDX-License-Identifier: Apache-2.0
#include "tuner/prune/bound.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/units.hpp"

namespace tilewright {
namespace {

// All of these err on the fast side, because a bound must not be too high. This is the least time of any launch; the
// fastest kernels of an H200 take 1.3 µs. It counts for all configs alike, so small problems are not pruned by small
// losses.
constexpr double kLaunchNs = 2000;
// Bits per nanosecond of a memory pin: HBM (wide buses) and GDDR.
constexpr double kWidePinRate = 8;
constexpr double kNarrowPinRate = 32;
constexpr int kWideBus = 1024;
// A multiprocessor reads 64 bytes per clock from L2, at 2 GHz.
constexpr double kBytesPerSmNs = 128;
// The latency of memory and of L2.
constexpr double kMemoryLatencyNs = 500;
constexpr double kCacheLatencyNs = 200;
// Twice what a multiprocessor's tensor cores do with 16-bit types at 2 GHz.
constexpr double kFlopsPerSmNs = 16384;
constexpr double kFlopsPerSmNsFrom100 = 32768;
// Bytes in flight per thread: at most 64 registers wait for data. The compiler's figure is the better bound.
constexpr double kFlightOfThread = 256;
constexpr std::int64_t kBytesOfRegister = 4;
constexpr std::int64_t kMostBlocksPerSm = 32;
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kRegisterGranule = 8;

std::int64_t product(const Extent& extent) { return std::int64_t{extent[0]} * extent[1] * extent[2]; }

std::int64_t round_up(std::int64_t value, std::int64_t granule) { return (value + granule - 1) / granule * granule; }

bool is_known(const DeviceFacts& device) {
  return !device.is_cpu() && device.sm_count > 0 && device.memory_bus_bits > 0 && device.shared_per_sm > 0 &&
         device.max_threads_per_sm > 0 && device.registers_per_sm > 0;
}

TimeBound bound_of_kernel(const PlannedKernel& kernel, const Work& work, double padding, const DeviceFacts& device,
                          const KernelFacts* compiled) {
  TimeBound bound;
  bound.blocks = std::max<std::int64_t>(product(kernel.grid), 1);
  bound.padding = padding;
  const auto sms = static_cast<double>(device.sm_count);
  const std::int64_t busiest = (bound.blocks + device.sm_count - 1) / device.sm_count;
  bound.resident = std::min(blocks_per_sm(kernel, device, compiled), busiest);
  bound.threads = bound.resident * product(kernel.block);
  // The equivalent number of multiprocessors that work all the time.
  const double at_work = static_cast<double>(bound.blocks) / static_cast<double>(busiest);

  const bool counted = compiled != nullptr && compiled->registers > 0;
  const double of_thread = counted
                               ? std::min(kFlightOfThread, static_cast<double>(kBytesOfRegister * compiled->registers))
                               : kFlightOfThread;
  const double of_block = of_thread * static_cast<double>(product(kernel.block)) + kernel.shared_bytes +
                          (compiled != nullptr ? compiled->static_shared_bytes : 0);
  const auto filled = static_cast<double>(std::min<std::int64_t>(bound.blocks, device.sm_count));
  bound.flight = filled * static_cast<double>(bound.resident) * of_block;

  const double pin = device.memory_bus_bits >= kWideBus ? kWidePinRate : kNarrowPinRate;
  const double to_all = sms * kBytesPerSmNs;
  const double pace = work.cached ? to_all : std::min(to_all, device.memory_bus_bits * pin / 8);
  const double latency = work.cached ? kCacheLatencyNs : kMemoryLatencyNs;
  bound.needed_flight = pace * latency;
  const double compute = device.compute_capability >= 100 ? kFlopsPerSmNsFrom100 : kFlopsPerSmNs;

  const double needed = std::max(work.bytes / pace, work.flops / (compute * sms));
  const double fill = std::max(work.bytes / (kBytesPerSmNs * at_work), work.flops / (compute * at_work));
  const double flight = work.bytes * latency / bound.flight;
  const double padded = work.flops * padding / (compute * at_work);
  const double longest = std::max({needed, fill, flight, padded});
  bound.by = longest == needed   ? TimeBound::By::work
             : longest == fill   ? TimeBound::By::fill
             : longest == flight ? TimeBound::By::flight
                                 : TimeBound::By::padding;
  bound.ns = kLaunchNs + longest;
  return bound;
}

}  // namespace

std::int64_t blocks_per_sm(const PlannedKernel& kernel, const DeviceFacts& device, const KernelFacts* compiled) {
  const std::int64_t threads = std::max(round_up(product(kernel.block), kWarp), kWarp);
  std::int64_t blocks = std::min(kMostBlocksPerSm, device.max_threads_per_sm / threads);
  const std::int64_t shared =
      std::int64_t{kernel.shared_bytes} + (compiled != nullptr ? compiled->static_shared_bytes : 0);
  if (shared > 0) blocks = std::min(blocks, device.shared_per_sm / shared);
  if (compiled != nullptr && compiled->registers > 0) {
    blocks = std::min(blocks, device.registers_per_sm / (round_up(compiled->registers, kRegisterGranule) * threads));
  }
  return std::max<std::int64_t>(blocks, 1);
}

Residency likely_residency(const DeviceFacts& device) {
  const auto resident = [device](const PlannedKernel& kernel) {
    return device.sm_count * blocks_per_sm(kernel, device);
  };
  return {resident, [resident](const PlannedKernel& kernel) {
            return std::max<std::int64_t>(resident(kernel) / std::max<std::int64_t>(product(kernel.cluster), 1), 1);
          }};
}

// Which kernel moves the op's bytes is unknown; the one with the least bound might move them all.
std::optional<TimeBound> bound_of(std::span<const PlannedKernel> kernels, const Work& work, double padding,
                                  const DeviceFacts& device, std::span<const KernelFacts> compiled) {
  if (!is_known(device) || kernels.empty()) return std::nullopt;
  std::optional<TimeBound> least;
  for (const PlannedKernel& kernel : kernels) {
    const auto said = std::find_if(compiled.begin(), compiled.end(),
                                   [&](const KernelFacts& facts) { return facts.entry == kernel.entry; });
    const TimeBound bound = bound_of_kernel(kernel, work, padding, device, said == compiled.end() ? nullptr : &*said);
    if (!least || bound.ns < least->ns) least = bound;
  }
  return least;
}

std::string why(const TimeBound& bound, const DeviceFacts& device) {
  switch (bound.by) {
    case TimeBound::By::work:
      return "does no more than it must";
    case TimeBound::By::fill:
      if (bound.blocks < device.sm_count) return fmt::format("fills {} of {} SMs", bound.blocks, device.sm_count);
      return fmt::format("leaves SMs idle: {} blocks on {} SMs", bound.blocks, device.sm_count);
    case TimeBound::By::flight:
      return fmt::format("{} threads on an SM keep {} on their way, of {} that the memory's latency needs",
                         bound.threads, show_bytes(bound.flight), show_bytes(bound.needed_flight));
    case TimeBound::By::padding:
      return fmt::format("{} blocks compute {:.2g} times what was asked", bound.blocks, bound.padding);
  }
  return "";
}

}  // namespace tilewright
