// SPDX-License-Identifier: Apache-2.0
// The worker process of compiler_processes_test.cpp: a request's source scripts its compiler.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>

#include "cache/base/error.hpp"
#include "tuner/compile/compiler_processes.hpp"

namespace {

using namespace tilewright;

class Scripted : public Compiler {
 public:
  CompileResult compile(const CompileRequest& request) override {
    if (request.source == "crash") std::abort();
    if (request.source == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
    if (request.source == "nap") std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (request.source == "greed") throw std::bad_alloc();
    if (request.source == "garble") (void)::send(STDIN_FILENO, "garbage, and more garbage", 25, MSG_NOSIGNAL);
    if (request.source == "strange") (void)Channel(::dup(STDIN_FILENO)).send({{"ok", "perhaps"}});
    if (request.source == "usage") throw UsageError("no such architecture");
    if (request.source == "broken") throw Error("headers are missing");
    CompileResult result;
    result.compiler = version();
    result.milliseconds = 1.5;
    if (request.source == "refuse") {
      result.log = request.name + "(3): error: refused";
      return result;
    }
    result.ok = true;
    result.log = request.name + " " + request.arch + " ";
    for (const auto& dir : request.include_dirs) result.log += dir.native() + "|";
    result.log += " ";
    for (const auto& option : request.options) result.log += option + "|";
    result.binary.assign(1U << 20, std::byte{7});
    for (const std::string& entry : request.entries) {
      result.kernels.push_back({entry, "_Z6" + entry, {.registers = 40 + static_cast<int>(result.kernels.size())}});
    }
    return result;
  }
  [[nodiscard]] std::string version() const override { return "scripted 1"; }
};

}  // namespace

int main() {
  Scripted compiler;
  return serve_compiles(compiler, STDIN_FILENO);
}
