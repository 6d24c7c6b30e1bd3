// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/cli/verb.hpp"

/// Options that several verbs have, in the same words.
namespace tilewright::cli {

inline const Option kCache{"cache", "FILE",
                           "The cache. Default: TILEWRIGHT_CACHE, else tilewright/cache.db in the XDG cache folder."};
inline const Option kOps{"ops", "DIR", "A folder of your own ops, or of one op; searched before the built-in ones.",
                         true};
inline const Option kFormat{"format", "FORM",
                            "text (default), json, csv or markdown. JSON and CSV have full precision."};
inline const Option kDevice{"device", "NAME", "Only this device: its name or a part of it, or cpu."};
inline const Option kMode{"mode", "MODE",
                          "cold (default), hot or events: figures of different modes are never compared."};

}  // namespace tilewright::cli
