// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "cache/base/error.hpp"
#include "cache/store/store.hpp"
#include "tests/temporary_folder.hpp"

/// Common parts of tests of the store: temporary folders, small complete records, and other processes.
namespace tilewright::store_tests {

/// A temporary folder whose content can be compared.
class TemporaryFolder : public test::TemporaryFolder {
 public:
  // Not defaulted: for clang a const folder has an initializer so.
  TemporaryFolder() {}
  /// All files' names and contents, to show that nothing was changed.
  [[nodiscard]] std::map<std::string, std::string> content() const;
};

void write_file(const std::filesystem::path& path, std::string_view text);
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// softmax over rows and cols, two arguments.
[[nodiscard]] OpInterface softmax_interface();
/// "gemm", with other dims and the attribute `act` (none, gelu).
[[nodiscard]] OpInterface gemm_interface();
[[nodiscard]] StoredImplementation onchip(const std::string& hash = "impl-1");
[[nodiscard]] DeviceFacts h200();
/// The architecture of the H200 with fewer SMs.
[[nodiscard]] DeviceFacts gh200_slice();
[[nodiscard]] DeviceFacts a100();

[[nodiscard]] Problem softmax_problem(std::int64_t rows, std::int64_t cols, DType dtype = DType::bf16);
[[nodiscard]] ProblemKey softmax_key(std::int64_t rows, std::int64_t cols, const DeviceFacts& device = h200(),
                                     DType dtype = DType::bf16);
[[nodiscard]] Config onchip_config(std::int64_t num_warps, std::int64_t static_dims = 1);
/// An ok trial with all fields set.
[[nodiscard]] Trial full_trial(const Config& config, double median_ns = 1000);
[[nodiscard]] Winner winner_of(std::int64_t trial, WinnerRole role = WinnerRole::best);
[[nodiscard]] Versions versions();

/// Makes a cache with the interface, implementation and devices above.
[[nodiscard]] Store prepared_store(const std::filesystem::path& path);
/// Stores a trial and makes it the winner of a role.
std::int64_t put_winner(Store& store, const ProblemKey& key, const Config& config, WinnerRole role = WinnerRole::best,
                        MeasureMode mode = MeasureMode::cold);
/// Makes a cache with one trial and one winner of softmax_key(8, 100), as an export: one file in journal mode DELETE.
void make_export(const std::filesystem::path& path);

/// Changes rows as a bad disk does: their checksums become wrong.
void damage_rows(const std::filesystem::path& cache, const std::string& sql);

/// The text of the CacheError that `work` throws; the test fails if it throws none.
[[nodiscard]] std::string refusal(const std::function<void()>& work);
/// As `refusal`, for its code.
[[nodiscard]] int refusal_code(const std::function<void()>& work);

/// Runs `work` in a child process; its return value is the exit code, 99 if it throws.
[[nodiscard]] pid_t in_child(const std::function<int()>& work);
/// The exit code, or 1000 + the signal that ended it.
[[nodiscard]] int wait_for(pid_t child);
/// Runs `work` as an unprivileged user, since root may write everywhere. Returns the exit code as wait_for() does.
[[nodiscard]] int as_nobody(const std::function<int()>& work);

}  // namespace tilewright::store_tests
