// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/work.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/compile/compiler_processes.hpp"
#include "tuner/compile/host_compiler.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/device/device.hpp"
#include "tuner/process/process.hpp"
#include "tuner/process/worker_process.hpp"
#include "tuner/worker/serve_device.hpp"

namespace tilewright::app {
namespace {

constexpr const char* kAll = "all";
// First words of a worker's command line; a device's name follows the second.
constexpr const char* kCompileWorker = "compile-worker";
constexpr const char* kDeviceWorker = "device-worker";

bool is_emulator(const std::string& name) { return name == "cpu"; }

}  // namespace

std::optional<bool> serve_as_worker(const std::vector<std::string>& words) {
  if (words.front() == kCompileWorker) {
    end_with(STDIN_FILENO);
    NvrtcCompiler compiler;
    return serve_compiles(compiler, STDIN_FILENO) == 0;
  }
  if (words.front() != kDeviceWorker || words.size() != 2) return std::nullopt;
  end_with(STDIN_FILENO);
  const auto open = [&](std::string* said) { return open_device(words.back(), said); };
  const auto see = [&] { return see_device(words.back()); };
  return serve_device(open, STDIN_FILENO, see) == 0;
}

std::vector<std::string> checked_devices(std::vector<std::string> names) {
  std::ranges::replace(names, std::string("cuda"), std::string("cuda:0"));
  const auto emulators = std::ranges::count_if(names, is_emulator);
  if (emulators != 0 && emulators != static_cast<std::ptrdiff_t>(names.size())) {
    throw UsageError(
        "--devices: the emulator and GPUs have different grids and compilers; sweep them one after the other");
  }
  for (auto name = names.begin(); name != names.end(); ++name) {
    if ((*name == kAll || *name == "auto") && names.size() > 1) {
      throw UsageError(fmt::format("--devices: {} stands alone, or a list names each device", *name));
    }
    if (*name != kAll) check_device_name(*name);
    // The emulator may be named several times, a GPU once.
    if (!is_emulator(*name) && std::find(names.begin(), name, *name) != name) {
      throw UsageError(fmt::format("--devices names {} twice", *name));
    }
  }
  return names;
}

std::unique_ptr<DevicePool> open_devices(const Work& work, Listener& listener) {
  const std::vector<std::string> names = checked_devices(work.devices);
  DeviceProcess::Settings settings;
  settings.command = {this_program(), kDeviceWorker};
  settings.timeout = work.timeout;
  settings.interrupted = [&listener] { return listener.cancelled(); };
  settings.note = [&listener](const std::string& line) { listener.note(line); };
  try {
    auto devices = std::make_unique<DevicePool>(names, settings);
    if (!listener.cancelled()) return devices;
  } catch (const DeviceError&) {
    if (!listener.cancelled()) throw;
  }
  return nullptr;
}

std::unique_ptr<Compiler> open_compiler(const Work& work, bool emulator, const Listener& listener) {
  constexpr std::size_t kCompileMemory = std::size_t{4} << 30;
  const auto cancelled = [&listener] { return listener.cancelled(); };
  if (emulator) {
    HostCompilerSettings settings = HostCompilerSettings::from_environment();
    settings.memory_bytes = kCompileMemory;
    settings.limit = work.compile_timeout;
    settings.interrupted = cancelled;
    return std::make_unique<HostCompiler>(std::move(settings));
  }
  CompilerProcesses::Settings settings{{this_program(), kCompileWorker}, NvrtcCompiler().version()};
  settings.limits.memory_bytes = kCompileMemory;
  settings.limit = work.compile_timeout;
  settings.interrupted = cancelled;
  return std::make_unique<CompilerProcesses>(std::move(settings));
}

}  // namespace tilewright::app
