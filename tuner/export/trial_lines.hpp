// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/export/trial_records.hpp"

/// Writes trials as lines for other programs: full precision, units in the names, failures with their reasons. Both
/// forms have the same fields under the same names; docs/cache.md lists them.
namespace tilewright {

/// CSV with a header line. Attributes, dims and parameters are columns of their own: `attribute_act`, `dim_rows`,
/// `parameter_vec`; the rounds are a count.
void write_csv(const TrialRecords& records, const Write& write);
/// One JSON object a line. Attributes, dims and parameters are objects, the rounds an array of nanoseconds; unknown
/// values are null.
void write_json_lines(const TrialRecords& records, const Write& write);

}  // namespace tilewright
