// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/builder.hpp"

#include <fmt/format.h>

#include <exception>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "cache/base/content_hash.hpp"
#include "tuner/definition/samples.hpp"
#include "tuner/sweep/sweep_lock.hpp"

namespace tilewright {
namespace {

// Long enough to cost nothing, short enough for a prompt Ctrl-C.
constexpr std::chrono::milliseconds kPatience{50};
// For several devices that hold finals in sequence: the longest time without compiling while a device waits for a
// build, and the compilers' time on the host after that.
constexpr std::chrono::seconds kLongestPause{2};
constexpr std::chrono::seconds kShareOfCompilers{1};
constexpr std::chrono::milliseconds kBuilderPoll{2};

/// Adds its lifetime to a total.
class Stopwatch {
 public:
  explicit Stopwatch(std::chrono::duration<double>& total) : total_(total) {}
  ~Stopwatch() { total_ += std::chrono::steady_clock::now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::chrono::duration<double>& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Counts itself while it lives.
class Counted {
 public:
  explicit Counted(int& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  int& count_;
};

std::string reference_text(const OpDefinition& definition) {
  std::ifstream file(definition.reference.source, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  // The reference's headers are among those of the implementations.
  for (const Implementation& implementation : definition.implementations) text += "\n" + implementation.hash;
  return text;
}

}  // namespace

std::string build_key(const std::string& source_key, const std::string& arch, const std::string& compiler,
                      const std::vector<std::string>& options) {
  return content_hash(
      std::string_view(fmt::format("{}\n{}\n{}\n{}", source_key, arch, compiler, fmt::join(options, "\n"))));
}

Build to_build(const std::string& key, const std::string& arch, const CompileResult& result) {
  Build build;
  build.key = key;
  build.ok = result.ok;
  if (result.ok) build.binary_hash = content_hash(std::span<const std::byte>(result.binary));
  build.kernels = kernel_facts(result);
  build.log = result.log;
  build.compiler = result.compiler;
  build.arch = arch;
  build.milliseconds = result.milliseconds;
  return build;
}

std::string reference_hash(const OpDefinition& definition) {
  std::string text = reference_text(definition);
  for (const MadeInput* made : made_inputs_of(definition)) text += "\n" + reference_text(*made->op);
  return content_hash(std::string_view(text));
}

Builder::Builder(Store& store, Compiler& compiler, std::filesystem::path builtin_dir, int jobs,
                 std::function<bool()> interrupted, SweepLock* lock)
    : store_(store),
      lock_(lock),
      builtin_dir_(std::move(builtin_dir)),
      compiler_version_(compiler.version()),
      makes_host_code_(compiler.makes_host_code()),
      interrupted_(std::move(interrupted)),
      pool_(compiler, jobs) {}

std::string Builder::key_of(const GeneratedSource& source, const std::string& arch,
                            const std::string& implementation_hash) const {
  return build_key(source_key(source, implementation_hash), arch, compiler_version_, {});
}

bool Builder::look_up(const std::string& key) {
  auto stored = store_.build(key);
  if (!stored || (!stored->ok && retry_failed_)) return false;
  // An imported build has no compile time. Imported host code is not trusted.
  if (makes_host_code_ && stored->ok && !stored->began_us) return false;
  known_.emplace(key, std::move(*stored));
  return true;
}

std::string Builder::request(const GeneratedSource& source, const std::string& arch,
                             const std::string& implementation_hash, std::int64_t sweep) {
  std::string key = key_of(source, arch, implementation_hash);
  if (known_.count(key) != 0 || pending_.count(key) != 0 || look_up(key)) return key;
  failed_.erase(key);
  pending_.emplace(key, Pending{arch, sweep});
  pool_.submit(key, compile_request(source, arch, builtin_dir_));
  return key;
}

void Builder::keep(CompilePool::Finished finished) {
  const auto pending = pending_.extract(finished.key);
  if (finished.error) {
    if (interrupted_()) return;
    // Whoever waits for this build learns why there is none, too.
    failed_[finished.key] = finished.error;
    std::rethrow_exception(finished.error);
  }
  if (!finished.result.ok && interrupted_()) return;
  Build build = to_build(finished.key, pending.mapped().arch, finished.result);
  build.sweep = pending.mapped().sweep;
  build.worker = finished.worker;
  build.began_us = finished.began_us;
  store_.put_build(build, finished.result.binary);
  ++compiled_;
  compile_ms_ += build.milliseconds;
  known_.insert_or_assign(finished.key, std::move(build));
}

void Builder::keep_finished() {
  while (auto finished = pool_.next(std::chrono::milliseconds(0))) keep(std::move(*finished));
}

bool Builder::ready(const std::string& key) {
  if (known_.count(key) != 0) return true;
  keep_finished();
  if (known_.count(key) != 0) return true;
  return pending_.count(key) == 0 && absent_.insert(key).second && look_up(key);
}

std::optional<CompilePool::Finished> Builder::next(std::chrono::milliseconds patience) {
  if (lock_ == nullptr) return pool_.next(patience);
  const SweepLock::Released away(*lock_);
  return pool_.next(patience);
}

void Builder::rest(std::chrono::milliseconds time) {
  std::optional<SweepLock::Released> away;
  if (lock_ != nullptr) away.emplace(*lock_);
  std::this_thread::sleep_for(time);
}

bool Builder::owes_compilers() const {
  if (waiting_ == 0) return false;
  const auto now = Clock::now();
  return pauses_ > 0 ? now - paused_since_ > kLongestPause
                     : resumed_at_ - paused_since_ > kLongestPause && now - resumed_at_ < kShareOfCompilers;
}

Builder::CompilePause::CompilePause(Builder& builder, const std::function<bool()>& meanwhile) : builder_(builder) {
  const auto wait = [&] {
    const Stopwatch stopwatch(builder_.waited_);
    builder_.rest(kBuilderPoll);
  };
  const auto pass = [&] {
    if (!meanwhile || !meanwhile()) wait();
  };
  while (builder_.owes_compilers() && !builder_.interrupted_()) pass();
  if (builder_.pauses_++ == 0) builder_.paused_since_ = Clock::now();
  try {
    while (!builder_.pool_.pause(std::chrono::milliseconds(0)) && !builder_.interrupted_()) pass();
  } catch (...) {
    leave();
    throw;
  }
}

Builder::CompilePause::~CompilePause() { leave(); }

void Builder::CompilePause::leave() {
  if (--builder_.pauses_ > 0) return;
  builder_.resumed_at_ = Clock::now();
  builder_.pool_.resume();
}

void Builder::wait_a_moment(const std::string& key) {
  const Stopwatch stopwatch(waited_);
  const Counted waiting(waiting_);
  pool_.hurry(key);
  if (auto finished = next(kPatience)) {
    keep(std::move(*finished));
  } else {
    // Another device's thread may be storing it.
    rest(std::chrono::milliseconds(0));
  }
}

std::optional<Build> Builder::wait(const std::string& key) {
  for (;;) {
    // Stores all finished builds at once, whoever asked for them, so that a killed sweep loses none.
    keep_finished();
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    if (interrupted_()) {
      pool_.cancel();
      return std::nullopt;
    }
    if (const auto failed = failed_.find(key); failed != failed_.end()) std::rethrow_exception(failed->second);
    // Only a key that was not requested gets here.
    if (pending_.count(key) == 0) throw Error(fmt::format("waiting for build {}: nothing compiles it", key));
    wait_a_moment(key);
  }
}

}  // namespace tilewright
