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

/// The least time of a launch, whatever its code, from its grid, its blocks and the device's facts, so that it holds
/// for all ops. Unknown figures are taken as the fastest that is built, so that the bound errs low (docs/tuning.md has
/// the formulas). Pure.
namespace tilewright {

/// The least work of a problem.
struct Work {
  double bytes = 0;
  double flops = 0;
  /// Whether the bytes are in L2 when the launch begins.
  bool cached = false;
};

/// A bound and its figures, of the kernel with the least bound.
struct TimeBound {
  enum class By : std::uint8_t {
    work,     ///< the launch's least work: bytes or operations at the device's full pace
    fill,     ///< the multiprocessor with the most blocks
    flight,   ///< how many bytes can be in flight at once
    padding,  ///< operations beyond those asked for
  };
  double ns = 0;
  By by = By::work;
  std::int64_t blocks = 0;
  /// The most blocks on each multiprocessor at once, and their threads.
  std::int64_t resident = 0;
  std::int64_t threads = 0;
  /// The most bytes in flight on the device at once, and the bytes that the memory's latency needs for full pace.
  double flight = 0;
  double needed_flight = 0;
  /// Computed over requested operations: 8 if tiles are eight times the problem.
  double padding = 1;
};

/// The blocks of a kernel that fit on one multiprocessor by threads and shared memory and, with `compiled`, by
/// registers. At least 1.
[[nodiscard]] std::int64_t blocks_per_sm(const PlannedKernel& kernel, const DeviceFacts& device,
                                         const KernelFacts* compiled = nullptr);

/// The residency that a plan may assume before its kernels are loaded, by blocks_per_sm().
[[nodiscard]] Residency likely_residency(const DeviceFacts& device);

/// Nullopt if the device's facts do not suffice, as on the emulator. `padding` is as in TimeBound. `compiled` has the
/// compiler's figures; kernels that it does not name are judged without them.
[[nodiscard]] std::optional<TimeBound> bound_of(std::span<const PlannedKernel> kernels, const Work& work,
                                                double padding, const DeviceFacts& device,
                                                std::span<const KernelFacts> compiled = {});

/// Why the bound is no less: "fills 3 of 132 SMs".
[[nodiscard]] std::string why(const TimeBound& bound, const DeviceFacts& device);

}  // namespace tilewright
