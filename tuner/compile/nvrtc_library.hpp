// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tuner/compile/nvrtc_search.hpp"

/// NVRTC, opened at run time: one binary runs where there is none, too. The places tried, and the one found, are kept
/// for `tilewright doctor`. An opened library stays loaded for the life of the process: NVRTC does not survive dlclose.
/// Immutable; shared by any number of threads.
namespace tilewright {

/// Entry points of the library; nvrtc_table.hpp, for the sources of this folder alone.
struct NvrtcTable;

/// The result of a search. Complete whether or not there is an NVRTC.
struct NvrtcReport {
  /// Empty: none can be used, and `why` says so.
  std::filesystem::path library;
  /// As in NvrtcCandidate.
  std::string found_by;
  int major = 0;
  int minor = 0;
  /// With cuda_fp16.h in the first; empty when there is none, and `why_no_headers` says so.
  std::vector<std::filesystem::path> include_dirs;
  struct Attempt {
    std::string place;
    /// "used", "not there", or the loader's words.
    std::string outcome;
  };
  std::vector<Attempt> attempts;
  /// The missing part, its cost and the remedy; empty when nothing is missing.
  std::string why;
  std::string why_no_headers;

  [[nodiscard]] bool usable() const noexcept { return !library.empty(); }
  /// "NVRTC 13.0"
  [[nodiscard]] std::string version() const;
};

class NvrtcLibrary {
 public:
  /// Opens the first candidate that the loader accepts and that is new enough (12.0); nothing when there is none.
  /// `report`, when given, is filled either way.
  [[nodiscard]] static std::shared_ptr<const NvrtcLibrary> find(const NvrtcSearchPlaces& places,
                                                                NvrtcReport* report = nullptr);
  /// As find with the places of the environment; throws Error with the report's `why` when there is none.
  [[nodiscard]] static std::shared_ptr<const NvrtcLibrary> open();

  [[nodiscard]] const NvrtcReport& report() const noexcept { return report_; }
  [[nodiscard]] const NvrtcTable& table() const noexcept { return *table_; }
  /// Its targets: 75, 80, 90…
  [[nodiscard]] std::vector<int> architectures() const;

 private:
  NvrtcLibrary() = default;
  std::shared_ptr<const NvrtcTable> table_;
  NvrtcReport report_;
};

}  // namespace tilewright
