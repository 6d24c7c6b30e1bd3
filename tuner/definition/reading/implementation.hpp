// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tuner/definition/definition.hpp"
#include "tuner/definition/reading/op.hpp"

/// One `[[implementation]]` of a definition.
namespace tilewright::reading {

struct ImplementationPart {
  Implementation implementation;
  /// No part is missing or wrong, so configs can be planned.
  bool sound = false;
  /// Some kernel takes the op's `params`.
  bool takes_params = false;
};

/// Only the hash, in a fraction of the time. `op` is `[op]`, or null. Nullopt if the table has no source; nullopt and a
/// mistake if a file is missing.
[[nodiscard]] std::optional<std::string> read_hash(const Node& own, const Node* op, Sources& sources,
                                                   Mistakes& mistakes);

[[nodiscard]] ImplementationPart read_implementation(const Node& own, const OpPart& op, Sources& sources,
                                                     Mistakes& mistakes);

/// Reads one implementation's kernels and the tensor maps, workspaces and values that they define.
class KernelReader {
 public:
  /// `vocabulary` knows the implementation's parameters. `closure` is its device code, or null if missing.
  KernelReader(const OpPart& op, const Vocabulary& vocabulary, const SourceClosure* closure, Mistakes& mistakes)
      : op_(op), vocabulary_(vocabulary), closure_(closure), mistakes_(mistakes) {}

  /// Reads one `[[implementation.kernel]]`.
  void read(const Node& table, ImplementationRecipe& recipe);
  /// Call after the last kernel. Reports uses without a definition and definitions without a use.
  void finish();

 private:
  /// The keys under `map.NAME`, `workspace.NAME` or `value.NAME`.
  using Definitions = std::map<std::string, const Member*>;

  void read_param(const Node& text, KernelRecipe& kernel);
  void read_launch(Section& section, KernelRecipe& kernel);
  void read_map(const Member& member, ImplementationRecipe& recipe);
  /// Reads a map's strides that are scalars of the call.
  void read_stride_scalars(const Node& list, const Section& section, TensorMapRecipe& map);
  /// Reads a map's target: an argument, or a workspace with a type.
  void read_target(Section& section, TensorMapRecipe& map);
  void read_workspace(const Member& member, ImplementationRecipe& recipe);
  void read_value(const Member& member, ImplementationRecipe& recipe);
  /// Whether `member` is the first of its name, and so must be read. A mistake if it differs from the first.
  bool is_new(const Member& member, const char* kind, Definitions& defined);
  void check_uses(const char* kind, const Definitions& defined, const std::map<std::string, const Node*>& used) const;

  const OpPart& op_;
  const Vocabulary& vocabulary_;
  const SourceClosure* closure_;
  Mistakes& mistakes_;
  Definitions maps_;
  Definitions workspaces_;
  Definitions values_;
  /// Name → the first kernel parameter or tensor map that uses it.
  std::map<std::string, const Node*> used_maps_;
  std::map<std::string, const Node*> used_workspaces_;
  std::map<std::string, const Node*> used_values_;
  /// False if some parameter could not be read. Then no definition is reported as unused.
  bool uses_known_ = true;
};

}  // namespace tilewright::reading
