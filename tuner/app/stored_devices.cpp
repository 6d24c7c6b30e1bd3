// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/stored_devices.hpp"

#include <fmt/format.h>

#include <optional>

#include "cache/base/ascii.hpp"
#include "cache/base/error.hpp"

namespace tilewright::app {
namespace {

/// Shared memory that a block may opt into, by compute capability (CUDA C++ Programming Guide, technical
/// specifications).
std::int64_t shared_optin_of(int compute_capability) {
  switch (compute_capability) {
    case 80:
    case 87:
      return 163 * 1024;
    case 86:
    case 89:
    case 120:
    case 121:
      return 99 * 1024;
    default:
      return compute_capability < 80 ? 64 * 1024 : 227 * 1024;
  }
}

}  // namespace

DeviceFacts facts_of_arch(const std::string& arch) {
  DeviceFacts facts = emulator_facts();
  if (arch == "cpu") return facts;
  const std::optional<Arch> known = arch_from(arch);
  if (!known || known->number < 70) {
    throw UsageError(fmt::format("'{}' is no architecture{}; write sm_80, sm_90a or cpu", arch,
                                 suggestion(arch, {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "cpu"})));
  }
  facts.name = arch;
  facts.compute_capability = known->number;
  facts.shared_per_block_optin = shared_optin_of(facts.compute_capability);
  return facts;
}

std::vector<DeviceFacts> choose_devices(const Store& store, const std::string& name) {
  std::vector<DeviceFacts> devices = store.devices();
  if (name.empty()) return devices;
  if (name == "cpu") return {emulator_facts()};
  if (name.rfind("sm_", 0) == 0) return {facts_of_arch(name)};

  std::vector<DeviceFacts> same;
  std::vector<DeviceFacts> containing;
  std::vector<std::string> known{"cpu"};
  for (const DeviceFacts& device : devices) {
    if (lower(device.name) == lower(name) || device.fingerprint() == name) same.push_back(device);
    if (lower(device.fingerprint()).find(lower(name)) != std::string::npos) containing.push_back(device);
    if (!device.is_cpu()) known.push_back(device.name);
  }
  if (!same.empty()) return same;
  if (!containing.empty()) return containing;
  throw UsageError(
      fmt::format("the cache {} knows no device '{}'{}; this verb opens no device, so name one of the cache "
                  "(`tilewright list devices`), or an architecture such as sm_90",
                  store.path().string(), name, suggestion(name, known)));
}

}  // namespace tilewright::app
