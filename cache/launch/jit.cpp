// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/jit.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string_view>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/own_file.hpp"
#include "cache/base/version.hpp"
#include "cache/launch/own_thread.hpp"
#include "cache/store/codecs.hpp"

namespace tilewright::launch {
namespace {

constexpr const char* kFile = "libtilewright-jit.so";
constexpr std::size_t kMostWaiting = 1024;

std::string library_file() {
  const char* chosen = std::getenv("TILEWRIGHT_LIBJIT");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  const std::filesystem::path beside = own_file().parent_path() / kFile;
  std::error_code missing;
  return std::filesystem::exists(beside, missing) ? beside.string() : kFile;
}

/// Sets the text; where there is no memory for it, one so short that it needs none.
void set_why(std::string& why, const char* text) noexcept {
  try {
    why = text;
  } catch (const std::exception&) {
    why = "out of memory";
  }
}

}  // namespace

Jit::Jit(std::string ops) : ops_(std::move(ops)), library_(library_file()) {
  constexpr const char* kAdvice =
      "install it beside libtilewright.so, name it in TILEWRIGHT_LIBJIT, or open the launcher without `jit`";
  if (!library_) {
    throw UsageError(fmt::format("the launcher's option `jit` needs {}, which cannot be opened: {}; {}", kFile,
                                 library_.why(), kAdvice));
  }
  const auto version_of = library_.find<jit::VersionFunction>(jit::kVersionName);
  compile_ = library_.find<jit::CompileFunction>(jit::kCompileName);
  if (!library_.missing().empty() || version_of() != std::string_view(version())) {
    throw UsageError(fmt::format(
        "the launcher's option `jit` needs {} of version {}, and {} is {}; {}", kFile, version(), library_.file(),
        library_.missing().empty() ? fmt::format("of version {}", version_of()) : "another library", kAdvice));
  }
  // NVRTC, which the library opens, must not be unloaded.
  library_.keep_loaded();
  thread_ = own_thread([this] { work(); });
}

Jit::~Jit() {
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Jit::submit(Job job, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (is_ended_ || tasks_.size() >= kMostWaiting) return false;
    tasks_.push_back({std::move(job), std::move(done)});
  }
  changed_.notify_all();
  return true;
}

void Jit::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty() && !is_busy_; });
}

void Jit::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ended_ || !tasks_.empty(); });
    if (is_ended_) return;
    is_busy_ = true;
    {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      compile(task);
    }
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

void Jit::compile(const Task& task) const {
  // Nothing may be thrown through the library, which has its own C++ runtime: the answer is parsed after the call. One
  // that does not fit into memory is a failed compile.
  struct Answer {
    std::vector<std::byte> binary;
    std::string kernels;
    std::string why;
  } answer;
  const jit::Request request{task.job.problem.c_str(),        task.job.config.c_str(),
                             task.job.interface_hash.c_str(), task.job.implementation_hash.c_str(),
                             task.job.device.c_str(),         ops_.c_str()};
  const jit::Sink sink{
      &answer,
      [](void* context, const jit::Binary& binary) noexcept {
        auto& to = *static_cast<Answer*>(context);
        try {
          to.binary.reserve(binary.size);  // throws before anything is read
          to.binary.assign(binary.bytes, binary.bytes + binary.size);
          to.kernels = binary.kernels;
        } catch (const std::exception&) {
          to.binary.clear();
          set_why(to.why, "out of memory");
        }
      },
      [](void* context, const char* why) noexcept { set_why(static_cast<Answer*>(context)->why, why); }};
  compile_(request, sink);
  if (!answer.binary.empty()) {
    try {
      Compiled compiled{std::move(answer.binary), decode_kernels(answer.kernels)};
      task.done(&compiled, {});
      return;
    } catch (const std::exception& error) {
      set_why(answer.why, error.what());
    }
  }
  task.done(nullptr, answer.why);
}

}  // namespace tilewright::launch
