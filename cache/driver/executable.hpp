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

/// A plan made ready for one CUDA context: kernels loaded, geometry final, everything that a launch needs and nothing
/// that it must look up. The one launch path of the tuner and of the launch library.
namespace tilewright::cuda {

class TensorMaps;

class Executable {
 public:
  /// Loads the binary's kernels into the current context, answers the plan's residency formulas, and makes the final
  /// plan. `kernels` maps entries to symbols. Throws DeviceError, or Error with the reason when the config turns out
  /// illegal.
  Executable(const Driver& driver, std::shared_ptr<const Module> module, const std::vector<KernelFacts>& kernels,
             const OpInterface& interface, const ImplementationRecipe& recipe, const Config& config,
             const Problem& problem, const DeviceFacts& device);

  [[nodiscard]] const LaunchPlan& plan() const noexcept { return plan_; }

  /// Enqueues every kernel of the plan on `stream`, in the context that this was made in: no allocation, no lock; any
  /// number of threads at once. `args[i]` points at the i-th present argument's value (a device address or a scalar),
  /// `workspaces[i]` is the i-th workspace's address, a multiple of 256. Tensor maps are made for the addresses of the
  /// call (tensor_maps.hpp). Workspaces zeroed `each` time are cleared here; those zeroed `once` by their allocator.
  /// `dims` are those of the call where they may differ from the plan's, which has buckets of some: kernels get these.
  /// Returns a CUresult; 0 is success.
  [[nodiscard, gnu::hot]] int launch(Stream stream, std::span<void* const> args, std::span<const Address> workspaces,
                                     std::span<const std::int64_t> dims = {}) const noexcept;

  /// Begins to bring in what launch() reads first.
  [[gnu::hot]] void prefetch() const noexcept;

  /// Blocks of kernel `index` that fit on one SM at once, for tables.
  [[nodiscard]] int blocks_per_sm(std::size_t index) const;

 private:
  struct Launchable;
  static void prepare(Launchable& ready, const PlannedKernel& kernel, std::size_t dims, Function function);

  // A launch reads the members down to `numbers_`, and what the driver does between two launches drives them out of the
  // processor's first-level cache: they lie together. So does what each launch runs, which is marked hot.
  const DriverTable* table_;
  std::shared_ptr<const Launchable[]> kernels_;
  std::uint32_t kernel_count_ = 0;
  std::uint32_t map_count_ = 0;
  /// Some workspace is zeroed each time.
  bool clears_ = false;
  /// The problem's dims, and then the plan's values.
  std::vector<std::int64_t> numbers_;
  /// Of the plan's maps, in its order.
  std::shared_ptr<std::vector<std::unique_ptr<TensorMaps>>> maps_;
  const Driver* driver_;
  /// Functions of kernels live as long as it does.
  std::shared_ptr<const Module> module_;
  LaunchPlan plan_;
};

}  // namespace tilewright::cuda
