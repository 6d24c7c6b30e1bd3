// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include "cache/base/draft.hpp"
#include "tuner/cli/console.hpp"

/// The file that a verb writes: a regular file, written whole or not at all; a pipe or a device, written in place; or
/// standard output.
namespace tilewright::cli {

class OutputFile {
 public:
  /// "-" is standard output. `console` must outlive it. commit() reports a file that cannot be opened.
  OutputFile(std::filesystem::path file, Console& console);

  void write(std::string_view text);
  /// Puts the file in place. Throws Error if it cannot be written; a file that was there then stays.
  void commit();
  /// The number of bytes written.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  [[nodiscard]] static bool is_standard_output(const std::filesystem::path& file) { return file == "-"; }
  /// Whether writing replaces a regular file; a pipe or a device stays what it is.
  [[nodiscard]] static bool replaces(const std::filesystem::path& file);
  /// Throws UsageError if `file` is the cache, by any name, or one of SQLite's files beside it.
  static void refuse_cache(const std::filesystem::path& file, const std::filesystem::path& cache);
  /// Throws UsageError if writing `file` replaces a database, which cannot be made again as what verbs print can.
  static void refuse_database(const std::filesystem::path& file);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
  };
  /// Keeps the first failure: later ones follow from it.
  void check(bool done);

  std::filesystem::path file_;
  std::optional<Draft> draft_;
  Console& console_;
  std::unique_ptr<std::FILE, Close> out_;
  std::error_code error_;
  std::size_t bytes_ = 0;
};

}  // namespace tilewright::cli
