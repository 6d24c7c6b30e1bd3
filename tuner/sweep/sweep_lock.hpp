// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "tuner/sweep/config_runner.hpp"

/// The one lock of a sweep. Guards the store, the builds, the summary and the listener. A device's thread holds it
/// except while it waits for its device or a compiler, so devices measure in parallel and write one after the other.
namespace tilewright {

class SweepLock {
 public:
  SweepLock() = default;
  SweepLock(const SweepLock&) = delete;
  SweepLock& operator=(const SweepLock&) = delete;

  /// Waits for the lock, first come, first served: no device starves while another finishes trial after trial.
  void lock();
  void unlock();

  /// Holds the lock for a scope.
  class Held {
   public:
    explicit Held(SweepLock& lock) : lock_(lock) { lock_.lock(); }
    ~Held() { lock_.unlock(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    SweepLock& lock_;
  };

  /// Releases the held lock for a scope, which must not touch shared state.
  class Released {
   public:
    explicit Released(SweepLock& lock) : lock_(lock) { lock_.unlock(); }
    ~Released() { lock_.lock(); }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

   private:
    SweepLock& lock_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable served_;
  std::uint64_t next_ = 0;
  std::uint64_t serving_ = 0;
};

/// A device whose calls release the lock. For the thread that holds it.
class UnlockedTrialDevice : public TrialDevice {
 public:
  /// Both must outlive it.
  UnlockedTrialDevice(TrialDevice& device, SweepLock& lock) : device_(device), lock_(lock) {}

  [[nodiscard]] const DeviceFacts& facts() const noexcept override { return device_.facts(); }
  [[nodiscard]] const std::string& name() const noexcept override { return device_.name(); }
  [[nodiscard]] const std::string& gpu_uuid() const noexcept override { return device_.gpu_uuid(); }
  [[nodiscard]] int driver_version() const noexcept override { return device_.driver_version(); }
  [[nodiscard]] std::unique_ptr<ConfigRunner> set_up(const OpDefinition& definition, const Problem& problem,
                                                     const CompileResult& reference,
                                                     const TrialSetting& setting) override;
  [[nodiscard]] double memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                 const std::function<bool()>& interrupted) override;
  [[nodiscard]] bool answers() override;

 private:
  TrialDevice& device_;
  SweepLock& lock_;
};

}  // namespace tilewright
