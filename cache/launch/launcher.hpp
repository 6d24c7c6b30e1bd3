// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cache/base/file_facts.hpp"
#include "cache/launch/fork_guard.hpp"
#include "cache/launch/jit.hpp"
#include "cache/launch/log.hpp"
#include "cache/launch/miss_recorder.hpp"
#include "cache/launch/op.hpp"
#include "cache/launch/periodic_task.hpp"
#include "cache/launch/resolver.hpp"
#include "cache/launch/workspaces.hpp"

/// The implementation of tw_launcher: an open cache and the ops asked of it. One lock guards all reading of the cache;
/// launches of known shapes do not take it.
namespace tilewright::launch {

struct LauncherOptions {
  std::filesystem::path cache;
  /// Serves what the cache cannot.
  std::optional<std::filesystem::path> fallback = std::nullopt;
  /// The device of queries; empty: the GPU at hand.
  std::string device;
  bool allow_shared_cache = false;
  /// The interval between looks for a newer cache; 0: only refresh() looks.
  std::chrono::milliseconds watch{0};
  /// The file for shapes without an exact winner; nullopt: none.
  std::optional<std::filesystem::path> misses = std::nullopt;
  /// 64 digits: opens only the file with this SHA-256, and no newer one; empty: `cache` as it is.
  std::string snapshot = {};
  /// Compile configs for untuned shapes, from ops in the folders `ops` (separated by ':') and the built-in ones.
  bool jit = false;
  std::string ops = {};
};

class Launcher {
 public:
  explicit Launcher(LauncherOptions options);
  ~Launcher() { is_ending_ = true; }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// The op of a spec; equal specs give the same op. It lives as long as the launcher. Throws as Resolver::identify.
  Op& op(const std::string& spec);
  /// As tw_refresh: looks up the launched shapes again, one after the other, while launches use their old plans.
  void refresh();
  /// JSON, as tw_snapshot gives it.
  [[nodiscard]] std::string snapshot();
  void set_workspace(cuda::Stream stream, cuda::Address address, std::size_t bytes);
  /// As tw_counts.
  [[nodiscard]] std::string counts();

  [[nodiscard]] const LauncherOptions& options() const noexcept { return options_; }
  /// Methods that touch cache or GPU throw DeviceError in a forked child of the process that opened the launcher.
  [[nodiscard]] const ForkGuard& process() const noexcept { return process_; }

  // For ops.
  [[nodiscard]] Workspaces& workspaces() noexcept { return workspaces_; }
  /// Finds or makes the plan of a shape in the current context and puts it into the op's table. Throws NoMatchError if
  /// no config serves.
  const ReadyPlan& resolve(Op& op, const PlanKey& key, const Problem& problem, const Alignments& alignments);
  /// The config that would serve on the queries' device.
  struct Answer {
    Resolver::Answer served;
    DeviceFacts device;
    /// Why a config for this problem could not be compiled; else empty.
    std::string compile_error = {};
    /// Why misses are no longer recorded; else empty.
    std::string misses_error = {};
  };
  Answer answer(const Op& op, const Problem& problem);

 private:
  /// The facts of a GPU of this machine, read once.
  const DeviceFacts& facts(const cuda::Driver& driver, int device);
  DeviceFacts query_device();
  void refresh_quietly() noexcept;
  /// A key of an op's table of plans.
  struct Place {
    Op* op;
    PlanKey key;
  };
  /// All places with a plan.
  [[nodiscard]] std::vector<Place> places() const;
  struct Context {
    cuda::Context handle;
    DeviceFacts device;
  };
  /// Locks `mutex_` for one piece of a longer task: waiting launches go first.
  [[nodiscard]] std::unique_lock<std::mutex> lock_after_others();
  /// The current context; `id` is its id.
  const Context& context_of(const cuda::Driver& driver, std::uint64_t id);
  /// Submits a config for compiling, once, and notes that `place` waits for it.
  void compile(const PlannedWinner& wanted, const Problem& problem, const Place& place);
  /// On the compiling thread: keeps the result and gives the waiting shapes their plans.
  void compiled(const std::string& key, Jit::Compiled* binary, const std::string& why) noexcept;
  /// On any thread, with `mutex_` held: looks up again which config serves. False if none does or the context has
  /// ended; the plan is then unchanged.
  bool plan_again(const Place& place) noexcept;
  using Clock = std::chrono::steady_clock;
  /// Counts an answer and logs it. `mutex_` is held.
  void note(const Problem& problem, const Chosen& chosen, Clock::time_point asked);
  [[nodiscard]] std::optional<DeviceFacts> stored_device(const std::string& text);
  [[nodiscard]] std::string stored_devices_text();

  ForkGuard process_;
  LauncherOptions options_;
  /// Held throughout a refresh; taken before `mutex_`.
  std::mutex refreshing_;
  std::mutex mutex_;
  /// The number of launches that wait for `mutex_`.
  std::atomic<int> waiting_ = 0;
  /// True: this object's threads end their work early.
  std::atomic<bool> is_ending_ = false;
  Log log_;
  Resolver resolver_;
  MissRecorder misses_;
  /// Counts by Fit.
  std::array<std::uint64_t, 4> answers_{};
  std::uint64_t stale_ = 0, of_other_devices_ = 0;
  std::map<int, DeviceFacts> facts_;
  /// The contexts in which something was launched, by id.
  std::map<std::uint64_t, Context> contexts_;
  std::map<std::string, std::unique_ptr<Op>> ops_;
  Workspaces workspaces_;
  /// The places that wait for a compile, by Resolver::compile_key.
  std::map<std::string, std::vector<Place>> asked_;
  /// The number of compiles asked for.
  std::size_t compiles_ = 0;
  /// The state of the file when `hash_` was computed.
  std::optional<FileIdentity> hashed_;
  std::string hash_;
  /// Why a config could not be compiled, by problem.
  std::map<std::string, std::string> compile_errors_;
  // The last members: their threads start when all else exists, and end before the members that they change.
  std::unique_ptr<Jit> jit_;
  std::unique_ptr<PeriodicTask> watch_;
};

/// The current context's id. Throws DeviceError if none is current on the calling thread.
[[nodiscard, gnu::hot]] std::uint64_t current_context(const cuda::Driver& driver);

}  // namespace tilewright::launch
