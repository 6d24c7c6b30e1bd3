// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/compiler_processes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "cache/error.hpp"
#include "tuner/compile/process.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

using Json = nlohmann::json;

std::string to_bytes(const Json& message) {
  std::string bytes;
  Json::to_cbor(message, bytes);
  return bytes;
}

std::string to_message(const CompileRequest& request) {
  std::vector<std::string> include_dirs;
  for (const auto& dir : request.include_dirs) include_dirs.push_back(dir.native());
  return to_bytes({{"source", request.source},
                   {"name", request.name},
                   {"entries", request.entries},
                   {"arch", request.arch},
                   {"include_dirs", include_dirs},
                   {"options", request.options}});
}

CompileRequest to_request(const std::string& message) {
  const Json json = Json::from_cbor(message);
  CompileRequest request;
  json.at("source").get_to(request.source);
  json.at("name").get_to(request.name);
  json.at("entries").get_to(request.entries);
  json.at("arch").get_to(request.arch);
  for (const std::string dir : json.at("include_dirs")) request.include_dirs.emplace_back(dir);
  json.at("options").get_to(request.options);
  return request;
}

std::string to_message(const CompileResult& result) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(result.binary.data());
  Json kernels = Json::array();
  for (const CompiledKernel& kernel : result.kernels) {
    const KernelResources& used = kernel.resources;
    kernels.push_back({kernel.entry, kernel.symbol, used.registers, used.spill_store_bytes, used.spill_load_bytes,
                       used.local_bytes, used.static_shared_bytes, used.constant_bytes, used.max_threads});
  }
  return to_bytes({{"ok", result.ok},
                   {"binary", Json::binary({bytes, bytes + result.binary.size()})},
                   {"kernels", kernels},
                   {"log", result.log},
                   {"compiler", result.compiler},
                   {"milliseconds", result.milliseconds}});
}

std::string to_message(const std::exception& error) {
  const bool is_usage = dynamic_cast<const UsageError*>(&error) != nullptr;
  return to_bytes({{is_usage ? "usage_error" : "error", error.what()}});
}

CompileResult to_result(const std::string& message) {
  const Json json = Json::from_cbor(message);
  if (json.contains("usage_error")) throw UsageError(json.at("usage_error").get<std::string>());
  if (json.contains("error")) throw Error(json.at("error").get<std::string>());
  CompileResult result;
  json.at("ok").get_to(result.ok);
  const auto& binary = json.at("binary").get_binary();
  const auto* bytes = reinterpret_cast<const std::byte*>(binary.data());
  result.binary.assign(bytes, bytes + binary.size());
  for (const Json& kernel : json.at("kernels")) {
    result.kernels.push_back(
        {kernel.at(0),
         kernel.at(1),
         {kernel.at(2), kernel.at(3), kernel.at(4), kernel.at(5), kernel.at(6), kernel.at(7), kernel.at(8)}});
  }
  json.at("log").get_to(result.log);
  json.at("compiler").get_to(result.compiler);
  json.at("milliseconds").get_to(result.milliseconds);
  return result;
}

/// Both ends of the conversation. A message is its length and its bytes.
class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { ::close(number_); }

  /// False when the other end is gone.
  [[nodiscard]] bool send(const std::string& message) const {
    const std::uint64_t length = message.size();
    return send(&length, sizeof length) && send(message.data(), message.size());
  }

  enum class Received : std::uint8_t { message, end, late };
  [[nodiscard]] Received receive(std::string& message, std::optional<Clock::time_point> deadline) const {
    std::uint64_t length = 0;
    if (const Received got = receive(&length, sizeof length, deadline); got != Received::message) return got;
    message.resize(length);
    return receive(message.data(), length, deadline);
  }

 private:
  bool send(const void* bytes, std::size_t count) const {
    const char* next = static_cast<const char*>(bytes);
    while (count > 0) {
      const ssize_t sent = ::send(number_, next, count, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      next += sent;
      count -= static_cast<std::size_t>(sent);
    }
    return true;
  }

  Received receive(void* bytes, std::size_t count, std::optional<Clock::time_point> deadline) const {
    char* next = static_cast<char*>(bytes);
    while (count > 0) {
      int patience = -1;
      if (deadline) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
        if (left.count() <= 0) return Received::late;
        patience = static_cast<int>(left.count());
      }
      pollfd readable{number_, POLLIN, 0};
      const int ready = ::poll(&readable, 1, patience);
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) return Received::late;
      const ssize_t got = ::recv(number_, next, count, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return Received::end;
      next += got;
      count -= static_cast<std::size_t>(got);
    }
    return Received::message;
  }

  int number_;
};

}  // namespace

