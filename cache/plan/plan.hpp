// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cache/model/config.hpp"
#include "cache/model/device_facts.hpp"
#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"
#include "cache/model/recipe.hpp"

/// From a config and a problem to a launch: the one place where constraints are judged and launch formulas evaluated,
/// for the tuner and for the launch library. Pure: touches no device, and may be called by any thread.
///
/// Formulas see the problem (dims, `dtype`, attributes), the config's parameters and the device's facts; grid formulas
/// also `resident_blocks` and `max_active_clusters`, since a kernel's block, cluster and shared memory are known by
/// then. An argument's `shape` and `when` see the problem alone.
namespace tilewright {

using Extent = std::array<std::uint32_t, 3>;
[[nodiscard]] constexpr std::int64_t volume(const Extent& extent) noexcept {
  return std::int64_t{extent[0]} * extent[1] * extent[2];
}

/// A parameter of a planned kernel. `index` points, by kind: ptr and scalar, into LaunchPlan::args; dim, into the
/// problem's dims; map, into LaunchPlan::maps; workspace, into LaunchPlan::workspaces; value, into LaunchPlan::values.
struct PlannedParam {
  /// The index of a ptr, scalar or map whose argument this problem's attributes leave out. A kernel keeps one signature
  /// whatever the attributes are, so it is then launched with a null pointer, a scalar 0, a map of zeros.
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

  KernelParam::Kind kind = KernelParam::Kind::ptr;
  std::size_t index = 0;

  [[nodiscard]] bool is_absent() const noexcept { return index == kAbsent; }
  friend bool operator==(const PlannedParam&, const PlannedParam&) = default;
};

struct PlannedKernel {
  std::string entry;
  Extent grid{1, 1, 1};
  Extent block{1, 1, 1};
  /// {1,1,1}: no cluster.
  Extent cluster{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  /// A cluster of more than 8 blocks is allowed.
  bool nonportable_cluster = false;
  /// May start before the kernel in front of it ends: never so for the first, nor before sm_90 or on the emulator.
  bool pdl = false;
  std::vector<PlannedParam> params;
};

/// A tensor map to be encoded for the address of an argument or of a workspace; fastest dimension first.
struct PlannedMap {
  enum class Over : std::uint8_t { arg, workspace };

  std::string name;
  Over over = Over::arg;
  /// Into LaunchPlan::args or LaunchPlan::workspaces.
  std::size_t index = 0;
  DType type = DType::f32;
  std::vector<std::uint64_t> dims;
  /// Bytes, one fewer than dims.
  std::vector<std::uint64_t> strides;
  std::vector<std::uint32_t> box;
  /// 0 (none), 32, 64 or 128 bytes.
  std::uint32_t swizzle = 0;
  /// Copies round fp32 to tf32, to the nearest.
  bool tf32 = false;
  /// Into LaunchPlan::args: the scalars that are the strides, in elements, in each call; `strides` are then those of a
  /// dense tensor. Empty: `strides` are those of every call.
  std::vector<std::size_t> stride_scalars{};
  /// The map's extent that comes with each call, of a bucketed dim, and which dim of the problem it is.
  struct CallExtent {
    std::size_t of_map = 0, of_call = 0;
  };
  std::optional<CallExtent> call_extent{};
};

/// Memory to be brought for a launch, at a multiple of 256 bytes; with 0 bytes a null pointer will do.
struct PlannedWorkspace {
  std::string name;
  std::size_t bytes = 0;
  WorkspaceRecipe::Zero zero = WorkspaceRecipe::Zero::never;
};

struct PlannedValue {
  std::string name;
  std::int64_t value = 0;
};

/// A stride of a tensor that comes with the call.
struct PlannedStride {
  /// The scalar among the arguments that is it, in elements.
  std::size_t scalar = 0;
  /// The rows, or sets of rows, that lie so far apart.
  std::int64_t extent = 1;
  friend bool operator==(const PlannedStride&, const PlannedStride&) = default;
};

/// An argument that this problem's attributes call for, in call order.
struct PlannedArg {
  std::string name;
  ArgRole role = ArgRole::in;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  /// Bytes of all elements of the tensor, or of the scalar.
  std::size_t bytes = 0;
  /// Bytes; the address must be a multiple, and so must each stride. 1 for scalars.
  std::size_t alignment = 1;
  /// Arguments of this plan that this one may be.
  std::vector<std::string> alias;
  /// Slowest first: those of all extents but the last, or one, a row pitch, over all rows. Empty: the tensor is dense.
  std::vector<PlannedStride> strides{};
  /// `strides` are one row pitch.
  bool is_pitched = false;
};

/// Kernels whose `when` is false are left out, and so are the maps, workspaces and values that only they use.
struct LaunchPlan {
  /// In launch order, one at least.
  std::vector<PlannedKernel> kernels;
  /// As from plan_args, with the alignment that this config needs.
  std::vector<PlannedArg> args;
  std::vector<PlannedMap> maps;
  std::vector<PlannedWorkspace> workspaces;
  std::vector<PlannedValue> values;
};

/// Why a config cannot serve a problem on a device.
struct Illegal {
  /// "constraint `cols % vec == 0` is false (cols=1001, vec=8)", "needs sm_90a; the device is sm_80"…
  std::string reason;
  /// The broken rule, in the same words for all configs and problems: "constraint `cols % vec == 0`". For counting.
  std::string rule;
};

/// Facts that only a loaded kernel has; given for plans that will be launched.
struct Residency {
  /// Blocks of this kernel that can be resident on the whole device at once.
  std::function<std::int64_t(const PlannedKernel&)> resident_blocks;
  /// Clusters that can be active at once.
  std::function<std::int64_t(const PlannedKernel&)> max_active_clusters;
};

/// The arguments of a problem, in call order, with their extents and the alignment every caller must give. An extent
/// may be 0. Throws DefinitionError when a shape formula cannot be evaluated or is negative, when a pitch or stride is
/// no i64 scalar, and UsageError when the bytes of an argument, or of all together, are beyond 63 bits.
[[nodiscard]] std::vector<PlannedArg> plan_args(const OpInterface& interface, const Problem& problem);

/// Bytes of all arguments together; `args` must be from plan_args or make_plan.
[[nodiscard]] std::size_t total_bytes(std::span<const PlannedArg> args) noexcept;

/// Judges the config, then evaluates its launch. Illegal has the first reason: architecture, constraints in order, then
/// kernel by kernel what CUDA, the device or tensor maps do not take. Without a `residency`, formulas see 1 block an SM
/// and 1 cluster: enough to judge, and not to launch. Throws DefinitionError for a recipe that cannot be evaluated,
/// UsageError as plan_args and for a config whose parameters are not the recipe's, in its order.
[[nodiscard]] std::variant<LaunchPlan, Illegal> make_plan(const OpInterface& interface,
                                                          const ImplementationRecipe& recipe, const Config& config,
                                                          const Problem& problem, const DeviceFacts& device,
                                                          const Residency* residency = nullptr);

}  // namespace tilewright
