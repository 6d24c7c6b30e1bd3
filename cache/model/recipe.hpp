// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/dtype.hpp"
#include "cache/model/formula/formula.hpp"

/// The constraints and launch formulas of an implementation, as text that outlives the definition file. The store keeps
/// it beside the binaries; tuner and launch library both plan from it (cache/plan/plan.hpp). Source and space, which
/// need a compiler, stay with the tuner.
namespace tilewright {

/// One parameter of a kernel, in the order of its signature: "ptr:x", "dim:rows", "scalar:eps", "map:a", "workspace:p",
/// "value:chunks".
struct KernelParam {
  enum class Kind : std::uint8_t { ptr, dim, scalar, map, workspace, value };
  Kind kind = Kind::ptr;
  std::string name;
  friend bool operator==(const KernelParam&, const KernelParam&) = default;
};

/// Convert a parameter to "ptr:x" and back; nullopt if the text has no colon, an unknown kind or no name.
[[nodiscard]] std::string text(const KernelParam& param);
[[nodiscard]] std::optional<KernelParam> kernel_param_from(std::string_view text);

/// A TMA tensor map over an argument, or over a workspace that an earlier kernel of the config fills. Extents, box and
/// strides have the fastest dimension first, as in cuTensorMapEncodeTiled.
struct TensorMapRecipe {
  std::string name;
  /// Empty: over the workspace.
  std::string arg;
  std::vector<Formula> dims;
  std::vector<Formula> box;
  /// Bytes between neighbours of dimensions 1…; empty: dense.
  std::vector<Formula> strides;
  /// 0 (none), 32, 64 or 128 bytes.
  Formula swizzle;
  /// Not 0: fp32 elements are rounded to tf32 when they are copied.
  Formula tf32;
  /// Empty: over the argument.
  std::string workspace = {};
  /// The type of a workspace's elements; nullopt: the op's dtype. An argument has its own type.
  std::optional<DType> type = std::nullopt;
  /// Instead of `strides`: the scalar arguments, among the argument's own strides, that hold the strides between
  /// neighbours of dimensions 1…, in elements.
  std::vector<std::string> stride_scalars = {};
  friend bool operator==(const TensorMapRecipe&, const TensorMapRecipe&) = default;
};

/// Device memory that the kernels of one launch share; the launcher provides it.
struct WorkspaceRecipe {
  /// When it is zeroed: never, once after its allocation, or before each launch.
  enum class Zero : std::uint8_t { never, once, each };
  std::string name;
  Formula bytes;
  Zero zero = Zero::never;
  friend bool operator==(const WorkspaceRecipe&, const WorkspaceRecipe&) = default;
};

/// A 64-bit integer that the host computes for kernels, the same for all launches of a problem.
struct ValueRecipe {
  std::string name;
  Formula value;
  friend bool operator==(const ValueRecipe&, const ValueRecipe&) = default;
};

/// "never", "once", "each".
[[nodiscard]] std::string_view name(WorkspaceRecipe::Zero zero) noexcept;
[[nodiscard]] std::optional<WorkspaceRecipe::Zero> zero_from(std::string_view name) noexcept;

struct KernelRecipe {
  /// Name of the kernel template in the source.
  std::string entry;
  /// The kernel is launched only if this is true.
  Formula when = Formula::parse("true");
  std::vector<KernelParam> params;
  /// One to three formulas each; x first. Only `grid` may use `resident_blocks` and `max_active_clusters`.
  std::vector<Formula> grid;
  std::vector<Formula> block;
  Formula shared_bytes;
  /// Empty: no cluster.
  std::vector<Formula> cluster;
  /// Allows a cluster of more than 8 blocks.
  bool nonportable_cluster = false;
  /// Programmatic dependent launch on the kernel before it in this config; ignored for the first.
  bool pdl = false;
  friend bool operator==(const KernelRecipe&, const KernelRecipe&) = default;
};

struct ImplementationRecipe {
  std::string name;
  /// The least architecture: "sm_80", or "sm_90a" (exactly that chip); empty: any.
  std::string requires_arch;
  /// In the definition's order: the order of a config's canonical text.
  std::vector<std::string> parameters;
  std::vector<Formula> constraints;
  /// Dims that are compile-time constants in a config with static_dims = 1.
  std::vector<std::string> specialize;
  /// The elements of a dim that one block covers, idle lanes included; a dim without an entry is not padded.
  std::map<std::string, Formula> covers;
  /// Bytes of alignment that an argument's address needs, if more than the interface asks.
  std::map<std::string, Formula> align;
  std::vector<TensorMapRecipe> maps;
  std::vector<WorkspaceRecipe> workspaces;
  std::vector<ValueRecipe> values;
  std::vector<KernelRecipe> kernels;
  friend bool operator==(const ImplementationRecipe&, const ImplementationRecipe&) = default;
};

/// Reads back as an equal recipe; instead of their places in a file, its formulas then name their field ("recipe of
/// onchip: constraints[0]").
[[nodiscard]] nlohmann::json to_json(const ImplementationRecipe& recipe);
/// Throws CacheError if the JSON is not a recipe: a field is missing, unknown, or of another kind.
[[nodiscard]] ImplementationRecipe recipe_from_json(const nlohmann::json& json);

}  // namespace tilewright
