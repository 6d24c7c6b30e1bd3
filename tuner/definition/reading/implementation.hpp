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
  /// Nothing in it is missing or wrong, so that its configs can be planned.
  bool sound = false;
  /// Some kernel of it takes the op's `params`.
  bool takes_params = false;
};

/// The hash alone, for a fraction of the time. `params` is the op's, or null. Nothing, and a mistake, where it or its
/// files cannot be read.
[[nodiscard]] std::optional<std::string> read_hash(const Node& own, const Member* params, Sources& sources,
                                                   Mistakes& mistakes);

[[nodiscard]] ImplementationPart read_implementation(const Node& own, const OpPart& op, Sources& sources,
                                                     Mistakes& mistakes);

/// Reads the kernels of one implementation, and the tensor maps, workspaces and values that they define between them.
class KernelReader {
 public:
  /// `vocabulary` knows the implementation's parameters; `closure` is its device code, or null when that is missing.
  KernelReader(const OpPart& op, const Vocabulary& vocabulary, const SourceClosure* closure, Mistakes& mistakes)
      : op_(op), vocabulary_(vocabulary), closure_(closure), mistakes_(mistakes) {}

  /// One `[[implementation.kernel]]`.
  void read(const Node& table, ImplementationRecipe& recipe);
  /// After the last kernel: what is used must be defined, what is defined must be used.
  void finish();

 private:
  /// The keys under `map.NAME`, `workspace.NAME` or `value.NAME`.
  using Definitions = std::map<std::string, const Member*>;

  void read_param(const Node& text, KernelRecipe& kernel);
  void read_launch(Section& section, KernelRecipe& kernel);
  void read_map(const Member& member, ImplementationRecipe& recipe);
  /// A map's strides that come with the call.
  void read_stride_scalars(const Node& list, const Section& section, TensorMapRecipe& map);
  /// The target of a map: an argument, or a workspace with a type.
  void read_target(Section& section, TensorMapRecipe& map);
  void read_workspace(const Member& member, ImplementationRecipe& recipe);
  void read_value(const Member& member, ImplementationRecipe& recipe);
  /// True when `member` is to be read: the first of its name. A mistake when it differs from the first.
  bool is_new(const Member& member, const char* kind, Definitions& defined);
  void check_uses(const char* kind, const Definitions& defined, const std::map<std::string, const Node*>& used) const;

  const OpPart& op_;
  const Vocabulary& vocabulary_;
  const SourceClosure* closure_;
  Mistakes& mistakes_;
  Definitions maps_;
  Definitions workspaces_;
  Definitions values_;
  /// Name → the first kernel parameter, or tensor map, that asks for it.
  std::map<std::string, const Node*> used_maps_;
  std::map<std::string, const Node*> used_workspaces_;
  std::map<std::string, const Node*> used_values_;
  /// False when some parameter could not be read: then nothing is called unused.
  bool uses_known_ = true;
};

}  // namespace tilewright::reading
