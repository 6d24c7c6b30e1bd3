// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "tests/launch/recording_driver/recording.h"

/// A test's control of the recording driver. `Recording::get()`, called before CUDA is opened, makes it this process's
/// driver. For any thread.
namespace tilewright::testing {

/// The value of a launch's parameter.
template <class T>
[[nodiscard]] T param(const recording_launch_record& launch, std::size_t index) {
  T value{};
  std::memcpy(&value, launch.params[index], sizeof value);
  return value;
}

class Recording {
 public:
  /// Sets TILEWRIGHT_LIBCUDA and TILEWRIGHT_LIBNVML to the recording driver, and opens it.
  static const Recording& get();

  [[nodiscard]] std::vector<recording_launch_record> launches() const;
  void reset() const { reset_(); }
  void fail(const char* api, int status, int skip = 0, int times = 1) const { fail_(api, status, skip, times); }
  void hold(const char* api, bool on) const { hold_(api, on ? 1 : 0); }
  [[nodiscard]] std::size_t calls(const char* api) const { return calls_(api); }
  [[nodiscard]] std::size_t live_allocations() const { return live_allocations_(); }
  [[nodiscard]] std::size_t live_libraries() const { return live_libraries_(); }
  void set_fast(int fast) const { set_fast_(fast); }
  void reset_context(int device) const { reset_context_(device); }
  void set_throttle_reasons(unsigned long long reasons) const { set_throttle_reasons_(reasons); }
  /// Any function of the recording driver, such as a cu* function whose bare cost a test measures.
  [[nodiscard]] void* symbol(const char* name) const;
  /// The recording driver's file.
  [[nodiscard]] static std::string path();

 private:
  Recording();
  void* handle_;
  decltype(&recording_launch_count) launch_count_;
  decltype(&recording_launch) launch_;
  decltype(&recording_reset) reset_;
  decltype(&recording_fail) fail_;
  decltype(&recording_hold) hold_;
  decltype(&recording_calls) calls_;
  decltype(&recording_live_allocations) live_allocations_;
  decltype(&recording_live_libraries) live_libraries_;
  decltype(&recording_set_fast) set_fast_;
  decltype(&recording_reset_context) reset_context_;
  decltype(&recording_set_throttle_reasons) set_throttle_reasons_;
};

}  // namespace tilewright::testing
