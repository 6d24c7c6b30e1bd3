// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"

/// Runs the real program as users do, with the test's own cache.
namespace tilewright::testing {

struct Outcome {
  /// The exit code; 128 + N if signal N ended the program.
  int code = -1;
  std::string out;
  std::string err;
  std::chrono::duration<double> seconds{};
  /// Processor time, user and system.
  std::chrono::duration<double> cpu_seconds{};
  /// From Ctrl-C to the end; 0 without an interrupt.
  std::chrono::duration<double> after_interrupt{};
};

/// Sends Ctrl-C `later` after the program's output has the text `sign`.
struct Interrupt {
  std::string sign;
  std::chrono::milliseconds later{0};
};

struct RunOptions {
  /// Added to the environment; an empty value removes the variable.
  std::map<std::string, std::string> environment = {};
  /// The largest size of a file (ulimit -f), which acts as a full disk. 0: no limit.
  std::size_t most_file_bytes = 0;
  /// Runs as the user nobody if the test runs as root, since root may write read-only files.
  bool as_nobody = false;
  std::optional<Interrupt> interrupt = std::nullopt;
  /// Standard output: a file's path, "" to read it, "closed" for none.
  std::string standard_output = {};
};

/// A test with the program and its own folder.
class CliTest : public ::testing::Test {
 protected:
  CliTest();

  Outcome run(const std::vector<std::string>& arguments, const RunOptions& options = {}) const;
  /// Runs with --ops (the test's ops) and --cache (the test's cache).
  Outcome run_on_ops(std::vector<std::string> arguments, const RunOptions& options = {}) const;
  /// As run_on_ops with `--format json`; returns the JSON.
  nlohmann::json json_of(std::vector<std::string> arguments, int expected_code = 0) const;
  /// Copies a cache in which `shift` was swept on the emulator. It is made once for all tests: each costs a copy
  /// instead of a dozen compilations.
  void use_swept_cache() const;

  [[nodiscard]] std::string cache() const { return (folder / "cache.db").string(); }

  const test::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
};

/// The arguments that make the swept cache.
inline const std::vector<std::string> kSweep{"sweep", "shift", "--device", "cpu", "--budget-ms", "10", "--no-ceilings"};

/// All bytes of a file, or of a pipe until its writer closes it.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);
/// A time limit for a busy machine: `idle` times the running processes a core, if more than one.
[[nodiscard]] std::chrono::duration<double> under_load(std::chrono::duration<double> idle);

[[nodiscard]] bool contains(const std::string& text, const std::string& part);
/// Whether the user nobody can run the program.
[[nodiscard]] bool nobody_can_run_the_program();

}  // namespace tilewright::testing
