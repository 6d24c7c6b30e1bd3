// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tuner/compile/compiler.hpp"

/// The figures that ptxas prints with `--ptxas-options=-v`: registers, spills, stack and memory of each kernel. Pure
/// text work.
namespace tilewright {

/// Resources by symbol, of entry functions only. Of a kernel reported twice the last report counts. Lines that are not
/// understood are skipped, so that a newer ptxas loses figures and not compiles.
[[nodiscard]] std::map<std::string, KernelResources, std::less<>> parse_ptxas_log(std::string_view log);

/// Threads that a block may have with so many registers a thread: a warp's registers come in units of 256, and a block
/// has at most 65536 (every architecture from sm_75 on). Between 0 and 1024, a multiple of 32.
[[nodiscard]] int threads_for_registers(int registers) noexcept;

/// The product of an entry's `.maxntid` in PTX (its __launch_bounds__), 1024 when it has none.
[[nodiscard]] int launch_bound_of(std::string_view ptx, std::string_view symbol);

}  // namespace tilewright
