// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/model/device_facts.hpp"
#include "cache/model/records.hpp"
#include "cache/plan/plan.hpp"

/// The least time that a launch can take, whatever its code does: from its grid, its blocks and the device's facts
/// alone, so that it counts for every op. Every figure that is not known is taken as the fastest that is built, so that
/// the bound errs on the low side (docs/tuning.md has the formulas). Pure.
namespace tilewright {

/// The least work of a problem.
struct Work {
  double bytes = 0;
  double flops = 0;
  /// The bytes are in L2 when the launch begins.
  bool cached = false;
};

/// A bound, and the figures that it is made of: those of the kernel that is bound the least.
struct TimeBound {
  enum class By : std::uint8_t {
    work,     ///< what every launch needs: bytes or operations at the device's full pace
    fill,     ///< the multiprocessor with the most blocks
    flight,   ///< how many bytes can be on their way at once
    padding,  ///< what is computed beside what was asked
  };
  double ns = 0;
  By by = By::work;
  std::int64_t blocks = 0;
  /// On each multiprocessor at once, at most, and what they take there.
  std::int64_t resident = 0;
  std::int64_t threads = 0;
  /// On the whole device at once, at most, and what the latency of the memory needs for its full pace. Bytes.
  double flight = 0;
  double needed_flight = 0;
  /// Computed over asked: 8 where tiles are eight times the problem.
  double padding = 1;
};

/// Blocks of a kernel that fit on one multiprocessor at once, by threads and shared memory; with what the compiler
/// said, by registers, too. At least 1.
[[nodiscard]] std::int64_t blocks_per_sm(const PlannedKernel& kernel, const DeviceFacts& device,
                                         const KernelFacts* compiled = nullptr);

/// The residency that a plan may assume before its kernels are loaded: as many blocks as blocks_per_sm lets be
/// resident.
[[nodiscard]] Residency likely_residency(const DeviceFacts& device);

/// Nothing where the device's facts do not suffice, as on the emulator. `padding`: as in TimeBound. `compiled`: what
/// the compiler said of the kernels, empty before; kernels that it does not name are judged as before.
[[nodiscard]] std::optional<TimeBound> bound_of(std::span<const PlannedKernel> kernels, const Work& work,
                                                double padding, const DeviceFacts& device,
                                                std::span<const KernelFacts> compiled = {});

/// Why it is no less, in words and figures: "fills 3 of 132 SMs".
[[nodiscard]] std::string why(const TimeBound& bound, const DeviceFacts& device);

}  // namespace tilewright
