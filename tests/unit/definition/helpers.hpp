// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "tuner/definition/definition.hpp"

/// What the tests of definitions share: folders that vanish, and a small definition to spoil.
namespace tilewright::test {

/// A new folder for one test, removed with all it holds at the end.
class TempFolder : public TemporaryFolder {
 public:
  /// Writes a file, with the folders it lies in; returns its path.
  std::filesystem::path write(const std::filesystem::path& relative, std::string_view text) const;
  /// Writes the op `mini` as `mini/mini.toml` and `mini/mini.cu`; returns the path of the definition.
  std::filesystem::path write_mini(std::string_view toml, std::string_view source) const;
};

/// A definition without mistakes that uses a little of everything, and its device code.
extern const std::string_view kMiniToml;
extern const std::string_view kMiniSource;

/// `text` with the one place where `from` stands changed to `to`; the test fails when there is no such place.
[[nodiscard]] std::string replaced(std::string_view text, std::string_view from, std::string_view to);

/// The tests' own definitions, and the repository's.
[[nodiscard]] std::filesystem::path data_dir();
[[nodiscard]] std::filesystem::path kernels_source_dir();
[[nodiscard]] std::filesystem::path examples_dir();

/// data/ops/mix: every key of the format.
[[nodiscard]] OpDefinition load_mix();

/// "12:5: message" for each mistake of a definition; empty when it loads.
[[nodiscard]] std::vector<std::string> mistakes_of(const std::filesystem::path& toml_file);

}  // namespace tilewright::test
