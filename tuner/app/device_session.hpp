// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/base/scratch_folder.hpp"
#include "cache/store/store.hpp"
#include "tuner/app/work.hpp"
#include "tuner/compile/compiler.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/sweep/builder.hpp"
#include "tuner/sweep/config_runner.hpp"
#include "tuner/sweep/device_lock.hpp"

/// Runs configs on a device outside of a sweep, for `verify`, `bench` and `regret --measure`. Binaries come from the
/// cache, which stays unchanged; others are compiled into the session's own cache.
namespace tilewright::app {

class DeviceSession {
 public:
  /// Opens the first device of `work`. Null if cancelled, with a warning. The arguments must outlive the session. Keeps
  /// builds in the cache `file`; if that is empty, in a temporary one.
  [[nodiscard]] static std::unique_ptr<DeviceSession> open(const Work& work, Listener& listener,
                                                           const Catalogue& catalogue,
                                                           const std::filesystem::path& file = {});
  ~DeviceSession();
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;

  [[nodiscard]] const DeviceProcess& device() const noexcept { return devices_->first(); }
  [[nodiscard]] std::string compiler_version() const { return compiler_->version(); }

  // For a sweep on the same device, before set_up() and lock().
  [[nodiscard]] DevicePool& devices() noexcept { return *devices_; }
  [[nodiscard]] Compiler& compiler() noexcept { return *compiler_; }
  /// The cache that holds its trials and builds.
  [[nodiscard]] Store& own_cache() noexcept { return *own_; }

  /// Takes binaries from `cache` instead of compiling them; it must outlive the session.
  void look_in(const Store& cache) noexcept { cache_ = &cache; }

  /// Compiles a config and the reference of its problem in the background. Throws UsageError if the config is illegal
  /// for the problem on this device.
  void request(const OpDefinition& definition, const Problem& problem, const Candidate& candidate);

  /// A config with its binary.
  struct Ready {
    Candidate candidate;
    Build build;
    std::vector<std::byte> binary;
    [[nodiscard]] CompiledConfig view() const { return {candidate.implementation, candidate.config, &build, binary}; }
  };
  /// Waits for the build; nullopt if cancelled. Throws as request().
  [[nodiscard]] std::optional<Ready> ready(const OpDefinition& definition, const Problem& problem,
                                           const Candidate& candidate);

  /// Sets the problem up; null if cancelled. Releases the previous one. Throws DeviceError if it cannot be set up,
  /// Error if its reference does not compile.
  [[nodiscard]] ConfigRunner* set_up(const OpDefinition& definition, const Problem& problem, MeasureMode mode);

  /// Keeps other tuners off the device from now on, as a sweep does.
  void lock();

 private:
  DeviceSession(const Work& work, Listener& listener, const Catalogue& catalogue, std::unique_ptr<DevicePool> devices,
                const std::filesystem::path& file);
  std::string request(const GeneratedSource& source, const std::string& hash);

  Listener& listener_;
  std::unique_ptr<DevicePool> devices_;
  std::unique_ptr<Compiler> compiler_;
  const Store* cache_ = nullptr;
  /// The folder of a temporary cache; null if the cache is to stay.
  std::unique_ptr<ScratchFolder> scratch_folder_;
  std::unique_ptr<Store> own_;
  std::unique_ptr<Builder> builder_;
  std::string problem_;
  std::unique_ptr<ConfigRunner> runner_;
  std::optional<DeviceLock> lock_;
};

}  // namespace tilewright::app
