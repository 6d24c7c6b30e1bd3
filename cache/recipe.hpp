// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cache/formula/formula.hpp"

/// How one implementation is judged and launched, as text that outlives the definition file: the store keeps it beside
/// the binaries, and both tuner and launch library plan from it (cache/plan.hpp). Everything that needs a compiler
/// (source, space) stays with the tuner.
namespace tilewright {

/// One parameter of a kernel, in the order of its signature: "ptr:x", "dim:rows", "scalar:eps", "map:a", "workspace:p".
struct KernelParam {
  enum class Kind : std::uint8_t { ptr, dim, scalar, map, workspace };
  Kind kind = Kind::ptr;
  std::string name;
};

/// A TMA tensor map over one argument; extents, box and strides fastest dimension first, as cuTensorMapEncodeTiled has it.
struct TensorMapRecipe {
  std::string name;
  std::string arg;
  std::vector<Formula> dims;
  std::vector<Formula> box;
  /// Bytes between neighbours of dimensions 1…; empty: dense.
  std::vector<Formula> strides;
  /// 0 (none), 32, 64 or 128 bytes.
  Formula swizzle;
};

struct WorkspaceRecipe {
  enum class Zero : std::uint8_t { never, once, each };
  std::string name;
  Formula bytes;
  Zero zero = Zero::never;
};

struct KernelRecipe {
  /// Name of the kernel template in the source.
  std::string entry;
  /// The kernel is launched only where this is true.
  Formula when;
  std::vector<KernelParam> params;
  /// One to three formulas each; x first. `resident_blocks` and `max_active_clusters` may stand in `grid` alone.
  std::vector<Formula> grid;
  std::vector<Formula> block;
  Formula shared_bytes;
  /// Empty: no cluster.
  std::vector<Formula> cluster;
  /// A cluster of more than 8 blocks.
  bool nonportable_cluster = false;
  /// Programmatic dependent launch on the kernel before it in this config; ignored for the first.
  bool pdl = false;
};

struct ImplementationRecipe {
  std::string name;
  /// Least architecture: "sm_80", or "sm_90a" (exactly that family).
  std::string requires_arch;
  /// In the definition's order: the order of a config's canonical text.
  std::vector<std::string> parameters;
  std::vector<Formula> constraints;
  /// Dims that are compile-time constants of a config with static_dims = 1.
  std::vector<std::string> specialize;
  /// Bytes of alignment that an argument's address must have; arguments not named need their element's size.
  std::map<std::string, Formula> align;
  std::vector<TensorMapRecipe> maps;
  std::vector<WorkspaceRecipe> workspaces;
  std::vector<KernelRecipe> kernels;
};

[[nodiscard]] nlohmann::json to_json(const ImplementationRecipe& recipe);
/// Throws CacheError when the text is not a recipe.
[[nodiscard]] ImplementationRecipe recipe_from_json(const nlohmann::json& json);

}  // namespace tilewright