int serve_compiles(Compiler& compiler, int socket) {
  const Socket parent(socket);
  std::string message;
  while (parent.receive(message, std::nullopt) == Socket::Received::message) {
    std::string answer;
    try {
      answer = to_message(compiler.compile(to_request(message)));
    } catch (const std::exception& error) {
      answer = to_message(error);
    }
    if (!parent.send(answer)) return 1;
  }
  return 0;
}

/// A worker process and our end of its socket.
class CompilerProcesses::Worker {
 public:
  explicit Worker(const std::vector<std::string>& command) : Worker(command, make_sockets(command)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    socket_.reset();
    if (process_ > 0) (void)end();
  }

  [[nodiscard]] const Socket& socket() const noexcept { return *socket_; }
  [[nodiscard]] pid_t process() const noexcept { return process_; }

  void kill() const noexcept { ::kill(-process_, SIGKILL); }

  /// Waits for its end, and says how that came.
  std::string end() {
    const int status = wait_for_process(std::exchange(process_, 0));
    if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return fmt::format("exit code {}", WEXITSTATUS(status));
  }

 private:
  static std::array<int, 2> make_sockets(const std::vector<std::string>& command) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw Error(fmt::format("Running {} failed at its socket: {}", command.front(), std::strerror(errno)));
    }
    return ends;
  }

  // What it prints is no part of our output.
  Worker(const std::vector<std::string>& command, std::array<int, 2> ends) : socket_(std::in_place, ends[0]) {
    const Socket theirs(ends[1]);
    process_ = start_process(command, {ends[1], STDERR_FILENO, STDERR_FILENO});
  }

  std::optional<Socket> socket_;
  pid_t process_ = 0;
};

CompilerProcesses::CompilerProcesses(Settings settings) : settings_(std::move(settings)) {}
CompilerProcesses::~CompilerProcesses() = default;

std::unique_ptr<CompilerProcesses::Worker> CompilerProcesses::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Worker> worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
  }
  return std::make_unique<Worker>(settings_.command);
}

std::vector<pid_t> CompilerProcesses::workers() const {
  const std::lock_guard lock(mutex_);
  std::vector<pid_t> processes;
  for (const auto& worker : idle_) processes.push_back(worker->process());
  return processes;
}

CompileResult CompilerProcesses::compile(const CompileRequest& request) {
  const auto started = Clock::now();
  std::unique_ptr<Worker> worker = borrow();
  std::string answer;
  const auto got = worker->socket().send(to_message(request))
                       ? worker->socket().receive(answer, started + settings_.limit)
                       : Socket::Received::end;
  if (got == Socket::Received::message) {
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(worker));
    }
    return to_result(answer);
  }
  CompileResult result;
  result.compiler = settings_.version;
  if (got == Socket::Received::late) {
    worker->kill();
    result.log = fmt::format("error: compiling {} did not end in {} s, and was stopped", request.name,
                             std::chrono::duration<double>(settings_.limit).count());
  } else {
    result.log =
        fmt::format("error: the process that compiled {} came to its end with {}", request.name, worker->end());
  }
  result.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - started).count();
  return result;
}

}  // namespace tilewright
