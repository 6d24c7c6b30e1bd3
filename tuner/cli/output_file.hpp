// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

#include "tuner/cli/console.hpp"

/// A file that is written whole or not at all, or standard output.
namespace tilewright::cli {

class OutputFile {
 public:
  /// "-" is standard output. `console` must outlive it.
  OutputFile(std::filesystem::path file, Console& console);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// What was not committed is gone.
  ~OutputFile();

  void write(std::string_view text);
  /// Puts the file in its place. Throws Error when it cannot be written; then nothing was.
  void commit();

  [[nodiscard]] static bool is_standard_output(const std::filesystem::path& file) { return file == "-"; }

 private:
  std::filesystem::path file_;
  std::filesystem::path draft_;
  Console& console_;
  std::ofstream out_;
};

}  // namespace tilewright::cli
