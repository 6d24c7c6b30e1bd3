// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tuner/compile/nvrtc_search.hpp"

/// NVRTC, opened at run time, so that one binary also runs without it. Keeps the places tried and the one found for
/// `tilewright doctor`. Immutable; any number of threads may share it. The library stays loaded for the life of the
/// process, because NVRTC does not survive dlclose.
namespace tilewright {

/// The library's entry points (nvrtc_table.hpp), only for this folder's sources.
struct NvrtcTable;

/// The result of a search, complete with or without an NVRTC.
struct NvrtcReport {
  /// Empty if none is usable; `why` then says so.
  std::filesystem::path library;
  /// As in NvrtcCandidate.
  std::string found_by;
  int major = 0;
  int minor = 0;
  /// The first has cuda_fp16.h. Empty if there is none; `why_no_headers` then says so.
  std::vector<std::filesystem::path> include_dirs;
  struct Attempt {
    std::string place;
    /// "used", "not there", or the loader's message.
    std::string outcome;
  };
  std::vector<Attempt> attempts;
  /// The missing part, its consequence and the remedy; empty if nothing is missing.
  std::string why;
  std::string why_no_headers;

  [[nodiscard]] bool usable() const noexcept { return !library.empty(); }
  /// As "NVRTC 13.0".
  [[nodiscard]] std::string version() const;
};

class NvrtcLibrary {
 public:
  /// Opens the first candidate that the loader accepts and that is new enough (12.0); null if there is none. Fills
  /// `report` in both cases, unless it is null.
  [[nodiscard]] static std::shared_ptr<const NvrtcLibrary> find(const NvrtcSearchPlaces& places,
                                                                NvrtcReport* report = nullptr);
  /// As find(), with the places of the environment. Throws Error with the report's `why` if there is none.
  [[nodiscard]] static std::shared_ptr<const NvrtcLibrary> open();

  [[nodiscard]] const NvrtcReport& report() const noexcept { return report_; }
  [[nodiscard]] const NvrtcTable& table() const noexcept { return *table_; }
  /// The architectures it compiles for: 75, 80, 90…
  [[nodiscard]] std::vector<int> architectures() const;

 private:
  NvrtcLibrary() = default;
  std::shared_ptr<const NvrtcTable> table_;
  NvrtcReport report_;
};

}  // namespace tilewright
