// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "cache/content_hash.hpp"

namespace tilewright {
namespace {

// Long enough to cost nothing, short enough that Ctrl-C is felt at once.
constexpr std::chrono::milliseconds kPatience{50};

}  // namespace

std::string build_key(const std::string& source_key, const std::string& arch, const std::string& compiler,
                      const std::vector<std::string>& options) {
  return content_hash(
      std::string_view(fmt::format("{}\n{}\n{}\n{}", source_key, arch, compiler, fmt::join(options, "\n"))));
}

std::vector<std::filesystem::path> include_dirs(const std::filesystem::path& builtin_dir, const std::string& arch) {
  // The emulator answers for some of the device headers, so its folder comes first.
  if (arch == "cpu") return {builtin_dir / "emulator", builtin_dir};
  return {builtin_dir};
}

std::string first_error(const std::string& log) {
  std::string first;
  for (std::size_t start = 0; start < log.size();) {
    const std::size_t end = std::min(log.find('\n', start), log.size());
    std::string line = log.substr(start, end - start);
    if (line.find("error") != std::string::npos) return line;
    if (first.empty()) first = line;
    start = end + 1;
  }
  return first.empty() ? "the compiler failed and said nothing" : first;
}

CompileRequest compile_request(const GeneratedSource& source, const std::string& arch,
                               const std::filesystem::path& builtin_dir) {
  CompileRequest request;
  request.source = source.text;
  request.name = source.name;
  request.entries = source.entries;
  request.arch = arch;
  request.include_dirs = include_dirs(builtin_dir, arch);
  return request;
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

Builder::Builder(Store& store, Compiler& compiler, std::string arch, std::filesystem::path builtin_dir, int jobs,
                 std::function<bool()> interrupted)
    : store_(store),
      arch_(std::move(arch)),
      builtin_dir_(std::move(builtin_dir)),
      compiler_version_(compiler.version()),
      interrupted_(std::move(interrupted)),
      pool_(compiler, jobs) {}

std::string Builder::request(const GeneratedSource& source, const std::string& implementation_hash) {
  std::string key = build_key(source_key(source, implementation_hash), arch_, compiler_version_, {});
  if (known_.count(key) != 0) return key;
  if (auto stored = store_.build(key); stored && (stored->ok || !retry_failed_)) {
    known_.emplace(key, std::move(*stored));
  } else {
    pool_.submit(key, compile_request(source, arch_, builtin_dir_));
  }
  return key;
}

void Builder::keep(CompilePool::Finished finished) {
  if (finished.error) {
    if (interrupted_()) return;
    std::rethrow_exception(finished.error);
  }
  if (!finished.result.ok && interrupted_()) return;
  Build build = to_build(finished.key, arch_, finished.result);
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
  return known_.count(key) != 0;
}

Builder::Quiet::Quiet(Builder& builder) : builder_(builder) {
  while (!builder_.pool_.pause(kPatience) && !builder_.interrupted_()) {
  }
}

Builder::Quiet::~Quiet() { builder_.pool_.resume(); }

std::optional<Build> Builder::wait(const std::string& key) {
  for (;;) {
    // All that is ready is stored at once, whatever it was asked for: a sweep that is killed has not compiled in vain.
    keep_finished();
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    if (interrupted_()) {
      pool_.cancel();
      return std::nullopt;
    }
    const bool idle = pool_.unfinished() == 0;
    if (auto finished = pool_.next(kPatience)) {
      keep(std::move(*finished));
    } else if (idle) {
      // Only a key that was never requested ends here.
      throw Error(fmt::format("waiting for build {}: nothing compiles it", key));
    }
  }
}

}  // namespace tilewright
