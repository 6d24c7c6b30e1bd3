// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cache/launch/fork_guard.hpp"
#include "cache/launch/jit.hpp"
#include "cache/launch/miss_recorder.hpp"
#include "cache/launch/op.hpp"
#include "cache/launch/resolver.hpp"
#include "cache/launch/watch.hpp"
#include "cache/launch/workspaces.hpp"

/// A cache opened for launching, and the ops that were asked of it: what a tw_launcher is. Everything that reads the cache
/// is behind one lock, which launches of known shapes never take.
namespace tilewright::launch {

struct LauncherOptions {
  std::filesystem::path cache;
  /// Why `cache` is the fallback of the one that was asked for; empty: it is that one.
  std::string cache_error = {};
  /// What queries are answered for; empty: the GPU at hand.
  std::string device;
  bool allow_shared_cache = false;
  /// How often to look for a newer cache; 0: only when refresh() is called.
  std::chrono::milliseconds watch{0};
  /// Where shapes without an exact winner are recorded; nothing: nowhere.
  std::optional<std::filesystem::path> misses = std::nullopt;
  /// Compile configs for shapes that were never tuned, with the ops of these folders (parted by ':') and the built-in ones.
  bool jit = false;
  std::string ops = {};
};

class Launcher {
 public:
  explicit Launcher(LauncherOptions options);

  /// The op of a spec, the same for equal specs; it lives as long as the launcher. Throws as Resolver::identify.
  Op& op(const std::string& spec);
  void refresh();
  void set_workspace(cuda::Stream stream, cuda::Address address, std::size_t bytes);

  [[nodiscard]] const LauncherOptions& options() const noexcept { return options_; }
  /// Every other method throws DeviceError in a child by fork of the process that opened the launcher.
  [[nodiscard]] const ForkGuard& process() const noexcept { return process_; }

  // For ops.
  [[nodiscard]] Workspaces& workspaces() noexcept { return workspaces_; }
  /// Finds or makes the plan of a shape in the current context and puts it into the op's table, which is `table` unless a
  /// refresh has come between. Throws NoMatchError when there is none.
  const ReadyPlan& resolve(Op& op, const PlanKey& key, const Problem& problem, const Alignments& alignments);
  /// What would be served on the device of queries.
  struct Answer {
    Chosen chosen;
    DeviceFacts device;
    /// Why a config for this problem could not be compiled; empty: none could not.
    std::string compile_error = {};
  };
  Answer answer(const Op& op, const Problem& problem);

 private:
  /// The facts of a GPU of this machine, read once.
  const DeviceFacts& facts(const cuda::Driver& driver, int device);
  DeviceFacts query_device();
  void refresh_quietly() noexcept;
  /// Where a launch goes once its config is compiled.
  struct Place {
    Op* op;
    PlanKey key;
    Problem problem;
    Alignments alignments;
    cuda::Context context;
    DeviceFacts device;
  };
  /// Asks for a config, once, and for the place to be served by it.
  void compile(const Serving& wanted, Place place);
  /// On the compiling thread: keeps what came of it, and gives the shapes that wait for it their plans.
  void compiled(const std::string& key, Jit::Compiled* binary, const std::string& why) noexcept;
  void replan(const Place& place) noexcept;
  [[nodiscard]] std::optional<DeviceFacts> stored_device(const std::string& text) const;
  [[nodiscard]] std::string stored_devices_text() const;

  ForkGuard process_;
  LauncherOptions options_;
  std::mutex mutex_;
  Resolver resolver_;
  MissRecorder misses_;
  std::map<int, DeviceFacts> facts_;
  std::map<std::string, std::unique_ptr<Op>> ops_;
  Workspaces workspaces_;
  /// What is to be compiled, by Resolver::compile_key, and who waits for it.
  std::map<std::string, std::vector<Place>> asked_;
  /// How many were asked for so far.
  std::size_t compiles_ = 0;
  /// Why a config could not be compiled, by problem.
  std::map<std::string, std::string> compile_errors_;
  // Last, so that they end before what they change; begun when all else is there.
  std::unique_ptr<Jit> jit_;
  std::unique_ptr<Watch> watch_;
};

/// The current context's id. Throws DeviceError when none is current on the calling thread.
[[nodiscard, gnu::hot]] std::uint64_t current_context(const cuda::Driver& driver);

}  // namespace tilewright::launch
