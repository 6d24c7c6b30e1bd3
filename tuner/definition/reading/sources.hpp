// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/definition/reading/device_code.hpp"
#include "tuner/definition/reading/mistakes.hpp"

/// The device code that a definition names, each file read once.
namespace tilewright::reading {

class Sources {
 public:
  /// `folder` is the definition's; `kernel_dirs` hold the shared device headers.
  Sources(std::filesystem::path folder, std::vector<std::filesystem::path> kernel_dirs)
      : folder_(std::move(folder)), kernel_dirs_(std::move(kernel_dirs)) {}

  /// The closure of the file named by the text `name`. Null, and a mistake, when the file is not there; includes that
  /// are not there are mistakes, too.
  [[nodiscard]] const SourceClosure* find(const Node& name, Mistakes& mistakes);

  /// The fragment (fragment.hpp) named by the text `name`, a file beside the definition or in the kernels folders.
  /// Null, and a mistake, when it is in none; throws DefinitionError when it is not TOML. Lives as long as this.
  [[nodiscard]] const Node* fragment(const Node& name, Mistakes& mistakes);

  /// Checks that `entry` is a kernel of the closure with this number of parameters; a mistake at `entry` otherwise.
  /// `parameters`: nothing when the number is not known.
  static void check_kernel(const SourceClosure& closure, const Node& entry, std::optional<std::size_t> parameters,
                           const std::string& counted, Mistakes& mistakes);

  /// What every generated source includes before an implementation's own: part of each implementation's identity.
  [[nodiscard]] const std::vector<SourceFile>& prelude();

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> kernel_dirs_;
  std::map<std::filesystem::path, SourceClosure> read_;
  std::optional<SourceClosure> prelude_;
  /// By file name, which the places of the nodes point to.
  std::map<std::string, Node> fragments_;
};

}  // namespace tilewright::reading
