// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// The places of NVRTC and the CUDA headers, in the order of looking: TILEWRIGHT_NVRTC, the loader path, CUDA_HOME and
/// CUDA_PATH, /usr/local/cuda*, then the folders into which pip puts the nvidia-cuda-nvrtc wheels. Only names are made
/// and looked up here; nvrtc_library.hpp opens the files. Pure but for reading folders; any thread may call.
namespace tilewright {

/// The places of one machine. Filled from the environment by `nvrtc_search_places`, by hand in tests.
struct NvrtcSearchPlaces {
  /// TILEWRIGHT_NVRTC: the library itself, or its folder. When given, no other library is tried.
  std::filesystem::path library;
  /// Ask the loader for the library by its name.
  bool loader = true;
  /// CUDA_HOME and CUDA_PATH.
  std::vector<std::filesystem::path> homes;
  /// Installed toolkits, the newest first.
  std::vector<std::filesystem::path> toolkits;
  /// Python's site-packages folders.
  std::vector<std::filesystem::path> site_packages;
};

/// With TILEWRIGHT_HIDE_CUDA=1 only TILEWRIGHT_NVRTC, CUDA_HOME and CUDA_PATH count: what the machine has installed is
/// hidden, so that other ways of bringing NVRTC can be tested on it.
[[nodiscard]] NvrtcSearchPlaces nvrtc_search_places();

/// One thing to try: a path, or a bare name for the loader to find.
struct NvrtcCandidate {
  std::filesystem::path path;
  /// "TILEWRIGHT_NVRTC", "the loader path", "CUDA_HOME or CUDA_PATH", "an installed toolkit", "a pip wheel".
  std::string found_by;
};

/// The paths to try, in order. Paths are of files that exist, except the one that TILEWRIGHT_NVRTC names and bare
/// names. libnvrtc.alt.so is never among them: its `long` has 32 bits.
[[nodiscard]] std::vector<NvrtcCandidate> nvrtc_candidates(const NvrtcSearchPlaces& places);

/// Every folder in which a library was looked for, for the report of a search that found nothing.
[[nodiscard]] std::vector<std::filesystem::path> nvrtc_folders(const NvrtcSearchPlaces& places);

/// Folders with cuda_fp16.h and what it includes that go with a library of this version: beside the library first, then
/// wherever a toolkit is; of several, the first whose cuda.h has the same version, else the first of the same major
/// version, else the first. Empty when there is none.
[[nodiscard]] std::vector<std::filesystem::path> cuda_include_dirs(const std::filesystem::path& library, int major,
                                                                   int minor, const NvrtcSearchPlaces& places);

/// CUDA_VERSION of an include folder's cuda.h (13000), 0 when it cannot be read.
[[nodiscard]] int cuda_version_of(const std::filesystem::path& include_dir);

}  // namespace tilewright
