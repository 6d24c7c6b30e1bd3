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

/// A cache opened for launching, and the ops that were asked of it: what a tw_launcher is. Everything that reads the
/// cache is behind one lock, which launches of known shapes never take.
namespace tilewright::launch {

struct LauncherOptions {
  std::filesystem::path cache;
  /// Serves what the cache cannot.
  std::optional<std::filesystem::path> fallback = std::nullopt;
  /// The device that queries are answered for; empty: the GPU at hand.
  std::string device;
  bool allow_shared_cache = false;
  /// How often to look for a newer cache; 0: only when refresh() is called.
  std::chrono::milliseconds watch{0};
  /// The file for shapes without an exact winner; nothing: none.
  std::optional<std::filesystem::path> misses = std::nullopt;
  /// 64 digits: the file with this SHA-256 and no other, and no newer one; empty: `cache`, whatever it is.
  std::string snapshot = {};
  /// Compile configs for shapes that were never tuned, with the ops of these folders (parted by ':') and the built-in
  /// ones.
  bool jit = false;
  std::string ops = {};
};

class Launcher {
 public:
  explicit Launcher(LauncherOptions options);
  ~Launcher() { is_ending_ = true; }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// The op of a spec, the same for equal specs; it lives as long as the launcher. Throws as Resolver::identify.
  Op& op(const std::string& spec);
  /// As tw_refresh: looks up again who serves what was launched, one after the other, while launches go on with what
  /// they have.
  void refresh();
  /// JSON, as tw_snapshot gives it.
  [[nodiscard]] std::string snapshot();
  void set_workspace(cuda::Stream stream, cuda::Address address, std::size_t bytes);
  /// As tw_counts.
  [[nodiscard]] std::string counts();

  [[nodiscard]] const LauncherOptions& options() const noexcept { return options_; }
  /// Every other method throws DeviceError in a child by fork of the process that opened the launcher.
  [[nodiscard]] const ForkGuard& process() const noexcept { return process_; }

  // For ops.
  [[nodiscard]] Workspaces& workspaces() noexcept { return workspaces_; }
  /// Finds or makes the plan of a shape in the current context and puts it into the op's table, which is `table` unless
  /// a refresh has come between. Throws NoMatchError when there is none.
  const ReadyPlan& resolve(Op& op, const PlanKey& key, const Problem& problem, const Alignments& alignments);
  /// The config that would be served on the device of queries.
  struct Answer {
    Resolver::Answer served;
    DeviceFacts device;
    /// Why a config for this problem could not be compiled; empty: none could not.
    std::string compile_error = {};
    /// Why misses are recorded no longer; empty: they are, or never were.
    std::string misses_error = {};
  };
  Answer answer(const Op& op, const Problem& problem);

 private:
  /// The facts of a GPU of this machine, read once.
  const DeviceFacts& facts(const cuda::Driver& driver, int device);
  DeviceFacts query_device();
  void refresh_quietly() noexcept;
  /// The place where launches look for their plan.
  struct Place {
    Op* op;
    PlanKey key;
  };
  /// All that have a plan.
  [[nodiscard]] std::vector<Place> places() const;
  struct Context {
    cuda::Context handle;
    DeviceFacts device;
  };
  /// `mutex_`, for work of many pieces: launches that wait for it come first.
  [[nodiscard]] std::unique_lock<std::mutex> lock_after_others();
  /// The current context, whose id this is.
  const Context& context_of(const cuda::Driver& driver, std::uint64_t id);
  /// Asks for a config, once, and for the place to be served by it.
  void compile(const PlannedWinner& wanted, const Problem& problem, const Place& place);
  /// On the compiling thread: keeps what came of it, and gives the shapes that wait for it their plans.
  void compiled(const std::string& key, Jit::Compiled* binary, const std::string& why) noexcept;
  /// On any thread: looks up again which config serves. False, and the plan as it was, where none does, or where the
  /// context has ended.
  bool plan_again(const Place& place) noexcept;
  using Clock = std::chrono::steady_clock;
  /// Counts an answer, and tells it to the log. `mutex_` is held.
  void note(const Problem& problem, const Chosen& chosen, Clock::time_point asked);
  [[nodiscard]] std::optional<DeviceFacts> stored_device(const std::string& text);
  [[nodiscard]] std::string stored_devices_text();

  ForkGuard process_;
  LauncherOptions options_;
  /// Held by a refresh, from its beginning to its end, and taken before `mutex_`.
  std::mutex refreshing_;
  std::mutex mutex_;
  /// Launches that wait for `mutex_`.
  std::atomic<int> waiting_ = 0;
  /// True: work on this object's threads ends early.
  std::atomic<bool> is_ending_ = false;
  Log log_;
  Resolver resolver_;
  MissRecorder misses_;
  /// Counts by Fit.
  std::array<std::uint64_t, 4> answers_{};
  std::uint64_t stale_ = 0, of_other_devices_ = 0;
  std::map<int, DeviceFacts> facts_;
  /// The contexts, by id, in which something was launched.
  std::map<std::uint64_t, Context> contexts_;
  std::map<std::string, std::unique_ptr<Op>> ops_;
  Workspaces workspaces_;
  /// Configs to compile, by Resolver::compile_key, and the places that wait for each.
  std::map<std::string, std::vector<Place>> asked_;
  /// The compiles asked for so far.
  std::size_t compiles_ = 0;
  /// The state of the file whose SHA-256 is known.
  std::optional<FileIdentity> hashed_;
  std::string hash_;
  /// Why a config could not be compiled, by problem.
  std::map<std::string, std::string> compile_errors_;
  // Last, so that they end before what they change; begun when all else is there.
  std::unique_ptr<Jit> jit_;
  std::unique_ptr<PeriodicTask> watch_;
};

/// The current context's id. Throws DeviceError when none is current on the calling thread.
[[nodiscard, gnu::hot]] std::uint64_t current_context(const cuda::Driver& driver);

}  // namespace tilewright::launch
