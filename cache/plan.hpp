// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cache/config.hpp"
#include "cache/device_facts.hpp"
#include "cache/interface.hpp"
#include "cache/problem.hpp"
#include "cache/recipe.hpp"

/// From a config and a problem to a launch: the one place where constraints are judged and launch formulas evaluated,
/// for the tuner and for the launch library. Pure: touches no device.
namespace tilewright {

using Extent = std::array<std::uint32_t, 3>;

/// A parameter of a planned kernel. `index` points, by kind: ptr and scalar, into LaunchPlan::args; dim, into the
/// problem's dims; map, into LaunchPlan::maps; workspace, into LaunchPlan::workspaces.
struct PlannedParam {
  KernelParam::Kind kind = KernelParam::Kind::ptr;
  std::size_t index = 0;
};

struct PlannedKernel {
  std::string entry;
  Extent grid{1, 1, 1};
  Extent block{1, 1, 1};
  /// {1,1,1}: no cluster.
  Extent cluster{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  bool nonportable_cluster = false;
  bool pdl = false;
  std::vector<PlannedParam> params;
};

struct PlannedMap {
  std::string name;
  /// Into LaunchPlan::args.
  std::size_t arg = 0;
  DType type = DType::f32;
  std::vector<std::uint64_t> dims;
  /// Bytes, one fewer than dims.
  std::vector<std::uint64_t> strides;
  std::vector<std::uint32_t> box;
  std::uint32_t swizzle = 0;
};

struct PlannedWorkspace {
  std::string name;
  std::size_t bytes = 0;
  WorkspaceRecipe::Zero zero = WorkspaceRecipe::Zero::never;
};

/// An argument that this problem's attributes call for, in call order.
struct PlannedArg {
  std::string name;
  ArgRole role = ArgRole::in;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  /// Of the whole tensor; of the value for a scalar.
  std::size_t bytes = 0;
  /// Bytes; the address must be a multiple. 1 for scalars.
  std::size_t alignment = 1;
  std::vector<std::string> alias;
};

struct LaunchPlan {
  std::vector<PlannedKernel> kernels;
  std::vector<PlannedArg> args;
  std::vector<PlannedMap> maps;
  std::vector<PlannedWorkspace> workspaces;
};

/// Why a config cannot serve a problem on a device.
struct Illegal {
  /// "constraint `cols % vec == 0` is false with cols=1001, vec=8", "needs sm_90a, the device is sm_80"…
  std::string reason;
};

/// What only a loaded kernel can answer; given for plans that will be launched.
struct Residency {
  /// Blocks of this kernel that can be resident on the whole device at once.
  std::function<std::int64_t(const PlannedKernel&)> resident_blocks;
  /// Clusters that can be active at once.
  std::function<std::int64_t(const PlannedKernel&)> max_active_clusters;
};

/// The arguments of a problem, in call order, with their extents and the alignment every caller must give.
/// Throws DefinitionError when a shape formula cannot be evaluated.
[[nodiscard]] std::vector<PlannedArg> plan_args(const OpInterface& interface, const Problem& problem);

/// Judges the config, then evaluates its launch. Without a `residency`, formulas that ask for one see 1 block an SM and
/// 1 cluster: good enough to judge legality, never to launch. Throws DefinitionError for formulas that cannot be
/// evaluated (overflow, unknown name), since those are the definition's mistakes and not the config's.
[[nodiscard]] std::variant<LaunchPlan, Illegal> make_plan(const OpInterface& interface,
                                                          const ImplementationRecipe& recipe, const Config& config,
                                                          const Problem& problem, const DeviceFacts& device,
                                                          const Residency* residency = nullptr);

}  // namespace tilewright
