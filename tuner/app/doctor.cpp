// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/doctor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "cache/base/descriptor.hpp"
#include "cache/base/error.hpp"
#include "cache/base/version.hpp"
#include "cache/driver/cuda.hpp"
#include "cache/driver/nvml.hpp"
#include "cache/model/records.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/app/doctor_cache.hpp"
#include "tuner/app/doctor_pulled.hpp"
#include "tuner/app/service_lock.hpp"
#include "tuner/compile/host_compiler.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"

namespace tilewright::app {
namespace {

/// One GPU and its NVML. A GPU that cannot be queried (in exclusive use, say) is a finding, too.
void look_at_gpu(const cuda::Driver& driver, int index, std::vector<Finding>& findings) {
  const std::string gpu = fmt::format("GPU cuda:{}", index);
  try {
    const std::string uuid = driver.uuid(index);
    findings.push_back({gpu, true, driver.facts(index).fingerprint(), uuid});
    const Nvml nvml(uuid);
    const std::string part = fmt::format("NVML cuda:{}", index);
    if (nvml.why().empty()) {
      findings.push_back({part, true, "clock, temperature and power", ""});
    } else {
      findings.push_back({part, false, "", "", nvml.why() + ". Without it trials have no clock and temperature.",
                          fmt::format("nvidia-smi -i {} -q -d CLOCK,TEMPERATURE", index)});
    }
  } catch (const DeviceError& error) {
    findings.push_back({gpu, false, "", "", fmt::format("{}. It cannot be used for tuning now.", error.what()),
                        fmt::format("nvidia-smi -i {} -q -d COMPUTE,PIDS", index)});
  }
}

/// Whether an NVIDIA GPU is plugged in, with or without its software.
bool has_nvidia_gpu() {
  std::error_code ignored;
  for (const auto& device : std::filesystem::directory_iterator("/sys/bus/pci/devices", ignored)) {
    std::string vendor;
    std::string kind;
    std::ifstream(device.path() / "vendor") >> vendor;
    std::ifstream(device.path() / "class") >> kind;
    // Class 03: displays, which include GPUs without an output.
    if (vendor == "0x10de" && kind.starts_with("0x03")) return true;
  }
  return false;
}

std::vector<Finding> look_at_gpus() {
  std::string why;
  const cuda::Driver* driver = cuda::Driver::find(&why);
  if (driver == nullptr) {
    const bool chosen = std::getenv("TILEWRIGHT_LIBCUDA") != nullptr;
    return {{"CUDA driver", false, "", "",
             why + ". Without it no GPU can be tuned for or launched on; the emulator and verbs that only read the "
                   "cache work. A container needs access to its GPUs (docker run --gpus all).",
             chosen             ? "unset TILEWRIGHT_LIBCUDA"
             : has_nvidia_gpu() ? "sudo apt-get install cuda-drivers"
                                : "tilewright sweep softmax --device cpu"}};
  }
  const int count = driver->device_count();
  std::vector<Finding> findings{
      {"CUDA driver", true, fmt::format("CUDA {}", driver_text(driver->version())), driver->path()}};
  if (count == 0) {
    const bool hidden = std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
    findings.push_back({"GPU", false, "", "",
                        hidden ? "The driver sees no GPU, and CUDA_VISIBLE_DEVICES is set." : "The driver sees no GPU.",
                        hidden ? "unset CUDA_VISIBLE_DEVICES" : "nvidia-smi -L"});
  }
  for (int i = 0; i < count; ++i) look_at_gpu(*driver, i, findings);
  return findings;
}

/// NVRTC and its headers, and whether this driver loads its binaries.
std::vector<Finding> look_at_nvrtc() {
  constexpr const char* kInstall =
      "python3 -m pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl";
  NvrtcReport report;
  (void)NvrtcLibrary::find(nvrtc_search_places(), &report);
  if (!report.usable()) {
    std::string tried;
    for (const NvrtcReport::Attempt& attempt : report.attempts) {
      tried += fmt::format("{}{}: {}", tried.empty() ? " Tried: " : "; ", attempt.place, attempt.outcome);
    }
    const bool chosen = std::getenv("TILEWRIGHT_NVRTC") != nullptr;
    return {{"NVRTC", false, "", "", report.why + tried, chosen ? "unset TILEWRIGHT_NVRTC" : kInstall}};
  }
  Finding nvrtc{"NVRTC", true, fmt::format("{}, from {}", report.version(), report.found_by), report.library.string()};
  const cuda::Driver* driver = cuda::Driver::find(nullptr);
  if (driver != nullptr && driver->version() / 1000 < report.major) {
    nvrtc.wrong = fmt::format(
        "Its CUDA is newer than the driver's (CUDA {}), which may refuse its binaries. Install a driver for CUDA "
        "{}, or an older NVRTC that TILEWRIGHT_NVRTC names.",
        driver_text(driver->version()), report.major);
    nvrtc.type = fmt::format("python3 -m pip install nvidia-cuda-nvrtc-cu{0} nvidia-cuda-runtime-cu{0}",
                             driver->version() / 1000);
  }
  const bool headers = !report.include_dirs.empty();
  Finding found{"CUDA headers", headers,
                headers ? "CUDA " + std::to_string(cuda_version_of(report.include_dirs.front()) / 1000) : "",
                headers ? report.include_dirs.front().string() : "", report.why_no_headers};
  if (!headers) found.type = kInstall;
  return {std::move(nvrtc), std::move(found)};
}

Finding look_at_host_compiler() {
  try {
    const HostCompiler compiler;
    return {"C++ compiler", true, compiler.version() + " (for the emulator)", ""};
  } catch (const Error& error) {
    return {"C++ compiler",
            false,
            "",
            "",
            fmt::format("{} Without it the emulator (--device cpu) cannot run; GPUs need none.", error.what()),
            std::getenv("CXX") != nullptr ? "unset CXX" : "sudo apt-get install g++"};
  }
}

/// Reads all definitions, to report what a sweep of one would report.
Finding look_at_ops(const Place& place) {
  try {
    Catalogue catalogue = open_catalogue(place);
    Finding ops{"ops", true, fmt::format("{}", fmt::join(catalogue.names(), ", ")), catalogue.builtin_dir().string()};
    std::vector<std::string> broken;
    for (const std::string& name : catalogue.names()) {
      try {
        (void)catalogue.find(name);
      } catch (const Error&) {
        broken.push_back(name);
      }
    }
    if (!broken.empty()) {
      ops.wrong = fmt::format("The definition of {} has mistakes, so it cannot be tuned.", fmt::join(broken, ", "));
      ops.type = "tilewright list" + ops_options(place);
    }
    return ops;
  } catch (const Error& error) {
    const bool chosen = std::getenv("TILEWRIGHT_KERNELS_DIR") != nullptr;
    return {"ops",
            false,
            "",
            "",
            fmt::format("{} Without ops nothing can be tuned; launching needs none.", error.what()),
            !place.ops.empty() ? "tilewright doctor"
            : chosen           ? "unset TILEWRIGHT_KERNELS_DIR"
                               : "tilewright --version"};
  }
}

/// The GPUs and the emulator, with the versions that a sweep would store now.
std::vector<Tunable> tunable_devices() {
  std::vector<Tunable> devices;
  try {
    const cuda::Driver* driver = cuda::Driver::find(nullptr);
    for (int i = 0; driver != nullptr && i < driver->device_count(); ++i) {
      std::string fingerprint = driver->facts(i).fingerprint();
      const auto same = [&](const Tunable& other) { return other.fingerprint == fingerprint; };
      if (std::any_of(devices.begin(), devices.end(), same)) continue;
      devices.push_back({std::move(fingerprint), {driver->version(), NvrtcCompiler().version(), version()}});
    }
  } catch (const Error&) {  // Faults of GPU and NVRTC have findings of their own.
  }
  try {
    devices.push_back({emulator_facts().fingerprint(), {0, HostCompiler().version(), version()}});
  } catch (const Error&) {
  }
  return devices;
}

/// Whether `serve` could listen on its default port.
bool is_port_free() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kServicePort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int yes = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the call wants it
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// Without a home the cache has no path, which has a finding of its own.
bool is_served(const Place& place) try { return ServiceLock::is_held(cache_path(place)); } catch (const CacheError&) {
  return false;
}

/// Tells of a running service, or whether one could run; none has to.
Finding look_at_service(const Place& place) {
  const std::string where = fmt::format("127.0.0.1:{}", kServicePort);
  if (is_served(place)) return {"service", true, "one serves this cache", ""};
  if (is_port_free()) return {"service", true, "none serves this cache; `tilewright serve` can listen", where};
  return {"service",
          true,
          "none serves this cache",
          where,
          fmt::format("Another program uses port {}, so `tilewright serve` needs another one.", kServicePort),
          "tilewright serve --port 0"};
}

/// The text as a sentence: without newlines at its end, with a full stop.
std::string ended(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() || text.back() == '.' ? text : text + ".";
}

bool found(const std::vector<Finding>& findings, const std::string& prefix) {
  for (const Finding& finding : findings) {
    if (finding.found && finding.part.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

}  // namespace

DoctorResult doctor(const Place& place) {
  std::vector<Finding> findings = look_at_gpus();
  for (Finding& finding : look_at_nvrtc()) findings.push_back(std::move(finding));
  findings.push_back(look_at_host_compiler());
  findings.push_back(look_at_ops(place));
  findings.push_back(look_at_service(place));
  for (Finding& finding : look_at_pulled(place)) findings.push_back(std::move(finding));
  CacheFindings cache = look_at_cache(place, tunable_devices());
  std::move(cache.findings.begin(), cache.findings.end(), std::back_inserter(findings));

  Table table;
  table.title = "What Tilewright finds on this machine";
  table.columns = {{"part", "part"},
                   {"found", "found"},
                   {"what", "what", Unit::none, Shown::everywhere, false, true},
                   {"where", "where", Unit::none, Shown::everywhere, false, true},
                   {"wrong", "", Unit::none, Shown::programs},
                   {"type", "", Unit::none, Shown::programs}};
  for (const Finding& finding : findings) {
    table.rows.push_back({finding.part, finding.found, finding.what, finding.where, finding.wrong, finding.type});
    if (!finding.wrong.empty()) {
      table.advice.push_back({fmt::format("{}: {} Type:", finding.part, ended(finding.wrong)), {finding.type}});
    }
  }
  const bool on_gpu = found(findings, "GPU") && found(findings, "NVRTC") && found(findings, "CUDA headers");
  const bool emulated = found(findings, "C++ compiler");
  const bool tunes = (on_gpu || emulated) && found(findings, "ops");
  const std::string sweep = on_gpu ? "tilewright sweep softmax" : "tilewright sweep softmax --device cpu";
  if (tunes && cache.sound) {
    table.advice.push_back(
        {on_gpu ? "Ready to tune on a GPU:" : "Ready to tune on the emulator:", {sweep + cache_option(place)}});
  } else {
    table.advice.push_back({tunes ? "Nothing can be kept until the cache is mended; then type:"
                                  : "Nothing can be tuned here until the missing parts are installed; then type:",
                            {"tilewright doctor" + cache_option(place)}});
  }
  return {std::move(table), tunes && cache.sound};
}

}  // namespace tilewright::app
