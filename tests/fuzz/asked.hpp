// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/base/error.hpp"
#include "cache/serve/choose.hpp"
#include "tests/unit/store/fixture.hpp"

/// Queries for a source that may be damaged.
namespace tilewright::fuzz {

/// All queries of a launcher: the choice for a tuned and an untuned shape, with its binary, and the lists.
inline void ask_all(const WinnerSource& source) {
  for (const std::int64_t rows : {8, 12}) {
    const ProblemKey key = store_tests::softmax_key(rows, 100);
    const auto interface = source.interface_by_hash(key.interface_hash);
    if (!interface) continue;
    const Chosen chosen = choose(source, *interface, {key.problem, key.interface_hash, store_tests::h200()});
    if (!chosen.choice) continue;
    const auto build = source.build(chosen.choice->row.winner.trial.build_key);
    if (build && build->ok) static_cast<void>(source.binary(build->binary_hash));
  }
  static_cast<void>(source.ops());
  static_cast<void>(source.devices());
}

}  // namespace tilewright::fuzz
