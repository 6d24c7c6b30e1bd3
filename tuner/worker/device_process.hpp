// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tuner/device/device.hpp"
#include "tuner/process/worker_process.hpp"
#include "tuner/sweep/config_runner.hpp"
#include "tuner/worker/messages.hpp"

/// A device in its own process. An illegal access poisons a context, and an endless kernel blocks the process that
/// waits for it: either costs that process and one trial, not the sweep. The calling process does not open the device.
/// One thread.
namespace tilewright {

class DeviceProcess : public TrialDevice {
 public:
  struct Settings {
    /// The worker's path and arguments; the device's name is appended. The worker calls end_with, then serve_device,
    /// with its standard input.
    std::vector<std::string> command;
    /// A name for open_device. After "auto", restarts open the device it chose.
    std::string device = "auto";
    /// The time without progress after which a config's process is killed; zero: ten seconds, or ninety on the
    /// emulator, which has its own limit.
    std::chrono::milliseconds timeout{0};
    /// Asked often; true ends the work under way.
    std::function<bool()> interrupted;
    std::function<void(const std::string&)> note;
    /// Receives a GPU's facts before it is open. Called by the constructor, and at restarts.
    std::function<void(const DeviceSight&)> seen;
  };

  /// Starts the process and opens the device. Passes on the errors of opening; throws DeviceError if the process ends
  /// or on interrupt.
  explicit DeviceProcess(Settings settings);
  ~DeviceProcess() override;

  [[nodiscard]] const DeviceFacts& facts() const noexcept override { return greeting_.facts; }
  [[nodiscard]] const std::string& name() const noexcept override { return greeting_.name; }
  [[nodiscard]] const std::string& gpu_uuid() const noexcept override { return greeting_.uuid; }
  [[nodiscard]] int driver_version() const noexcept override { return greeting_.driver; }
  /// One line about the choice of "auto", else empty.
  [[nodiscard]] const std::string& said() const noexcept { return greeting_.said; }
  /// The number of GPUs of the host; 0 on the emulator.
  [[nodiscard]] int gpus() const noexcept { return greeting_.gpus; }
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return settings_.timeout; }

  [[nodiscard]] std::unique_ptr<ConfigRunner> set_up(const OpDefinition& definition, const Problem& problem,
                                                     const CompileResult& reference,
                                                     const TrialSetting& setting) override;
  [[nodiscard]] double memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                 const std::function<bool()>& interrupted) override;
  void leave() override { discard(); }
  /// Always true: a lost process is replaced, and the next question throws if that fails.
  [[nodiscard]] bool answers() override { return true; }

  struct Answer {
    enum class Kind : std::uint8_t {
      message,
      lost,  ///< the process ended, or was ended since its device no longer answers
      late,  ///< the process was silent for too long and was killed
      interrupted,
    };
    Kind kind = Kind::message;
    Message message;
    /// Why the process is gone, in words.
    std::string reason;
  };
  /// Asks the process, which is started if there is none. `patience` is the longest silence. A worker's error is a
  /// `message`, unless the device is lost. Throws DeviceLost if no process can be started.
  [[nodiscard]] Answer ask(const Message& question, std::chrono::milliseconds patience);
  /// Kills the process; the next question starts a new one.
  void discard();
  /// The unique number of the running process, or 0. A problem is set up in one process only.
  [[nodiscard]] int generation() const noexcept { return process_ ? generation_ : 0; }
  [[nodiscard]] std::int64_t next_problem() noexcept { return ++problems_; }
  /// The running process, or 0; for tests.
  [[nodiscard]] pid_t process() const noexcept { return process_ ? process_->process() : 0; }
  void note(const std::string& line) const {
    if (settings_.note) settings_.note(line);
  }

 private:
  struct Greeting {
    DeviceFacts facts;
    std::string name;
    std::string uuid;
    int driver = 0;
    std::string said;
    int gpus = 0;
    std::string unwatched;
  };
  /// Starts the device's process again, if need be several times. Returns false on interrupt. Throws DeviceLost.
  [[nodiscard]] bool start();
  [[nodiscard]] bool is_interrupted() const { return settings_.interrupted && settings_.interrupted(); }
  /// Starts a process and returns its first message after the sight.
  [[nodiscard]] Answer begin();
  [[nodiscard]] Greeting greeted();
  [[nodiscard]] Answer wait(std::chrono::milliseconds patience);
  /// Ends a process that did not listen or answer, and describes why.
  [[nodiscard]] Answer end(Channel::Received why, std::chrono::milliseconds patience);

  Settings settings_;
  std::unique_ptr<WorkerProcess> process_;
  int generation_ = 0;
  std::int64_t problems_ = 0;
  Greeting greeting_;
};

}  // namespace tilewright
