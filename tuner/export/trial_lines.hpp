// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/export/trial_records.hpp"

/// Trials as lines for other programs: full precision, units in the names, failures with their reasons. The two forms
/// have the same fields in the same words; docs/cache.md lists them.
namespace tilewright {

/// CSV with a header line. Attributes, dims and parameters are columns of their own: `attribute_act`, `dim_rows`,
/// `parameter_vec`; the rounds are a count.
void write_csv(const TrialRecords& records, const Write& write);
/// A JSON object a line. Attributes, dims and parameters are objects, the rounds an array of nanoseconds; what is not
/// known is null.
void write_json_lines(const TrialRecords& records, const Write& write);

}  // namespace tilewright
