// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/definition/definition.hpp"
#include "tuner/definition/reading/device_code.hpp"
#include "tuner/definition/reading/mistakes.hpp"
#include "tuner/definition/reading/signature.hpp"

/// The files that a definition names, each read once: device code, fragments, and ops that make its sample inputs.
namespace tilewright::reading {

class Sources {
 public:
  /// `folder` is the definition's. `kernel_dirs` hold the shared device headers. `has_other_ops` is false for a
  /// definition that is read for another op's samples.
  Sources(std::filesystem::path folder, std::vector<std::filesystem::path> kernel_dirs, bool has_other_ops = true)
      : folder_(std::move(folder)), kernel_dirs_(std::move(kernel_dirs)), has_other_ops_(has_other_ops) {}

  /// The closure of the file `name`. Null and a mistake if the file does not exist. Wrong includes are mistakes, too.
  [[nodiscard]] const SourceClosure* find(const Node& name, Mistakes& mistakes);

  /// The fragment `name` (fragment.hpp): a file beside the definition or in the kernel folders. Null and a mistake if
  /// none has it. Throws DefinitionError if it is not TOML. Owned by this object.
  [[nodiscard]] const Node* fragment(const Node& name, Mistakes& mistakes);

  /// The definition of the op `name`: a folder beside the definition's, or a built-in op. Null and the mistakes if it
  /// does not exist, has mistakes, or would be a second step (`has_other_ops`).
  [[nodiscard]] std::shared_ptr<const OpDefinition> other_op(const Node& name, Mistakes& mistakes);

  /// Checks that `entry` is a kernel of the closure and takes the passed parameters; else adds a mistake at `entry`.
  /// `by` names who passes them. If `passed` is nullopt, only the existence is checked.
  static void check_kernel(const SourceClosure& closure, const Node& entry,
                           const std::optional<std::vector<Passed>>& passed, const std::string& by, Mistakes& mistakes);

  /// The headers that generated sources include first. Part of each implementation's hash.
  [[nodiscard]] const std::vector<SourceFile>& prelude();

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> kernel_dirs_;
  bool has_other_ops_;
  std::map<std::string, std::shared_ptr<const OpDefinition>> other_ops_;
  std::map<std::filesystem::path, SourceClosure> read_;
  std::optional<SourceClosure> prelude_;
  /// By file name, to which the places of nodes point.
  std::map<std::string, Node> fragments_;
};

/// As load_definition(). If `has_other_ops` is false, no other op may make the definition's own samples.
[[nodiscard]] OpDefinition load(const std::filesystem::path& toml_file,
                                const std::vector<std::filesystem::path>& kernel_dirs, bool has_other_ops);

}  // namespace tilewright::reading
