// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "tuner/definition/definition.hpp"

/// Common parts of tests of definitions: temporary folders, and a small definition to spoil.
namespace tilewright::test {

/// A temporary folder with functions that write files.
class TempFolder : public TemporaryFolder {
 public:
  /// Writes a file, creating its folders; returns its path.
  std::filesystem::path write(const std::filesystem::path& relative, std::string_view text) const;
  /// Writes the op `mini` as `mini/mini.toml` and `mini/mini.cu`; returns the path of the definition.
  std::filesystem::path write_mini(std::string_view toml, std::string_view source) const;
};

/// A valid definition that uses most features, and its device code.
extern const std::string_view kMiniToml;
extern const std::string_view kMiniSource;

/// `text` with its only `from` replaced by `to`; the test fails if there is none.
[[nodiscard]] std::string replaced(std::string_view text, std::string_view from, std::string_view to);

/// Folders of the tests' own definitions, and of the repository's.
[[nodiscard]] std::filesystem::path data_dir();
[[nodiscard]] std::filesystem::path kernels_source_dir();
[[nodiscard]] std::filesystem::path examples_dir();

/// Loads data/ops/mix, which uses all keys of the format.
[[nodiscard]] OpDefinition load_mix();

/// "12:5: message" for each mistake of a definition; empty if it loads.
[[nodiscard]] std::vector<std::string> mistakes_of(const std::filesystem::path& toml_file);

}  // namespace tilewright::test
