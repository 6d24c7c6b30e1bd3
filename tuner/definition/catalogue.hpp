// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tuner/definition/definition.hpp"

/// The ops: those of the user's folders (`--ops DIR`, in the order given), then the built-in ones. A user's op hides a
/// built-in one of the same name. Definitions are loaded when asked for, each once. The built-in ops of a program lie
/// in `kernels_dir()` (tuner/definition/kernels_dir.hpp). Not thread-safe; load on one thread, then share the
/// definitions.
namespace tilewright {

class Catalogue {
 public:
  /// `user_dirs` hold one folder an op (`DIR/saxpy/saxpy.toml`) or are such a folder themselves.
  /// Throws UsageError when one does not exist or holds no definition.
  Catalogue(const std::vector<std::filesystem::path>& user_dirs, const std::filesystem::path& builtin_dir);

  /// Throws UsageError with the nearest right name, or DefinitionError with every mistake.
  [[nodiscard]] const OpDefinition& find(const std::string& op);
  /// The hashes of its implementations (implementation_hashes); empty for an op that is not here. Does not load the op.
  [[nodiscard]] std::vector<std::string> hashes(const std::string& op) const;
  /// Names of all ops, sorted; nothing is loaded.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Folders that kernel sources include from, the folder of `device/` among them.
  [[nodiscard]] const std::filesystem::path& builtin_dir() const noexcept { return builtin_dir_; }

 private:
  std::filesystem::path builtin_dir_;
  std::map<std::string, std::filesystem::path> files_;
  std::map<std::string, OpDefinition> loaded_;
};

}  // namespace tilewright
