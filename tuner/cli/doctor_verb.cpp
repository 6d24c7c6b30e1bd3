// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cache/driver/cuda.hpp"
#include "cache/driver/nvml.hpp"
#include "cache/error.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/compile/host_compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"
#include "tuner/kernels_dir.hpp"
#include "tuner/report/units.hpp"

namespace tilewright::cli {
namespace {

/// One part of the machine: what was found, or what it costs that it was not.
struct Finding {
  std::string part;
  bool found = false;
  std::string what;
  std::string where;
  /// Why it is not there, what that costs and what to do; empty when it is.
  std::string missing;
};

/// One GPU and its NVML. A GPU that cannot be asked (in use exclusively, say) is a finding, too.
void look_at_gpu(const cuda::Driver& driver, int index, std::vector<Finding>& findings) {
  const std::string gpu = fmt::format("GPU cuda:{}", index);
  try {
    const std::string uuid = driver.uuid(index);
    findings.push_back({gpu, true, driver.facts(index).fingerprint(), uuid, ""});
    const Nvml nvml(uuid);
    const std::string part = fmt::format("NVML cuda:{}", index);
    if (nvml.why().empty()) {
      findings.push_back({part, true, "clock, temperature and power", "", ""});
    } else {
      findings.push_back({part, false, "", "", nvml.why() + ". Without it trials have no clock and temperature."});
    }
  } catch (const DeviceError& error) {
    findings.push_back({gpu, false, "", "", fmt::format("{}. It cannot be tuned for now.", error.what())});
  }
}

std::vector<Finding> look_at_gpus() {
  std::string why;
  const cuda::Driver* driver = cuda::Driver::find(&why);
  if (driver == nullptr) {
    return {{"CUDA driver", false, "", "",
             why + ". Without it no GPU can be tuned for or launched on; the emulator and all "
                   "that reads the cache work."}};
  }
  const int version = driver->version();
  const int count = driver->device_count();
  std::vector<Finding> findings{
      {"CUDA driver", true, fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10), driver->path(), ""}};
  if (count == 0) {
    findings.push_back({"GPU", false, "", "",
                        "The driver sees no GPU (see CUDA_VISIBLE_DEVICES and nvidia-smi). Without one, "
                        "tune on the emulator: --device cpu."});
  }
  for (int i = 0; i < count; ++i) look_at_gpu(*driver, i, findings);
  return findings;
}

std::vector<Finding> look_at_nvrtc() {
  NvrtcReport report;
  (void)NvrtcLibrary::find(nvrtc_search_places(), &report);
  std::vector<Finding> findings;
  if (!report.usable()) {
    std::string tried;
    for (const NvrtcReport::Attempt& attempt : report.attempts) {
      tried += fmt::format("{}{}: {}", tried.empty() ? " Tried: " : "; ", attempt.place, attempt.outcome);
    }
    findings.push_back({"NVRTC", false, "", "", report.why + tried});
    return findings;
  }
  findings.push_back(
      {"NVRTC", true, fmt::format("{}, from {}", report.version(), report.found_by), report.library.string(), ""});
  const bool headers = !report.include_dirs.empty();
  findings.push_back({"CUDA headers", headers,
                      headers ? "CUDA " + std::to_string(cuda_version_of(report.include_dirs.front()) / 1000) : "",
                      headers ? report.include_dirs.front().string() : "", report.why_no_headers});
  return findings;
}

Finding look_at_host_compiler() {
  try {
    const HostCompiler compiler;
    return {"C++ compiler", true, compiler.version() + " (for the emulator)", "", ""};
  } catch (const Error& error) {
    return {"C++ compiler", false, "", "",
            fmt::format("{} Without it the emulator (--device cpu) cannot run; GPUs need none.", error.what())};
  }
}

Finding look_at_ops(const Arguments& arguments) {
  try {
    const Catalogue catalogue = open_catalogue(arguments);
    return {"ops", true, fmt::format("{}", fmt::join(catalogue.names(), ", ")), catalogue.builtin_dir().string(), ""};
  } catch (const Error& error) {
    return {"ops", false, "", "",
            fmt::format("{} Without ops nothing can be tuned; launching needs none.", error.what())};
  }
}

/// A cache that is not there yet is no fault; one that cannot be read is.
Finding look_at_cache(const Arguments& arguments, bool& sound) {
  const std::filesystem::path path = cache_path(arguments);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return {"cache", false, "", path.string(), "There is none yet; the first sweep makes it."};
  }
  try {
    const Store store(path, {.access = StoreAccess::read});
    store.check();
    const Store::Counts counts = store.counts();
    return {"cache", true,
            fmt::format("schema {}; {} ops, {} devices, {} problems, {} trials, {} winners, {} binaries ({})",
                        counts.schema, store.ops().size(), counts.devices, counts.problems, counts.trials,
                        counts.winners, counts.binaries, show_bytes(static_cast<double>(counts.binary_bytes))),
            path.string(), ""};
  } catch (const CacheError& error) {
    sound = false;
    return {"cache", false, "", path.string(), error.what()};
  }
}

bool found(const std::vector<Finding>& findings, const std::string& prefix) {
  for (const Finding& finding : findings) {
    if (finding.found && finding.part.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

ExitCode run(const Arguments& arguments, Console& console) {
  arguments.require_at_most(0);
  const Format format = format_of(arguments);
  std::vector<Finding> findings = look_at_gpus();
  for (Finding& finding : look_at_nvrtc()) findings.push_back(std::move(finding));
  findings.push_back(look_at_host_compiler());
  findings.push_back(look_at_ops(arguments));
  bool sound = true;
  findings.push_back(look_at_cache(arguments, sound));

  Table table;
  table.title = "What Tilewright finds on this machine";
  table.columns = {{"part", "part"},
                   {"found", "found"},
                   {"what", "what", Unit::none, Shown::everywhere, false, true},
                   {"where", "where"},
                   {"missing", "", Unit::none, Shown::programs}};
  for (const Finding& finding : findings) {
    table.rows.push_back({finding.part, finding.found, finding.what, finding.where, finding.missing});
    if (!finding.missing.empty()) table.notes.push_back(fmt::format("{}: {}", finding.part, finding.missing));
  }
  const bool on_gpu = found(findings, "GPU") && found(findings, "NVRTC") && found(findings, "CUDA headers");
  const bool emulated = found(findings, "C++ compiler");
  const bool tunes = (on_gpu || emulated) && found(findings, "ops");
  table.notes.push_back(on_gpu  ? "Ready to tune on a GPU: tilewright sweep softmax"
                        : tunes ? "Ready to tune on the emulator: tilewright sweep softmax --device cpu"
                                : "Nothing can be tuned here until what is missing is brought.");
  console.print(table, format);
  return tunes && sound ? ExitCode::done : ExitCode::failed;
}

}  // namespace

Verb doctor_verb() {
  Verb verb;
  verb.name = "doctor";
  verb.summary = "Say what was found on this machine, where, and what each missing part costs";
  verb.usage = "[OPTION...]";
  verb.description = {"Driver, GPUs, NVML, NVRTC, CUDA headers, the emulator's compiler, the ops and the cache."};
  verb.options = {kOps, kCache, kFormat};
  verb.examples = {{"tilewright doctor --format json", "For a bug report."}};
  verb.exit_codes = "0 something can be tuned here and the cache is sound, 1 not, 2 the command line is wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
