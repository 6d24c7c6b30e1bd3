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

/// From a config and a problem to a launch: the one place that judges constraints and evaluates launch formulas, for
/// tuner and launch library. Pure: touches no device; for any thread.
///
/// Formulas see the problem (dims, `dtype`, attributes), the config's parameters and the device's facts. Grid formulas
/// also see `resident_blocks` and `max_active_clusters`: a kernel's block, cluster and shared memory are known by then.
/// An argument's `shape` and `when` see only the problem.
namespace tilewright {

using Extent = std::array<std::uint32_t, 3>;
[[nodiscard]] constexpr std::int64_t volume(const Extent& extent) noexcept {
  return std::int64_t{extent[0]} * extent[1] * extent[2];
}

/// A parameter of a planned kernel. `index` points, by kind: ptr and scalar, into LaunchPlan::args; dim, into the
/// problem's dims; map, into LaunchPlan::maps; workspace, into LaunchPlan::workspaces; value, into LaunchPlan::values.
struct PlannedParam {
  /// The index of a ptr, scalar or map whose argument this problem's attributes leave out. A kernel has one signature
  /// for all attributes, so it is then launched with a null pointer, a scalar 0 or a map of zeros.
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
  /// May start before the previous kernel ends. False for the first kernel, before sm_90 and on the emulator.
  bool pdl = false;
  std::vector<PlannedParam> params;
};

/// A tensor map to encode for the address of an argument or a workspace; fastest dimension first.
struct PlannedMap {
  enum class Over : std::uint8_t { arg, workspace };

  std::string name;
  Over over = Over::arg;
  /// An index into LaunchPlan::args or LaunchPlan::workspaces.
  std::size_t index = 0;
  DType type = DType::f32;
  std::vector<std::uint64_t> dims;
  /// In bytes, one fewer than dims.
  std::vector<std::uint64_t> strides;
  std::vector<std::uint32_t> box;
  /// 0 (none), 32, 64 or 128 bytes.
  std::uint32_t swizzle = 0;
  /// Copies round fp32 to the nearest tf32.
  bool tf32 = false;
  /// Indices into LaunchPlan::args: the scalars that hold each call's strides, in elements; `strides` are then those of
  /// a dense tensor. Empty: `strides` hold for all calls.
  std::vector<std::size_t> stride_scalars{};
  /// The map's extent that is a bucketed dim and comes with each call, and that dim's index in the problem.
  struct CallExtent {
    std::size_t of_map = 0, of_call = 0;
  };
  std::optional<CallExtent> call_extent{};
};

/// Memory to provide for a launch, at a multiple of 256 bytes; with 0 bytes the address may be null.
struct PlannedWorkspace {
  std::string name;
  std::size_t bytes = 0;
  WorkspaceRecipe::Zero zero = WorkspaceRecipe::Zero::never;
};

struct PlannedValue {
  std::string name;
  std::int64_t value = 0;
};

/// A tensor's stride that comes with the call.
struct PlannedStride {
  /// The index of the scalar argument that holds it, in elements.
  std::size_t scalar = 0;
  /// The number of rows, or sets of rows, that it separates.
  std::int64_t extent = 1;
  friend bool operator==(const PlannedStride&, const PlannedStride&) = default;
};

/// An argument that this problem's attributes require, in call order.
struct PlannedArg {
  std::string name;
  ArgRole role = ArgRole::in;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  /// Bytes of all elements of the tensor, or of the scalar.
  std::size_t bytes = 0;
  /// In bytes: the address and each stride must be multiples of it. 1 for scalars.
  std::size_t alignment = 1;
  /// Arguments of this plan that this one may alias.
  std::vector<std::string> alias;
  /// Slowest first: one for each extent but the last, or one row pitch over all rows. Empty: the tensor is dense.
  std::vector<PlannedStride> strides{};
  /// `strides` is one row pitch.
  bool is_pitched = false;
};

/// Without kernels whose `when` is false, and without the maps, workspaces and values that only these use.
struct LaunchPlan {
  /// In launch order, at least one.
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
  /// The broken rule, in words that are equal for all configs and problems: "constraint `cols % vec == 0`". For counts.
  std::string rule;
};

/// Facts of loaded kernels, for plans that will be launched.
struct Residency {
  /// Blocks of this kernel that the whole device can hold at once.
  std::function<std::int64_t(const PlannedKernel&)> resident_blocks;
  /// Clusters that can be active at once.
  std::function<std::int64_t(const PlannedKernel&)> max_active_clusters;
};

/// The arguments of a problem, in call order, with their extents and the alignment that all callers must give. An
/// extent may be 0. Throws DefinitionError if a shape formula cannot be evaluated or is negative, or if a pitch or
/// stride is no i64 scalar; UsageError if the bytes of an argument, or of all together, are beyond 63 bits.
[[nodiscard]] std::vector<PlannedArg> plan_args(const OpInterface& interface, const Problem& problem);

/// The bytes of all arguments; `args` must be from plan_args or make_plan.
[[nodiscard]] std::size_t total_bytes(std::span<const PlannedArg> args) noexcept;

/// Judges the config, then evaluates its launch. Illegal has the first reason: architecture, constraints in order, then
/// kernel by kernel the limits of CUDA, the device and tensor maps. Without `residency`, formulas see 1 block per SM
/// and 1 cluster: enough to judge, not to launch. Throws DefinitionError if the recipe cannot be evaluated; UsageError
/// as plan_args, and if the config's parameters are not the recipe's in order.
[[nodiscard]] std::variant<LaunchPlan, Illegal> make_plan(const OpInterface& interface,
                                                          const ImplementationRecipe& recipe, const Config& config,
                                                          const Problem& problem, const DeviceFacts& device,
                                                          const Residency* residency = nullptr);

}  // namespace tilewright
