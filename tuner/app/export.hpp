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

/// Exports winners to ship, or trials for other programs. Each function throws UsageError for words that the cache does
/// not have, Error if there is nothing to export; then nothing is written.
namespace tilewright::app {

struct ExportRequest {
  Place place;
  /// Ops, with problems that match all names; empty: all ops.
  std::vector<ProblemWords> problems;
  /// See choose_devices(); empty: all devices.
  std::string device;
  /// Filters for export_text() alone; empty and nullopt select all.
  std::vector<DType> dtypes;
  std::optional<MeasureMode> mode;
};

struct Exported {
  /// One line for each op and device.
  std::vector<OpCounts> lines;
  /// The files written, then the winners left behind.
  std::vector<std::string> notes;
};
/// The export as a table, for people and programs.
[[nodiscard]] Table table_of(const Exported& exported, const Place& place);

/// Writes a cache of the winners, or, as a recording, of all trials.
[[nodiscard]] Exported export_cache(const ExportRequest& request, const std::filesystem::path& file, bool recording);

/// Writes what a folder's packs lack of the named ops' trials (cache/store/pack/pack.hpp); `tell` is called for each.
[[nodiscard]] Exported export_packs(const ExportRequest& request, const std::filesystem::path& folder,
                                    const std::function<void(const std::string&)>& tell);

/// The files for applications. A bundle is written in the place of `file`, a header's text through `write`. Notes call
/// it `file`.
enum class RowsForm : std::uint8_t { bundle, header };
[[nodiscard]] Exported export_rows(const ExportRequest& request, RowsForm form, const std::filesystem::path& file,
                                   const Write& write);

enum class TextForm : std::uint8_t { csv, json_lines, t4, google_benchmark };
/// Writes the text piece by piece. Its notes do not name a file.
[[nodiscard]] Exported export_text(const ExportRequest& request, TextForm form, const Write& write);

/// Chooses the fewest configs that serve each shape within `ratio` of its best; writes their rows if `form` is given.
[[nodiscard]] Table cover(const ExportRequest& request, double ratio, std::optional<RowsForm> form,
                          const std::filesystem::path& file, const Write& write);

}  // namespace tilewright::app
