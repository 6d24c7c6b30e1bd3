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

/// A device in a process of its own. An illegal access poisons a context, and a kernel that never ends blocks a process
/// that waits for it: either costs that process and one trial, not the sweep. This process never opens the device.
namespace tilewright {

class DeviceProcess : public TrialDevice {
 public:
  struct Settings {
    /// The worker, by path, and its arguments; the device's name is appended. It calls serve_device with its standard
    /// input, after end_with.
    std::vector<std::string> command;
    /// As open_device takes it. After "auto", restarts open what that chose.
    std::string device = "auto";
    /// The time without progress after which a config's process is killed; zero: ten seconds, and ninety on the
    /// emulator, which has a limit of its own.
    std::chrono::milliseconds timeout{0};
    /// True ends whatever is under way.
    std::function<bool()> interrupted;
    std::function<void(const std::string&)> note;
    /// Told of a GPU while it is opened, by the constructor.
    std::function<void(const DeviceSight&)> seen;
  };

  /// Starts the process and opens the device. Throws what opening it throws, DeviceError when the process ends or when
  /// interrupted.
  explicit DeviceProcess(Settings settings);
  ~DeviceProcess() override;

  [[nodiscard]] const DeviceFacts& facts() const noexcept override { return greeting_.facts; }
  [[nodiscard]] const std::string& name() const noexcept override { return greeting_.name; }
  [[nodiscard]] const std::string& gpu_uuid() const noexcept override { return greeting_.uuid; }
  [[nodiscard]] int driver_version() const noexcept override { return greeting_.driver; }
  /// One line about what "auto" chose, else empty.
  [[nodiscard]] const std::string& said() const noexcept { return greeting_.said; }
  /// GPUs that are there in all; 0 where this is the emulator.
  [[nodiscard]] int gpus() const noexcept { return greeting_.gpus; }
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return settings_.timeout; }

  [[nodiscard]] std::unique_ptr<ConfigRunner> set_up(const OpDefinition& definition, const Problem& problem,
                                                     const CompileResult& reference,
                                                     const TrialSetting& setting) override;
  [[nodiscard]] double memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                 const std::function<bool()>& interrupted) override;
  void leave() override { discard(); }
  /// A process that was lost is replaced; when that fails, whatever comes next says so.
  [[nodiscard]] bool answers() override { return true; }

  /// The answer to a question.
  struct Answer {
    enum class Kind : std::uint8_t {
      message,
      lost,  ///< the process ended, or had to be ended since its device answered no more
      late,  ///< it was killed
      interrupted,
    };
    Kind kind = Kind::message;
    Message message;
    /// Of a process that is gone: how that came, in words.
    std::string reason;
  };
  /// Asks the process, which is started if there is none. `patience` is how long it may be silent. An error
  /// of the worker is an answer like any other, unless the device is lost. Throws DeviceLost when no process can be
  /// started.
  [[nodiscard]] Answer ask(const Message& question, std::chrono::milliseconds patience);
  /// Ends the process: whatever may be wrong with it, the next question gets a new one.
  void discard();
  /// The number of the running process, which no other has; 0: none. A problem is set up in one process only.
  [[nodiscard]] int generation() const noexcept { return process_ ? generation_ : 0; }
  [[nodiscard]] std::int64_t next_problem() noexcept { return ++problems_; }
  /// Running now, 0 if none: for tests.
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
  /// False when interrupted.
  [[nodiscard]] bool start();
  [[nodiscard]] bool is_interrupted() const { return settings_.interrupted && settings_.interrupted(); }
  /// Starts a process and waits for what it has to say first.
  [[nodiscard]] Answer begin();
  [[nodiscard]] Greeting greeted();
  [[nodiscard]] Answer wait(std::chrono::milliseconds patience);
  /// Ends the process, which did not listen or did not answer.
  [[nodiscard]] Answer end(Channel::Received why, std::chrono::milliseconds patience);

  Settings settings_;
  std::unique_ptr<WorkerProcess> process_;
  int generation_ = 0;
  std::int64_t problems_ = 0;
  Greeting greeting_;
};

}  // namespace tilewright
