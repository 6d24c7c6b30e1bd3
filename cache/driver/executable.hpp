// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/driver/cuda.hpp"
#include "cache/model/records.hpp"
#include "cache/plan/plan.hpp"

/// A plan made ready for one CUDA context: kernels loaded, geometry final, nothing left to look up. Tuner and launch
/// library share this one launch path.
namespace tilewright::cuda {

class TensorMaps;

class Executable {
 public:
  /// Loads the binary's kernels into the current context, evaluates the plan's residency formulas, and makes the final
  /// plan. `kernels` maps entries to symbols. Throws DeviceError, or Error with the reason if the config is illegal.
  Executable(const Driver& driver, std::shared_ptr<const Module> module, const std::vector<KernelFacts>& kernels,
             const OpInterface& interface, const ImplementationRecipe& recipe, const Config& config,
             const Problem& problem, const DeviceFacts& device);

  [[nodiscard]] const LaunchPlan& plan() const noexcept { return plan_; }

  /// Enqueues all kernels of the plan on `stream`, in the context of the constructor. No allocation, no lock; any
  /// number of threads at once. `args[i]` points at the i-th present argument's value (a device address or a scalar).
  /// `workspaces[i]` is the i-th workspace's address, a multiple of 256. Tensor maps are made for the call's addresses
  /// (tensor_maps.hpp). Clears workspaces zeroed `each` time; the allocator clears those zeroed `once`. A plan with
  /// bucketed dims needs the call's own `dims`: kernels get these. Returns a CUresult; 0 is success.
  [[nodiscard, gnu::hot]] int launch(Stream stream, std::span<void* const> args, std::span<const Address> workspaces,
                                     std::span<const std::int64_t> dims = {}) const noexcept;

  /// Prefetches the data that launch() reads first.
  [[gnu::hot]] void prefetch() const noexcept;

  /// The blocks of kernel `index` that fit on one SM at once. For tables.
  [[nodiscard]] int blocks_per_sm(std::size_t index) const;

 private:
  struct Launchable;
  static void prepare(Launchable& ready, const PlannedKernel& kernel, std::size_t dims, Function function);

  // A launch reads the members down to `numbers_`. They lie together, since the driver evicts them from the processor's
  // first-level cache between two launches. For the same reason the code of a launch is marked hot.
  const DriverTable* table_;
  std::shared_ptr<const Launchable[]> kernels_;
  std::uint32_t kernel_count_ = 0;
  std::uint32_t map_count_ = 0;
  /// True if a workspace is zeroed each time.
  bool clears_ = false;
  /// The problem's dims, then the plan's values.
  std::vector<std::int64_t> numbers_;
  /// One per map of the plan, in its order.
  std::shared_ptr<std::vector<std::unique_ptr<TensorMaps>>> maps_;
  const Driver* driver_;
  /// Keeps the kernels' functions alive.
  std::shared_ptr<const Module> module_;
  LaunchPlan plan_;
};

}  // namespace tilewright::cuda
