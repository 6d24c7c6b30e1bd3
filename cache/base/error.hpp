// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

/// The exception types of Tilewright. Expected outcomes (no winner, an illegal config, a failed trial) are values, not
/// exceptions. An exception means misuse or a broken environment. Its text says what was being done, to what, why it
/// failed and what to do about it. Only `main` and the C ABI catch everything.
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

/// Faults of a cache. Each has a remedy of its own.
enum class CacheFault : std::uint8_t {
  other,
  unnamed,      ///< no option or variable names a file
  missing,      ///< the file does not exist
  older,        ///< of an older schema than the operation accepts
  newer,        ///< of a schema that this program does not know
  empty,        ///< a file of zero bytes, or a database without a table
  damaged,      ///< bytes are lost or changed
  foreign,      ///< a database of another program, or no database
  locked,       ///< another process holds its lock
  full,         ///< the disk is full
  denied,       ///< this user may not read it
  not_written,  ///< this user may not write it
  no_file,      ///< not a regular file: a folder, a pipe, a device
};

/// The cache file cannot be opened, read or written. No part of a write remains: each write is one transaction.
class CacheError : public Error {
 public:
  /// `code` is SQLite's extended result code, or 0 if SQLite did not report the fault.
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
  /// `status` is the CUresult, or 0 if no driver call failed.
  explicit DeviceError(const std::string& text, int status = 0) : Error(text), status_(status) {}
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  int status_;
};

/// One mistake in a definition or a formula. Lines and columns count from 1; 0 means unknown.
struct Diagnostic {
  std::string file;
  int line = 0;
  int column = 0;
  std::string message;

  /// "file:line:column: message", as compilers print it.
  [[nodiscard]] std::string text() const;
};

/// A definition file's mistakes, all of them, in the order of the file. The text has one line per mistake.
class DefinitionError : public UsageError {
 public:
  explicit DefinitionError(std::vector<Diagnostic> mistakes);
  [[nodiscard]] const std::vector<Diagnostic>& mistakes() const noexcept { return mistakes_; }

 private:
  std::vector<Diagnostic> mistakes_;
};

/// The nearest of `candidates` to `word` by edit distance, for "did you mean …?"; empty if none is near.
[[nodiscard]] std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates);

/// The end of an error text: "; did you mean 'x'?", or "; known: a, b, c" if none is near.
[[nodiscard]] std::string suggestion(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace tilewright
