// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/trial_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/setup.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* kAll = "all";

bool is_emulator(const std::string& name) { return name == "cpu"; }

}  // namespace

std::vector<std::string> device_names(const Arguments& arguments) {
  if (!arguments.has("devices")) {
    check_device_name(arguments.text("device", "auto"));
    return {arguments.text("device", "auto")};
  }
  if (arguments.has("device")) throw UsageError("--device and --devices: one of them says where to measure");
  if (arguments.text("devices").empty()) throw UsageError("--devices takes all, or a list such as cuda:0,cuda:1");
  std::vector<std::string> names = split_list(arguments.text("devices"));
  if (std::find(names.begin(), names.end(), "") != names.end()) {
    throw UsageError(
        fmt::format("--devices {}: a name is missing beside a comma; it takes all, or a list such as cuda:0,cuda:1",
                    arguments.text("devices")));
  }
  std::replace(names.begin(), names.end(), std::string("cuda"), std::string("cuda:0"));
  const auto emulators = std::count_if(names.begin(), names.end(), is_emulator);
  if (emulators != 0 && emulators != static_cast<std::ptrdiff_t>(names.size())) {
    throw UsageError(
        "--devices: the emulator and GPUs have different grids and compilers; sweep them one after the other");
  }
  for (auto name = names.begin(); name != names.end(); ++name) {
    if ((*name == kAll || *name == "auto") && names.size() > 1) {
      throw UsageError(fmt::format("--devices: {} stands alone, or a list names each device", *name));
    }
    if (*name != kAll) check_device_name(*name);
    // Emulators are as many as are asked for; a GPU is one.
    if (!is_emulator(*name) && std::find(names.begin(), name, *name) != name) {
      throw UsageError(fmt::format("--devices names {} twice", *name));
    }
  }
  return names;
}

std::unique_ptr<DevicePool> open_trial_devices(const Arguments& arguments,
                                               std::function<void(const std::string&)> note) {
  const std::vector<std::string> names = device_names(arguments);
  DeviceProcess::Settings settings;
  settings.command = device_worker_command();
  settings.timeout = std::chrono::seconds(arguments.integer("timeout", 0, 1));
  settings.interrupted = interrupted;
  settings.note = std::move(note);
  try {
    auto trial_devices = std::make_unique<DevicePool>(names, settings);
    if (!interrupted()) return trial_devices;
  } catch (const DeviceError&) {
    if (!interrupted()) throw;
  }
  return nullptr;
}

}  // namespace tilewright::cli
