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

/// Runs the real program as its users do, with a cache of the test's own.
namespace tilewright::testing {

struct Outcome {
  /// The exit code; 128 + N when signal N ended it.
  int code = -1;
  std::string out;
  std::string err;
  std::chrono::duration<double> seconds{};
  /// Of the processor, for the program and the system together.
  std::chrono::duration<double> cpu_seconds{};
  /// From Ctrl-C to the end; 0 where there was none.
  std::chrono::duration<double> after_interrupt{};
};

/// Ctrl-C, once the program's output has this text, whatever it took to get there, and so much later.
struct Interrupt {
  std::string sign;
  std::chrono::milliseconds later{0};
};

struct RunOptions {
  /// Added to the environment; an empty value takes the variable away.
  std::map<std::string, std::string> environment = {};
  /// Files may grow to so many bytes (ulimit -f), which is as good as a full disk. 0: no limit.
  std::size_t most_file_bytes = 0;
  /// As the user nobody, where the test runs as root: root may write what is read-only.
  bool as_nobody = false;
  std::optional<Interrupt> interrupt = std::nullopt;
  /// Where standard output goes: a file's path, "" to be read, "closed" for none.
  std::string standard_output = {};
};

/// A folder for one test, and the program.
class CliTest : public ::testing::Test {
 protected:
  CliTest();

  Outcome run(const std::vector<std::string>& arguments, const RunOptions& options = {}) const;
  /// With `--ops`, the test's ops, and `--cache`, the test's cache.
  Outcome run_on_ops(std::vector<std::string> arguments, const RunOptions& options = {}) const;
  /// As run_on_ops, with `--format json`; the JSON.
  nlohmann::json json_of(std::vector<std::string> arguments, int expected_code = 0) const;
  /// Copies a cache in which `shift` has been swept on the emulator. It is made once for all tests, so that each costs
  /// a copy and not a dozen runs of a compiler.
  void use_swept_cache() const;

  [[nodiscard]] std::string cache() const { return (folder / "cache.db").string(); }

  const test::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
};

/// The command that makes the swept cache.
inline const std::vector<std::string> kSweep{"sweep", "shift", "--device", "cpu", "--budget-ms", "10", "--no-ceilings"};

/// All its bytes; of a pipe, until its writer closes it.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);
/// What a promise in seconds means on a machine with other work: so much where it is idle, and as many times more as
/// there are processes for each of its cores.
[[nodiscard]] std::chrono::duration<double> under_load(std::chrono::duration<double> idle);

[[nodiscard]] bool contains(const std::string& text, const std::string& part);
/// True where dropping to the user nobody leaves the program runnable.
[[nodiscard]] bool nobody_can_run_the_program();

}  // namespace tilewright::testing
