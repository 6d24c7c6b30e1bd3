// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "tuner/sweep/trials.hpp"

/// How a sweep has one thread a device and still is one sweep: whoever works with the store, the builds, the summary or
/// the listener has the turn, and gives it away only while it waits, for its device or for a compiler. So all of that
/// is written from one place at a time, as if there were one thread; devices work at the same time all the same.
namespace tilewright {

class Turn {
 public:
  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Waits for the turn. First come, first served: no device waits long while another one finishes trial after trial.
  void take();
  void give();

  /// Has the turn while it lives.
  class Mine {
   public:
    explicit Mine(Turn& turn) : turn_(turn) { turn_.take(); }
    ~Mine() { turn_.give(); }
    Mine(const Mine&) = delete;
    Mine& operator=(const Mine&) = delete;

   private:
    Turn& turn_;
  };

  /// Gives it away while it lives: nothing that devices share may be touched.
  class Away {
   public:
    explicit Away(Turn& turn) : turn_(turn) { turn_.give(); }
    ~Away() { turn_.take(); }
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;

   private:
    Turn& turn_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable served_;
  std::uint64_t next_ = 0;
  std::uint64_t serving_ = 0;
};

/// A device that is asked while the turn is given away. Used by whoever has the turn.
class AwayWorkplace : public Workplace {
 public:
  /// Both must outlive it.
  AwayWorkplace(Workplace& workplace, Turn& turn) : workplace_(workplace), turn_(turn) {}

  [[nodiscard]] const DeviceFacts& facts() const noexcept override { return workplace_.facts(); }
  [[nodiscard]] const std::string& name() const noexcept override { return workplace_.name(); }
  [[nodiscard]] const std::string& gpu_uuid() const noexcept override { return workplace_.gpu_uuid(); }
  [[nodiscard]] int driver_version() const noexcept override { return workplace_.driver_version(); }
  [[nodiscard]] std::unique_ptr<Trials> set_up(const OpDefinition& definition, const Problem& problem,
                                               const CompileResult& reference, const TrialSetting& setting) override;
  [[nodiscard]] double memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                 const std::function<bool()>& interrupted) override;
  [[nodiscard]] bool answers() override;

 private:
  Workplace& workplace_;
  Turn& turn_;
};

}  // namespace tilewright
