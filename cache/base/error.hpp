// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

/// The few exception types of Tilewright. Expected outcomes (no winner, an illegal config, a failed trial) are values,
/// never exceptions. An exception means misuse or a broken environment, and its text says what was being done, to what,
/// why it failed and what to do about it. Only `main` and the C ABI catch everything.
namespace tilewright {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller named something that does not exist or does not make sense (an unknown op, a dim that is zero).
/// The command line ends with exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The faults of a cache that need different help.
enum class CacheFault : std::uint8_t {
  other,
  unnamed,      ///< nothing says where it is
  missing,      ///< there is no such file
  older,        ///< of an older schema, where only this one will do
  newer,        ///< of a schema that this program does not know
  empty,        ///< a file without a byte, or a database without a table
  damaged,      ///< bytes are lost or changed
  foreign,      ///< a database of another program, or no database
  locked,       ///< another process has it
  full,         ///< the disk is
  denied,       ///< this user may not read it
  not_written,  ///< this user may not write it
  no_file,      ///< a folder, a pipe, a device
};

/// The cache file cannot be opened, read or written. Never thrown after a partial write: every write is one
/// transaction.
class CacheError : public Error {
 public:
  /// `code` is SQLite's extended result code, or 0 when SQLite was not the one to refuse.
  explicit CacheError(const std::string& text, int code = 0, CacheFault kind = CacheFault::other)
      : Error(text), code_(code), kind_(kind) {}
  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] CacheFault kind() const noexcept { return kind_; }

 private:
  int code_;
  CacheFault kind_;
};

/// A call into the CUDA driver, NVML or the emulator failed, or the library is not there.
class DeviceError : public Error {
 public:
  /// `status` is the CUresult, or 0 when no driver call was involved.
  explicit DeviceError(const std::string& text, int status = 0) : Error(text), status_(status) {}
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  int status_;
};

/// One mistake in a definition or a formula, with its place; lines and columns count from 1, 0 means unknown.
struct Diagnostic {
  std::string file;
  int line = 0;
  int column = 0;
  std::string message;

  /// "file:line:column: message", as compilers print it.
  [[nodiscard]] std::string text() const;
};

/// A definition file with mistakes: all of them, in the order of the file. The text has one line a mistake.
class DefinitionError : public UsageError {
 public:
  explicit DefinitionError(std::vector<Diagnostic> mistakes);
  [[nodiscard]] const std::vector<Diagnostic>& mistakes() const noexcept { return mistakes_; }

 private:
  std::vector<Diagnostic> mistakes_;
};

/// The nearest of `candidates` to `word` by edit distance, for "did you mean …?"; empty when none is near.
[[nodiscard]] std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates);

/// "; did you mean 'x'?" or, when nothing is near, "; known: a, b, c". For the end of an error text.
[[nodiscard]] std::string suggestion(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace tilewright
