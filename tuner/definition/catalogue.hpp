// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tuner/definition/definition.hpp"

/// The ops of the user's folders (`--ops DIR`, in the order given) and the built-in ops. A user's op hides a built-in
/// op of the same name. Each definition is loaded once, on first use. kernels_dir() finds a program's built-in ops. Not
/// thread-safe: load on one thread, then share the definitions.
namespace tilewright {

class Catalogue {
 public:
  /// Each of `user_dirs` holds a folder per op (`DIR/saxpy/saxpy.toml`) or is one op's folder. Throws UsageError if a
  /// folder does not exist or holds no definition.
  Catalogue(const std::vector<std::filesystem::path>& user_dirs, const std::filesystem::path& builtin_dir);

  /// Throws UsageError with the nearest name if the op is unknown, DefinitionError with all mistakes of its definition.
  [[nodiscard]] const OpDefinition& find(const std::string& op);
  /// The op's implementation_hashes(); empty if the op is unknown. Does not load the op.
  [[nodiscard]] std::vector<std::string> hashes(const std::string& op) const;
  /// Names of all ops, sorted. Loads nothing.
  [[nodiscard]] std::vector<std::string> names() const;
  /// The include folder of kernel sources; it contains `device/`.
  [[nodiscard]] const std::filesystem::path& builtin_dir() const noexcept { return builtin_dir_; }

 private:
  std::filesystem::path builtin_dir_;
  std::map<std::string, std::filesystem::path> files_;
  std::map<std::string, OpDefinition> loaded_;
};

}  // namespace tilewright
