// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/compiler_processes.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/process/worker_process.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

Message message_of(const CompileRequest& request) {
  std::vector<std::string> include_dirs;
  for (const auto& dir : request.include_dirs) include_dirs.push_back(dir.native());
  return {{"source", request.source},   {"name", request.name}, {"label", request.label},
          {"entries", request.entries}, {"arch", request.arch}, {"include_dirs", include_dirs},
          {"options", request.options}};
}

CompileRequest to_request(const Message& json) {
  CompileRequest request;
  json.at("source").get_to(request.source);
  json.at("name").get_to(request.name);
  json.at("label").get_to(request.label);
  json.at("entries").get_to(request.entries);
  json.at("arch").get_to(request.arch);
  for (const std::string dir : json.at("include_dirs")) request.include_dirs.emplace_back(dir);
  json.at("options").get_to(request.options);
  return request;
}

Message message_of(const CompileResult& result) {
  Message kernels = Message::array();
  for (const CompiledKernel& kernel : result.kernels) {
    const KernelResources& used = kernel.resources;
    kernels.push_back({kernel.entry, kernel.symbol, used.registers, used.spill_store_bytes, used.spill_load_bytes,
                       used.local_bytes, used.static_shared_bytes, used.constant_bytes, used.max_threads});
  }
  return {{"ok", result.ok},
          {"binary", to_message(std::span<const std::byte>(result.binary))},
          {"kernels", kernels},
          {"log", result.log},
          {"compiler", result.compiler},
          {"milliseconds", result.milliseconds}};
}

Message message_of(const std::exception& error) {
  const bool is_usage = dynamic_cast<const UsageError*>(&error) != nullptr;
  return {{is_usage ? "usage_error" : "error", error.what()}};
}

/// A worker's answer: a result, or the exception of its compiler.
struct Outcome {
  CompileResult result;
  std::exception_ptr thrown;
};

Outcome to_outcome(const Message& json) {
  if (json.contains("usage_error")) {
    return {{}, std::make_exception_ptr(UsageError(json.at("usage_error").get<std::string>()))};
  }
  if (json.contains("error")) return {{}, std::make_exception_ptr(Error(json.at("error").get<std::string>()))};
  CompileResult result;
  json.at("ok").get_to(result.ok);
  result.binary = bytes_from(json.at("binary"));
  for (const Message& kernel : json.at("kernels")) {
    result.kernels.push_back(
        {kernel.at(0),
         kernel.at(1),
         {kernel.at(2), kernel.at(3), kernel.at(4), kernel.at(5), kernel.at(6), kernel.at(7), kernel.at(8)}});
  }
  json.at("log").get_to(result.log);
  json.at("compiler").get_to(result.compiler);
  json.at("milliseconds").get_to(result.milliseconds);
  return {std::move(result), nullptr};
}

}  // namespace

int serve_compiles(Compiler& compiler, int socket) {
  const Channel parent(socket);
  Message message;
  while (parent.receive(message) == Channel::Received::message) {
    Message answer;
    try {
      answer = message_of(compiler.compile(to_request(message)));
    } catch (const std::bad_alloc&) {
      // This kernel exceeded the process's memory limit. The compiler is not at fault.
      CompileResult failed;
      failed.log = "error: memory ran out";
      failed.compiler = compiler.version();
      answer = message_of(failed);
    } catch (const std::exception& error) {
      answer = message_of(error);
    }
    if (!parent.send(answer)) return 1;
  }
  return 0;
}

CompilerProcesses::CompilerProcesses(Settings settings) : settings_(std::move(settings)) {}
CompilerProcesses::~CompilerProcesses() = default;

std::unique_ptr<WorkerProcess> CompilerProcesses::borrow(bool& fresh) {
  {
    const std::lock_guard lock(mutex_);
    fresh = idle_.empty();
    if (!idle_.empty()) {
      std::unique_ptr<WorkerProcess> worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
  }
  return std::make_unique<WorkerProcess>(settings_.command, settings_.limits);
}

std::vector<pid_t> CompilerProcesses::workers() const {
  const std::lock_guard lock(mutex_);
  std::vector<pid_t> processes;
  for (const auto& worker : idle_) processes.push_back(worker->process());
  return processes;
}

CompileResult CompilerProcesses::compile(const CompileRequest& request) {
  bool ended = false;
  CompileResult result = attempt(request, ended);
  // One death says nothing about the kernel; a second one does.
  return ended ? attempt(request, ended) : result;
}

CompileResult CompilerProcesses::attempt(const CompileRequest& request, bool& ended) {
  ended = false;
  const auto started = Clock::now();
  const auto deadline = started + settings_.limit;
  const Message question = message_of(request);
  std::unique_ptr<WorkerProcess> worker;
  Channel::Received got = Channel::Received::end;
  // A worker that died while idle says nothing about this kernel.
  for (bool fresh = false; got == Channel::Received::end && !fresh;) {
    worker = borrow(fresh);
    got = worker->channel().send(question, deadline, settings_.interrupted);
  }
  Message answer;
  if (got == Channel::Received::message) got = worker->channel().receive(answer, deadline, settings_.interrupted);
  CompileResult result;
  result.compiler = settings_.version;
  switch (got) {
    case Channel::Received::message:
      try {
        Outcome outcome = understand([&] { return to_outcome(answer); });
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(worker));
        if (outcome.thrown) std::rethrow_exception(outcome.thrown);
        return std::move(outcome.result);
      } catch (const GarbledMessage& garbled) {
        ended = true;
        worker->kill();
        result.log = fmt::format("error: compiling {} failed: {}", request.name, garbled.what());
      }
      break;
    case Channel::Received::garbled:
      ended = true;
      worker->kill();
      result.log =
          fmt::format("error: compiling {} failed: its process sent an invalid message, and was stopped", request.name);
      break;
    case Channel::Received::late:
      worker->kill();
      result.log = fmt::format("error: compiling {} did not end in {} s, and was stopped", request.name,
                               std::chrono::duration<double>(settings_.limit).count());
      break;
    case Channel::Received::interrupted:
      worker->kill();
      result.log = fmt::format("error: compiling {} was interrupted", request.name);
      break;
    case Channel::Received::end:
      ended = true;
      result.log = fmt::format("error: the process that compiled {} ended with {}", request.name, worker->end());
      break;
  }
  result.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - started).count();
  return result;
}

}  // namespace tilewright
