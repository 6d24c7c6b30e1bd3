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

/// The files that a definition names, each read once: device code, fragments, and ops that make inputs of its samples.
namespace tilewright::reading {

class Sources {
 public:
  /// `folder` is the definition's; `kernel_dirs` hold the shared device headers. `has_other_ops`: false for a
  /// definition that is read for another one's samples.
  Sources(std::filesystem::path folder, std::vector<std::filesystem::path> kernel_dirs, bool has_other_ops = true)
      : folder_(std::move(folder)), kernel_dirs_(std::move(kernel_dirs)), has_other_ops_(has_other_ops) {}

  /// The closure of the file named by the text `name`. Null, and a mistake, when the file is not there; includes that
  /// are not there are mistakes, too.
  [[nodiscard]] const SourceClosure* find(const Node& name, Mistakes& mistakes);

  /// The fragment (fragment.hpp) named by the text `name`, a file beside the definition or in the kernels folders.
  /// Null, and a mistake, when it is in none; throws DefinitionError when it is not TOML. Lives as long as this.
  [[nodiscard]] const Node* fragment(const Node& name, Mistakes& mistakes);

  /// The definition of the op named by the text `name`: a folder beside the definition's, or a built-in op. Null, and
  /// the mistakes, when there is none, when it has mistakes, and when that is a second step (`has_other_ops`).
  [[nodiscard]] std::shared_ptr<const OpDefinition> other_op(const Node& name, Mistakes& mistakes);

  /// Checks that `entry` is a kernel of the closure that takes what is passed; a mistake at `entry` otherwise. `by`:
  /// who passes it. Nothing is passed where that is not known.
  static void check_kernel(const SourceClosure& closure, const Node& entry,
                           const std::optional<std::vector<Passed>>& passed, const std::string& by, Mistakes& mistakes);

  /// The headers that generated sources include before an implementation's own: part of each implementation's identity.
  [[nodiscard]] const std::vector<SourceFile>& prelude();

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> kernel_dirs_;
  bool has_other_ops_;
  std::map<std::string, std::shared_ptr<const OpDefinition>> other_ops_;
  std::map<std::filesystem::path, SourceClosure> read_;
  std::optional<SourceClosure> prelude_;
  /// Fragments by file name, to which the places of nodes point.
  std::map<std::string, Node> fragments_;
};

/// load_definition, of a definition whose own samples are made by no other op when `has_other_ops` is false.
[[nodiscard]] OpDefinition load(const std::filesystem::path& toml_file,
                                const std::vector<std::filesystem::path>& kernel_dirs, bool has_other_ops);

}  // namespace tilewright::reading
