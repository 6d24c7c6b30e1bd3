// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// Named ranges for a profiler's timeline, by the protocol of NVTX 3: a profiler names a library in
/// NVTX_INJECTION64_PATH, which is loaded at the first use and fills in what a range calls
/// (docs/decisions/0037-no-cuda-headers.md). Where none is named nothing is loaded and a range costs one
/// branch. Any thread; ranges of a thread nest.
namespace tilewright {

class Profiler {
 public:
  /// Null where no profiler is attached, which does not change while the process lives.
  [[nodiscard]] static const Profiler* attached() noexcept;

  void push(const std::string& name) const noexcept;
  void pop() const noexcept;
};

/// A range from its making to its end.
class ProfilerRange {
 public:
  /// `name()` gives a std::string; it is not called where no profiler is attached.
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
