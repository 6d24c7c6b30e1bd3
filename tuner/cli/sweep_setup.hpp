// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/compile/compiler.hpp"
#include "tuner/sweep/sweep.hpp"

/// What sweeps of one op and of misses have in common: from options to what a sweep needs.
namespace tilewright::cli {

/// All but the definition, the problems, the compiler and what depends on the device.
[[nodiscard]] SweepRequest sweep_request(const Arguments& arguments);
[[nodiscard]] std::size_t max_configs_of(const Arguments& arguments, bool emulator);

/// Refuses dims whose bytes or operations cannot be counted.
void check_sizes(const OpDefinition& definition, const std::vector<Problem>& problems);

/// Compiles in processes, each of which may use so much memory, and all of which end with an interrupt.
[[nodiscard]] std::unique_ptr<Compiler> sweep_compiler(const Arguments& arguments, bool emulator);

/// A line for people.
[[nodiscard]] std::string summary_text(const SweepSummary& summary, const Store& store);

}  // namespace tilewright::cli
