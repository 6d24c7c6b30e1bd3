// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "tuner/device/cpu/fiber.hpp"

/// The stacks of one OS thread's fibers, in an address window aligned to its size (abi.h: this_thread). Stacks are made
/// on first use and kept. An inaccessible page below each turns an overflow into a segmentation fault. Their start
/// addresses differ in the bits that select cache lines; a thousand equal stacks would compete for a few lines.
namespace tilewright::emulator {

class Execution;

/// The window's first bytes.
struct WindowHeader {
  ThreadView* current = nullptr;
  Execution* execution = nullptr;
};

using FiberMain = void (*)(boost::context::detail::transfer_t);

class Window {
 public:
  /// All fibers begin in `main`. Throws DeviceError if the host refuses the address space.
  explicit Window(FiberMain main);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  [[nodiscard]] WindowHeader& header() noexcept { return *static_cast<WindowHeader*>(base_.get()); }
  /// At least `count` fibers, each about to begin or suspended at its last switch. Throws DeviceError if the host
  /// refuses the memory.
  [[nodiscard]] std::deque<Fiber>& fibers(std::size_t count);
  /// Restarts all fibers, after a launch that left some inside a kernel.
  void reset() noexcept;

 private:
  struct Unmap {
    void operator()(void* base) const noexcept;
  };
  void begin(std::size_t index) noexcept;
  [[nodiscard]] std::byte* stack(std::size_t index) const noexcept;

  FiberMain main_;
  std::unique_ptr<void, Unmap> base_;
  std::deque<Fiber> fibers_;
};

}  // namespace tilewright::emulator
