// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tuner/compile/compiler.hpp"

/// Parses the figures that ptxas prints with `--ptxas-options=-v`: each kernel's registers, spills, stack and memory.
/// Pure.
namespace tilewright {

/// Resources of the entry functions, by symbol. The last report of a kernel counts. Skips unknown lines, so that a
/// newer ptxas loses figures, not compiles.
[[nodiscard]] std::map<std::string, KernelResources, std::less<>> parse_ptxas_log(std::string_view log);

/// The most threads of a block with `registers` per thread: a warp's registers come in units of 256, and a block has at
/// most 65536 (all architectures from sm_75 on). A multiple of 32 from 0 to 1024.
[[nodiscard]] int threads_for_registers(int registers) noexcept;

/// The product of an entry's `.maxntid` in PTX (its __launch_bounds__), or 1024 without one.
[[nodiscard]] int launch_bound_of(std::string_view ptx, std::string_view symbol);

}  // namespace tilewright
