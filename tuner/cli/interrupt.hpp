// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Turns Ctrl-C, kill and a closed terminal into a flag for long work, which then ends once everything is stored.
namespace tilewright::cli {

/// From now on the first SIGINT, SIGTERM or SIGHUP sets the flag; a second one of the same kind ends the process as
/// usual.
void watch_interrupts();
[[nodiscard]] bool interrupted() noexcept;

/// True once after a SIGCONT since watch_interrupts(): a shell had the terminal meanwhile.
[[nodiscard]] bool was_continued() noexcept;

}  // namespace tilewright::cli
