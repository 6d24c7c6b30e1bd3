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

/// What the tests of the store share: a folder that goes away, small records that are complete, and other processes.
namespace tilewright::store_tests {

/// A new folder for each test, removed at the end with all that is in it.
class TemporaryFolder : public test::TemporaryFolder {
 public:
  /// Every file's name and content: equal before and after means that nothing was touched.
  [[nodiscard]] std::map<std::string, std::string> content() const;
};

void write_file(const std::filesystem::path& path, std::string_view text);
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// softmax over rows and cols, two arguments.
[[nodiscard]] OpInterface softmax_interface();
/// The same with an attribute and other dims: "gemm", `act` none or gelu.
[[nodiscard]] OpInterface gemm_interface();
[[nodiscard]] StoredImplementation onchip(const std::string& hash = "impl-1");
[[nodiscard]] DeviceFacts h200();
/// The same architecture with fewer SMs.
[[nodiscard]] DeviceFacts gh200_slice();
[[nodiscard]] DeviceFacts a100();

[[nodiscard]] Problem softmax_problem(std::int64_t rows, std::int64_t cols, DType dtype = DType::bf16);
[[nodiscard]] ProblemKey softmax_key(std::int64_t rows, std::int64_t cols, const DeviceFacts& device = h200(),
                                     DType dtype = DType::bf16);
[[nodiscard]] Config onchip_config(std::int64_t num_warps, std::int64_t static_dims = 1);
/// Ok, every field filled in.
[[nodiscard]] Trial full_trial(const Config& config, double median_ns = 1000);
[[nodiscard]] Winner winner_of(std::int64_t trial, WinnerRole role = WinnerRole::best);
[[nodiscard]] Versions versions();

/// An open cache with the interface, implementation and devices above.
[[nodiscard]] Store prepared_store(const std::filesystem::path& path);
/// Puts a trial and makes it the winner of a role.
std::int64_t put_winner(Store& store, const ProblemKey& key, const Config& config, WinnerRole role = WinnerRole::best,
                        MeasureMode mode = MeasureMode::cold);
/// A cache with one trial and one winner of softmax_key(8, 100), as one file in journal mode DELETE: what an export is.
void make_export(const std::filesystem::path& path);

/// The text of the CacheError that `work` throws; a failure of the test when it throws none.
[[nodiscard]] std::string refusal(const std::function<void()>& work);
/// As `refusal`, for its code.
[[nodiscard]] int refusal_code(const std::function<void()>& work);

/// Runs `work` in a child process; its return value is the exit code, 99 when it throws.
[[nodiscard]] pid_t in_child(const std::function<int()>& work);
/// The exit code, or 1000 + the signal that ended it.
[[nodiscard]] int wait_for(pid_t child);
/// Runs `work` as a user without privileges, since root may write everywhere. Exit code as above.
[[nodiscard]] int as_nobody(const std::function<int()>& work);

}  // namespace tilewright::store_tests
