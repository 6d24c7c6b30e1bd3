// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/store/import.hpp"
#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/export/trial_records.hpp"
#include "tuner/report/table.hpp"

/// Winners to be shipped, or trials for other programs. Each throws UsageError for what the cache does not have, Error
/// where there is nothing to export; then nothing was written.
namespace tilewright::app {

struct ExportRequest {
  Place place;
  /// Ops, with problems that agree with all names; none: all ops.
  std::vector<ProblemWords> problems;
  /// As choose_devices() takes it; empty: all.
  std::string device;
  /// Filters of texts alone; empty, nothing: all.
  std::vector<DType> dtypes;
  std::optional<MeasureMode> mode;
};

struct Exported {
  /// An op and a device a line.
  std::vector<OpCounts> lines;
  /// First the files written, then the winners left behind.
  std::vector<std::string> notes;
};
/// The same as a table, for people and programs.
[[nodiscard]] Table table_of(const Exported& exported, const Place& place);

/// A cache of its own: of the winners, or, of a recording, of all trials.
[[nodiscard]] Exported export_cache(const ExportRequest& request, const std::filesystem::path& file, bool recording);

/// All trials of the ops that are named, as packs in a folder (cache/store/pack/pack.hpp); `tell` hears of each.
[[nodiscard]] Exported export_packs(const ExportRequest& request, const std::filesystem::path& folder,
                                    const std::function<void(const std::string&)>& tell);

/// The files of applications: a bundle is written in its place, a header's text through `write`. `file` is what it is
/// called in notes.
enum class RowsForm : std::uint8_t { bundle, header };
[[nodiscard]] Exported export_rows(const ExportRequest& request, RowsForm form, const std::filesystem::path& file,
                                   const Write& write);

enum class TextForm : std::uint8_t { csv, json_lines, t4, google_benchmark };
/// Writes piece by piece. Its notes do not name a file.
[[nodiscard]] Exported export_text(const ExportRequest& request, TextForm form, const Write& write);

/// The fewest configs that serve each shape within `ratio` of its best; written as rows where there is a form.
[[nodiscard]] Table cover(const ExportRequest& request, double ratio, std::optional<RowsForm> form,
                          const std::filesystem::path& file, const Write& write);

}  // namespace tilewright::app
