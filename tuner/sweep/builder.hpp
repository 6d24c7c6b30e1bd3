// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/compile/compile_pool.hpp"
#include "tuner/compile/request.hpp"

/// Compiles binaries for a sweep, each once, on threads that run ahead of measuring. Binaries in the cache are not
/// compiled again, including failures. Guarded by the sweep lock, like the store.
namespace tilewright {

class SweepLock;

/// A binary's identity, from source key, architecture, compiler and options. 32 hexadecimal digits.
[[nodiscard]] std::string build_key(const std::string& source_key, const std::string& arch, const std::string& compiler,
                                    const std::vector<std::string>& options);

/// A finished compile as the cache stores it.
[[nodiscard]] Build to_build(const std::string& key, const std::string& arch, const CompileResult& result);

/// Stands for an implementation's hash in the key of an op's reference binary.
[[nodiscard]] std::string reference_hash(const OpDefinition& definition);

class Builder {
 public:
  /// All must outlive the builder. It releases `lock` while it waits for a compiler; null if one thread does all.
  Builder(Store& store, Compiler& compiler, std::filesystem::path builtin_dir, int jobs,
          std::function<bool()> interrupted, SweepLock* lock = nullptr);

  /// Whether to compile builds again that the cache has as failed.
  void retry_failed(bool retry) noexcept { retry_failed_ = retry; }

  /// The key of the source's build for `arch`. Requests nothing.
  [[nodiscard]] std::string key_of(const GeneratedSource& source, const std::string& arch,
                                   const std::string& implementation_hash) const;
  /// Ensures that the source's build for `arch` is known or queued, and returns its key. `sweep` is stored with it; 0:
  /// none.
  std::string request(const GeneratedSource& source, const std::string& arch, const std::string& implementation_hash,
                      std::int64_t sweep = 0);

  /// Waits for a requested build; nullopt if interrupted. Throws the compiler's exception if the compiler is broken,
  /// CacheError if the build cannot be stored.
  [[nodiscard]] std::optional<Build> wait(const std::string& key);

  /// Waits a moment, or until some build finishes. Moves this build to the front of the queue.
  void wait_a_moment(const std::string& key);

  /// Whether the build is known, or in the cache without a request.
  [[nodiscard]] bool ready(const std::string& key);
  /// The number of builds requested and not compiled.
  [[nodiscard]] std::size_t unfinished() const { return pool_.unfinished(); }

  /// Nothing compiles while a pause lives. Its constructor waits for running compiles, unless interrupted, and calls
  /// `meanwhile` (may be empty) instead of idling until that returns false. Pauses of several devices may overlap. If
  /// pauses follow one another while a device waits for a build, a new pause first gives the compilers their share.
  class CompilePause {
   public:
    explicit CompilePause(Builder& builder, const std::function<bool()>& meanwhile = {});
    ~CompilePause();
    CompilePause(const CompilePause&) = delete;
    CompilePause& operator=(const CompilePause&) = delete;

   private:
    void leave();

    Builder& builder_;
  };

  /// The number of compiles in this sweep, and the compilers' milliseconds summed over threads.
  [[nodiscard]] std::size_t compiled() const noexcept { return compiled_; }
  [[nodiscard]] double compile_ms() const noexcept { return compile_ms_; }
  /// The time that devices waited for compilers or for their pause, summed over devices.
  [[nodiscard]] std::chrono::duration<double> waited() const noexcept { return waited_; }
  [[nodiscard]] int workers() const noexcept { return pool_.workers(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// Waits up to `patience` for a finished compile, without the sweep lock.
  [[nodiscard]] std::optional<CompilePool::Finished> next(std::chrono::milliseconds patience);
  void rest(std::chrono::milliseconds time);
  /// Takes a usable build from the cache; false if there is none.
  bool look_up(const std::string& key);
  /// Whether a device waits for a build while compilers are owed their share after too long a pause.
  [[nodiscard]] bool owes_compilers() const;
  /// Stores a finished compile. A failure after an interrupt is not stored, as the interrupt may have caused it.
  void keep(CompilePool::Finished finished);
  /// Stores all finished compiles.
  void keep_finished();

  Store& store_;
  SweepLock* lock_;
  std::filesystem::path builtin_dir_;
  std::string compiler_version_;
  bool makes_host_code_;
  std::function<bool()> interrupted_;
  std::map<std::string, Build> known_;
  struct Pending {
    std::string arch;
    std::int64_t sweep = 0;
  };
  /// Requested and not known yet.
  std::map<std::string, Pending> pending_;
  /// Requested, but the compiler itself failed.
  std::map<std::string, std::exception_ptr> failed_;
  /// Keys that ready() has already looked up in the cache.
  std::set<std::string> absent_;
  bool retry_failed_ = false;
  /// The numbers of CompilePauses and wait()s, the start of the current or last pause, and the end of the last one.
  int pauses_ = 0;
  int waiting_ = 0;
  Clock::time_point paused_since_;
  Clock::time_point resumed_at_;
  std::size_t compiled_ = 0;
  double compile_ms_ = 0;
  std::chrono::duration<double> waited_{0};
  /// Last, so that its threads end before the other members.
  CompilePool pool_;
};

}  // namespace tilewright
