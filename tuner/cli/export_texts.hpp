// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/store/import.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"

/// Exports that other programs read: --csv, --jsonl, --t4 and --google-benchmark. Each names a file, or "-".
namespace tilewright::cli {

/// The options that make such exports.
[[nodiscard]] const std::vector<std::string>& text_exports();

/// That the cache has none of `what` ("trial").
[[nodiscard]] Error nothing_to_export(const Store& store, const char* what);

/// Writes the trials, or of google-benchmark the winners, that `filter`, --dtype and --mode take, in the form of
/// `option`. The table of what was done goes to standard output, or, where that is the file, a line to standard error.
ExitCode export_text(const Arguments& arguments, Console& console, const Store& store, const WinnerSelection& filter,
                     const std::string& option, const std::filesystem::path& file);

}  // namespace tilewright::cli
