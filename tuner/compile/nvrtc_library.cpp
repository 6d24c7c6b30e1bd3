// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/nvrtc_library.hpp"

#include "cache/base/error.hpp"
#include "tuner/compile/nvrtc_table.hpp"

#include <fmt/format.h>

#include <system_error>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr int kOldestMajor = 12;
constexpr const char* kAdvice =
    "Install a CUDA toolkit, or `pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl`, "
    "or set TILEWRIGHT_NVRTC to the path of libnvrtc.so";

// libnvrtc.alt.so has the same interface, but a 32-bit device `long`, which would misread pointers and sizes.
bool is_alternative(const fs::path& path) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  for (const fs::path& name : {path.filename(), real.filename()}) {
    if (name.string().starts_with("libnvrtc.alt.")) return true;
  }
  return false;
}

// Opens one candidate and fills the report. On failure returns null, and `outcome` tells why.
std::shared_ptr<const NvrtcTable> open_candidate(const NvrtcCandidate& candidate, NvrtcReport& report,
                                                 std::string& outcome) {
  if (is_alternative(candidate.path)) {
    outcome = "refused: libnvrtc.alt.so has a 32-bit long; name libnvrtc.so instead";
    return nullptr;
  }
  auto table = std::make_shared<NvrtcTable>(candidate.path.string());
  SharedLibrary& library = table->library;
  if (!library) {
    outcome = library.why();
    if (outcome.starts_with(candidate.path.string() + ": cannot open shared object file")) outcome = "not there";
    return nullptr;
  }
  if (!library.missing().empty()) {
    outcome = fmt::format("has no {}: not an NVRTC, or older than {}.0", library.missing().front(), kOldestMajor);
    return nullptr;
  }
  int major = 0, minor = 0;
  if (table->version(&major, &minor) != NvrtcResult::success || major < kOldestMajor) {
    outcome = fmt::format("NVRTC {}.{}; {}.0 or newer is needed", major, minor, kOldestMajor);
    return nullptr;
  }
  report.library = library.loaded_from();
  // NVRTC does not survive dlclose once it has compiled.
  library.keep_loaded();
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
