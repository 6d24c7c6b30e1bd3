// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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

/// Binaries for a sweep: each compiled once, whatever asks for it, on threads that run ahead of the measuring; what the
/// cache has already is not compiled again, failures included. Guarded by the sweep lock, as the store is.
namespace tilewright {

class SweepLock;

/// The identity of a binary: source key, architecture, compiler and options. 32 hexadecimal digits.
[[nodiscard]] std::string build_key(const std::string& source_key, const std::string& arch, const std::string& compiler,
                                    const std::vector<std::string>& options);

/// A finished compile as the cache keeps it.
[[nodiscard]] Build to_build(const std::string& key, const std::string& arch, const CompileResult& result);

/// The same in the form in which a compiler gives it.
[[nodiscard]] CompileResult to_compile_result(const Build& build, std::vector<std::byte> binary);

/// The hash of an op's reference, in place of an implementation's: with the generated text it is the key of the binary.
[[nodiscard]] std::string reference_hash(const OpDefinition& definition);

class Builder {
 public:
  /// All must outlive the builder. `lock` is released while a compiler is waited for; null where one thread does all.
  Builder(Store& store, Compiler& compiler, std::filesystem::path builtin_dir, int jobs,
          std::function<bool()> interrupted, SweepLock* lock = nullptr);

  /// From now on builds that the cache has as failed are compiled again.
  void retry_failed(bool retry) noexcept { retry_failed_ = retry; }

  /// The key of this source's build for `arch`. Requests nothing.
  [[nodiscard]] std::string key_of(const GeneratedSource& source, const std::string& arch,
                                   const std::string& implementation_hash) const;
  /// Makes sure that this source's build for `arch` is known or on its way, and returns its key. `sweep` is what it is
  /// stored as compiled for; 0: none.
  std::string request(const GeneratedSource& source, const std::string& arch, const std::string& implementation_hash,
                      std::int64_t sweep = 0);

  /// Waits for a build that was requested; nothing when interrupted meanwhile. Throws what the compiler threw when it
  /// is the compiler that is broken, and CacheError when the build cannot be stored.
  [[nodiscard]] std::optional<Build> wait(const std::string& key);

  /// Waits a moment, or until some build is finished, this one rather than others.
  void wait_a_moment(const std::string& key);

  /// True when the build is there, also one that the cache had before anyone requested it.
  [[nodiscard]] bool ready(const std::string& key);
  /// Requested and not compiled yet.
  [[nodiscard]] std::size_t unfinished() const { return pool_.unfinished(); }

  /// Nothing compiles while a pause lives. Its constructor waits for running compiles, unless interrupted, and calls
  /// `meanwhile` (may be empty) instead of idling until that returns false. Pauses of several devices may overlap; a
  /// new one first gives the compilers their share, where pauses have followed one another while a device waits for a
  /// build.
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

  /// Compiled in this sweep, and the milliseconds that the compilers worked, all threads together.
  [[nodiscard]] std::size_t compiled() const noexcept { return compiled_; }
  [[nodiscard]] double compile_ms() const noexcept { return compile_ms_; }
  /// The time for which devices waited for compilers, or for them to be idle, all devices together.
  [[nodiscard]] std::chrono::duration<double> waited() const noexcept { return waited_; }
  [[nodiscard]] int workers() const noexcept { return pool_.workers(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// Waits so long for a finished compile, with the sweep lock released.
  [[nodiscard]] std::optional<CompilePool::Finished> next(std::chrono::milliseconds patience);
  void rest(std::chrono::milliseconds time);
  /// Takes what the cache has of it; false: nothing that counts.
  bool look_up(const std::string& key);
  /// Someone waits for a compiler, and nothing has compiled for too long.
  [[nodiscard]] bool owes_compilers() const;
  /// Stores a finished compile. A compile that failed after an interrupt is not kept: the interrupt may have ended it.
  void keep(CompilePool::Finished finished);
  /// Stores all that is finished.
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
  /// Keys that ready() has not found in the cache.
  std::set<std::string> absent_;
  bool retry_failed_ = false;
  /// How many CompilePauses and wait()s there are, and since when nothing compiles, or when that was last so.
  int pauses_ = 0;
  int waiting_ = 0;
  Clock::time_point paused_since_;
  Clock::time_point resumed_at_;
  std::size_t compiled_ = 0;
  double compile_ms_ = 0;
  std::chrono::duration<double> waited_{0};
  /// Last, so that its threads end before anything that they use.
  CompilePool pool_;
};

}  // namespace tilewright
