// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// The places of NVRTC and the CUDA headers, in search order: TILEWRIGHT_NVRTC, the loader path, CUDA_HOME and
/// CUDA_PATH, /usr/local/cuda*, then pip's folders of the nvidia-cuda-nvrtc wheels. Only builds and looks up names;
/// nvrtc_library.hpp opens the files. Pure but for reading folders; any thread may call.
namespace tilewright {

/// The places of one machine. nvrtc_search_places() fills them from the environment.
struct NvrtcSearchPlaces {
  /// TILEWRIGHT_NVRTC: the library or its folder. If set, no other library is tried.
  std::filesystem::path library;
  /// Whether to ask the loader for the library by name.
  bool loader = true;
  /// CUDA_HOME and CUDA_PATH.
  std::vector<std::filesystem::path> homes;
  /// Installed toolkits, newest first.
  std::vector<std::filesystem::path> toolkits;
  /// Python's site-packages folders.
  std::vector<std::filesystem::path> site_packages;
};

/// With TILEWRIGHT_HIDE_CUDA=1 only TILEWRIGHT_NVRTC, CUDA_HOME and CUDA_PATH count. This hides the machine's
/// installations, to test other ways of providing NVRTC.
[[nodiscard]] NvrtcSearchPlaces nvrtc_search_places();

/// A path, or a bare name for the loader.
struct NvrtcCandidate {
  std::filesystem::path path;
  /// "TILEWRIGHT_NVRTC", "the loader path", "CUDA_HOME or CUDA_PATH", "an installed toolkit", "a pip wheel".
  std::string found_by;
};

/// The candidates in search order. Files exist, except the one that TILEWRIGHT_NVRTC names and bare names. Does not
/// look for libnvrtc.alt.so, whose `long` has 32 bits.
[[nodiscard]] std::vector<NvrtcCandidate> nvrtc_candidates(const NvrtcSearchPlaces& places);

/// All folders searched, for the report of a failed search.
[[nodiscard]] std::vector<std::filesystem::path> nvrtc_folders(const NvrtcSearchPlaces& places);

/// Include folders for a library of this version: one with cuda_fp16.h, and the CCCL headers. Searches beside the
/// library, then the toolkits and wheels. Prefers the first with a cuda.h of the same version, then of the same major
/// version, then any. Empty if there is none.
[[nodiscard]] std::vector<std::filesystem::path> cuda_include_dirs(const std::filesystem::path& library, int major,
                                                                   int minor, const NvrtcSearchPlaces& places);

/// CUDA_VERSION in an include folder's cuda.h (13000), or 0 if it cannot be read.
[[nodiscard]] int cuda_version_of(const std::filesystem::path& include_dir);

}  // namespace tilewright
