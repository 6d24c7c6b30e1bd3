// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/nvrtc_search.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "cache/base/environment.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// Newest first: kernels gain from a newer compiler more often than they lose.
constexpr const char* kLibraryNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

// The folder's entries whose names begin with `prefix`, in reverse natural order (cuda-13.0 before cuda-9.2).
std::vector<fs::path> entries(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string left = a.filename().string(), right = b.filename().string();
    return left.size() != right.size() ? left.size() > right.size() : left > right;
  });
  return found;
}

void add_site_packages(std::vector<fs::path>& places, const fs::path& prefix) {
  for (const fs::path& python : entries(prefix / "lib", "python3")) {
    for (const char* name : {"site-packages", "dist-packages"}) {
      const fs::path place = python / name;
      if (is_there(place) && std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
  }
}

// The site-packages of each python3 on the PATH, of active environments and of pyenv. Runs no Python, which would take
// longer than the rest of the search.
std::vector<fs::path> python_site_packages() {
  std::vector<fs::path> places;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix(environment(name)); !prefix.empty()) add_site_packages(places, prefix);
  }
  const std::string path(environment("PATH"));
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path folder = path.substr(begin, end - begin);
    begin = end + 1;
    if (folder.empty() || !is_there(folder / "python3")) continue;
    // A virtual environment's python3 links out of it: search its own folder, then the link's target.
    add_site_packages(places, folder.parent_path());
    std::error_code failed;
    const fs::path real = fs::canonical(folder / "python3", failed);
    if (!failed) add_site_packages(places, real.parent_path().parent_path());
  }
  const std::string home(environment("HOME"));
  const std::string pyenv(environment("PYENV_ROOT"));
  if (!home.empty()) add_site_packages(places, fs::path(home) / ".local");
  if (!pyenv.empty() || !home.empty()) {
    for (const fs::path& version :
         entries((pyenv.empty() ? fs::path(home) / ".pyenv" : fs::path(pyenv)) / "versions", ""))
      add_site_packages(places, version);
  }
  return places;
}

// The library folders of a toolkit, an unpacked wheel or a distribution.
std::vector<fs::path> library_folders(const fs::path& home) {
  return {home / "lib64", home / "lib", home / "targets/x86_64-linux/lib", home / "targets/sbsa-linux/lib"};
}

std::vector<fs::path> wheel_folders(const fs::path& site_packages) {
  return {site_packages / "nvidia/cu13/lib", site_packages / "nvidia/cuda_nvrtc/lib"};
}

// One candidate per folder: the names are versions of one library, and the newest is used.
void add_folder(std::vector<NvrtcCandidate>& candidates, const fs::path& folder, const char* found_by) {
  for (const char* name : kLibraryNames) {
    if (!is_there(folder / name)) continue;
    candidates.push_back({folder / name, found_by});
    return;
  }
}

// `include_dir`, and the folder of nv/target (CCCL), which cuda_fp16.h includes, if it lies elsewhere.
std::vector<fs::path> with_cccl(const fs::path& include_dir) {
  std::vector<fs::path> dirs{include_dir};
  for (const fs::path& place : {include_dir, include_dir / "cccl", include_dir / "../../cuda_cccl/include"}) {
    if (!is_there(place / "nv/target")) continue;
    if (place != include_dir) dirs.push_back(place.lexically_normal());
    break;
  }
  return dirs;
}

}  // namespace

NvrtcSearchPlaces nvrtc_search_places() {
  NvrtcSearchPlaces places;
  places.library = environment("TILEWRIGHT_NVRTC");
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string home(environment(name)); !home.empty()) places.homes.emplace_back(home);
  }
  if (is_set("TILEWRIGHT_HIDE_CUDA")) {
    places.loader = false;
    return places;
  }
  if (is_there("/usr/local/cuda")) places.toolkits.emplace_back("/usr/local/cuda");
  for (const fs::path& toolkit : entries("/usr/local", "cuda-")) places.toolkits.push_back(toolkit);
  places.site_packages = python_site_packages();
  return places;
}

std::vector<NvrtcCandidate> nvrtc_candidates(const NvrtcSearchPlaces& places) {
  std::vector<NvrtcCandidate> candidates;
  if (!places.library.empty()) {
    std::error_code failed;
    if (!fs::is_directory(places.library, failed)) return {{places.library, "TILEWRIGHT_NVRTC"}};
    add_folder(candidates, places.library, "TILEWRIGHT_NVRTC");
    return candidates;
  }
  if (places.loader) {
    for (const char* name : kLibraryNames) candidates.push_back({name, "the loader path"});
  }
  for (const fs::path& home : places.homes) {
    for (const fs::path& folder : library_folders(home)) add_folder(candidates, folder, "CUDA_HOME or CUDA_PATH");
  }
  for (const fs::path& toolkit : places.toolkits) {
    for (const fs::path& folder : library_folders(toolkit)) add_folder(candidates, folder, "an installed toolkit");
  }
  for (const fs::path& site : places.site_packages) {
    for (const fs::path& folder : wheel_folders(site)) add_folder(candidates, folder, "a pip wheel");
  }
  return candidates;
}

std::vector<fs::path> nvrtc_folders(const NvrtcSearchPlaces& places) {
  if (!places.library.empty()) return {places.library};
  std::vector<fs::path> folders;
  for (const auto* homes : {&places.homes, &places.toolkits}) {
    for (const fs::path& home : *homes) {
      for (const fs::path& folder : library_folders(home)) folders.push_back(folder);
    }
  }
  for (const fs::path& site : places.site_packages) {
    for (const fs::path& folder : wheel_folders(site)) folders.push_back(folder);
  }
  return folders;
}

int cuda_version_of(const fs::path& include_dir) {
  static constexpr std::string_view kDefinition = "#define CUDA_VERSION ";
  std::ifstream file(include_dir / "cuda.h");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kDefinition)) return std::atoi(line.c_str() + kDefinition.size());
  }
  return 0;
}

std::vector<fs::path> cuda_include_dirs(const fs::path& library, int major, int minor,
                                        const NvrtcSearchPlaces& places) {
  std::vector<fs::path> dirs;
  std::error_code failed;
  // Beside the library as named, and beside the file that the name links to (targets/x86_64-linux/lib).
  for (const fs::path& file : {library, fs::canonical(library, failed)}) {
    const fs::path folder = file.parent_path();
    if (folder.empty()) continue;
    dirs.push_back(folder / "../include");
    dirs.push_back(folder / "../../include");
    dirs.push_back(folder / "../../cuda_runtime/include");
  }
  for (const auto* homes : {&places.homes, &places.toolkits}) {
    for (const fs::path& home : *homes) {
      dirs.push_back(home / "include");
      dirs.push_back(home / "targets/x86_64-linux/include");
    }
  }
  for (const fs::path& site : places.site_packages) {
    dirs.push_back(site / "nvidia/cu13/include");
    dirs.push_back(site / "nvidia/cuda_runtime/include");
  }
  if (places.loader) dirs.emplace_back("/usr/include");

  const fs::path* best = nullptr;
  int best_rank = 0;
  for (fs::path& dir : dirs) {
    dir = dir.lexically_normal();
    if (!is_there(dir / "cuda_fp16.h")) continue;
    const int version = cuda_version_of(dir);
    const int rank = version / 1000 != major ? 1 : version % 1000 / 10 != minor ? 2 : 3;
    if (rank > best_rank) {
      best_rank = rank;
      best = &dir;
    }
  }
  return best == nullptr ? std::vector<fs::path>() : with_cccl(*best);
}

}  // namespace tilewright
