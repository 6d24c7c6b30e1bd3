// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// Named ranges for a profiler's timeline, by the protocol of NVTX 3 (docs/decisions/0037-no-cuda-headers.md). A
/// profiler names a library in NVTX_INJECTION64_PATH; the first use loads it, and it fills in the functions that a
/// range calls. Without one a range costs one branch. Any thread; a thread's ranges nest.
namespace tilewright {

class Profiler {
 public:
  /// Null if no profiler is attached. The answer is constant for the life of the process.
  [[nodiscard]] static const Profiler* attached() noexcept;

  void push(const std::string& name) const noexcept;
  void pop() const noexcept;
};

/// A range from construction to destruction.
class ProfilerRange {
 public:
  /// `name()` returns a std::string; it is called only if a profiler is attached.
  template <class Name>
  ProfilerRange(const Profiler* profiler, const Name& name) : profiler_(profiler) {
    if (profiler_ != nullptr) begin(name);
  }
  template <class Name>
  explicit ProfilerRange(const Name& name) : ProfilerRange(Profiler::attached(), name) {}
  ~ProfilerRange() {
    if (profiler_ != nullptr) profiler_->pop();
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  template <class Name>
  [[gnu::cold]] void begin(const Name& name) const {
    profiler_->push(name());
  }

  const Profiler* profiler_;
};

}  // namespace tilewright
