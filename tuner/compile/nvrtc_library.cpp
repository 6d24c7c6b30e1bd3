// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/nvrtc_library.hpp"

#include "cache/base/error.hpp"
#include "tuner/compile/nvrtc_table.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <system_error>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr int kOldestMajor = 12;
constexpr const char* kAdvice =
    "Install a CUDA toolkit, or `pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl`, "
    "or set TILEWRIGHT_NVRTC to the path of libnvrtc.so";

// The file that a handle was loaded from. For a bare name only the loader knows it.
fs::path loaded_from(void* handle, const fs::path& otherwise) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return otherwise;
  return map->l_name != nullptr && *map->l_name != '\0' ? fs::path(map->l_name) : otherwise;
}

// libnvrtc.alt.so has the same interface, but a 32-bit device `long`, which would misread pointers and sizes.
bool is_alternative(const fs::path& path) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  for (const fs::path& name : {path.filename(), real.filename()}) {
    if (name.string().starts_with("libnvrtc.alt.")) return true;
  }
  return false;
}

// Looks up one entry point. Notes the first missing name in `missing`.
template <class Function>
void look_up(void* handle, const char* name, Function& entry, std::string& missing) {
  entry = reinterpret_cast<Function>(dlsym(handle, name));
  if (entry == nullptr && missing.empty()) missing = name;
}

// The table of an opened library. `missing` names the first entry point that the library lacks.
NvrtcTable read_table(void* handle, std::string& missing) {
  NvrtcTable table;
  look_up(handle, "nvrtcVersion", table.version, missing);
  look_up(handle, "nvrtcGetErrorString", table.error_string, missing);
  look_up(handle, "nvrtcGetNumSupportedArchs", table.arch_count, missing);
  look_up(handle, "nvrtcGetSupportedArchs", table.archs, missing);
  look_up(handle, "nvrtcCreateProgram", table.create, missing);
  look_up(handle, "nvrtcDestroyProgram", table.destroy, missing);
  look_up(handle, "nvrtcAddNameExpression", table.add_name, missing);
  look_up(handle, "nvrtcGetLoweredName", table.lowered_name, missing);
  look_up(handle, "nvrtcCompileProgram", table.compile, missing);
  look_up(handle, "nvrtcGetProgramLogSize", table.log_size, missing);
  look_up(handle, "nvrtcGetProgramLog", table.log, missing);
  look_up(handle, "nvrtcGetCUBINSize", table.cubin_size, missing);
  look_up(handle, "nvrtcGetCUBIN", table.cubin, missing);
  look_up(handle, "nvrtcGetPTXSize", table.ptx_size, missing);
  look_up(handle, "nvrtcGetPTX", table.ptx, missing);
  return table;
}

// Opens one candidate and fills the report. On failure returns null, and `outcome` tells why.
std::shared_ptr<const NvrtcTable> open_candidate(const NvrtcCandidate& candidate, NvrtcReport& report,
                                                 std::string& outcome) {
  if (is_alternative(candidate.path)) {
    outcome = "refused: libnvrtc.alt.so has a 32-bit long; name libnvrtc.so instead";
    return nullptr;
  }
  void* handle = dlopen(candidate.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* words = dlerror();
    outcome = words == nullptr ? "cannot be opened" : words;
    if (outcome.starts_with(candidate.path.string() + ": cannot open shared object file")) outcome = "not there";
    return nullptr;
  }
  std::string missing;
  auto table = std::make_shared<NvrtcTable>(read_table(handle, missing));
  if (!missing.empty()) {
    outcome = fmt::format("has no {}: not an NVRTC, or older than {}.0", missing, kOldestMajor);
    return nullptr;
  }
  int major = 0, minor = 0;
  if (table->version(&major, &minor) != NvrtcResult::success || major < kOldestMajor) {
    outcome = fmt::format("NVRTC {}.{}; {}.0 or newer is needed", major, minor, kOldestMajor);
    return nullptr;
  }
  report.library = loaded_from(handle, candidate.path);
  report.found_by = candidate.found_by;
  report.major = major;
  report.minor = minor;
  outcome = "used";
  return table;
}

std::string why_none(const NvrtcSearchPlaces& places, const NvrtcReport& report) {
  if (!places.library.empty()) {
    return fmt::format(
        "NVRTC cannot be used: TILEWRIGHT_NVRTC is {}: {}. Unset it, or set it to the path of "
        "libnvrtc.so",
        places.library.string(),
        report.attempts.empty() ? "a folder without libnvrtc.so" : report.attempts.front().outcome);
  }
  std::string tried;
  for (const NvrtcReport::Attempt& attempt : report.attempts) {
    if (attempt.outcome != "not there") tried += fmt::format("; {}: {}", attempt.place, attempt.outcome);
  }
  std::string folders;
  for (const fs::path& folder : nvrtc_folders(places)) folders += (folders.empty() ? "" : ", ") + folder.string();
  return fmt::format("no NVRTC was found, so nothing can be compiled for a GPU. Looked {}{}{}. {}",
                     places.loader ? "on the loader path" : "nowhere but in CUDA_HOME and CUDA_PATH",
                     folders.empty() ? "" : " and in " + folders, tried, kAdvice);
}

}  // namespace

std::string NvrtcReport::version() const { return fmt::format("NVRTC {}.{}", major, minor); }

std::shared_ptr<const NvrtcLibrary> NvrtcLibrary::find(const NvrtcSearchPlaces& places, NvrtcReport* report) {
  std::shared_ptr<NvrtcLibrary> found(new NvrtcLibrary);
  NvrtcReport& own = found->report_;
  for (const NvrtcCandidate& candidate : nvrtc_candidates(places)) {
    std::string outcome;
    found->table_ = open_candidate(candidate, own, outcome);
    own.attempts.push_back({candidate.path.string(), outcome});
    if (found->table_ != nullptr) break;
  }
  if (found->table_ == nullptr) {
    own.why = why_none(places, own);
  } else {
    own.include_dirs = cuda_include_dirs(own.library, own.major, own.minor, places);
    if (own.include_dirs.empty()) {
      own.why_no_headers = fmt::format(
          "{} is at {}, but no cuda_fp16.h was found near it, in CUDA_HOME, CUDA_PATH, an installed toolkit or a pip "
          "wheel, so kernels cannot be compiled. {}",
          own.version(), own.library.string(), kAdvice);
    }
  }
  if (report != nullptr) *report = own;
  return found->table_ == nullptr ? nullptr : found;
}

std::shared_ptr<const NvrtcLibrary> NvrtcLibrary::open() {
  NvrtcReport report;
  auto library = find(nvrtc_search_places(), &report);
  if (library == nullptr) throw Error(report.why);
  return library;
}

std::vector<int> NvrtcLibrary::architectures() const {
  int count = 0;
  if (table_->arch_count(&count) != NvrtcResult::success || count <= 0) return {};
  std::vector<int> archs(static_cast<std::size_t>(count));
  if (table_->archs(archs.data()) != NvrtcResult::success) return {};
  return archs;
}

}  // namespace tilewright
