// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/cli/verb.hpp"

/// Options that several verbs share.
namespace tilewright::cli {

inline const Option kCache{
    "cache", "FILE", "The cache file. Default: TILEWRIGHT_CACHE, else tilewright/cache.db in the XDG cache folder."};
inline const Option kOps{"ops", "DIR", "A folder of your own ops, or of one op; searched before the built-in ones.",
                         true};
inline const Option kFormat{.name = "format",
                            .value = "FORM",
                            .help = "text (default), json, csv or markdown. JSON and CSV have full precision.",
                            .words = {"text", "json", "csv", "markdown"}};
inline const Option kLogFormat{
    .name = "log-format",
    .value = "FORM",
    .help = "Form of standard error: text (default) or json, one event per line (docs/progress.md).",
    .words = {"text", "json"}};
inline const Option kDevice{.name = "device",
                            .value = "NAME",
                            .help = "Only this device: its name or a part of it, or cpu.",
                            .takes = Takes::stored_device};
inline const Option kMode{.name = "mode",
                          .value = "MODE",
                          .help = "cold (default), hot or events. Times of different modes are not compared.",
                          .words = {"cold", "hot", "events"}};
inline const Option kJobs{"jobs", "N", "Compile workers. Default: one per core."};
inline const Option kCompileTimeout{"compile-timeout", "SECONDS",
                                    "Stop a compile after this time, with status compile_failed. Default: 120."};

}  // namespace tilewright::cli
