// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "tuner/device/cpu/fiber.hpp"

/// The stacks of one OS thread's fibers, in one window of address space that is aligned to its size (abi.h:
/// this_thread). Stacks are made when first needed and kept. Each has a page without access under it, so that an
/// overflow is a segmentation fault and not another thread's corruption. They start at addresses that differ in the
/// bits by which caches choose a line: a thousand equal stacks would otherwise fight for a few lines.
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
  /// Every fiber begins in `main`. Throws DeviceError when the host refuses the address space.
  explicit Window(FiberMain main);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  [[nodiscard]] WindowHeader& header() noexcept { return *static_cast<WindowHeader*>(base_.get()); }
  /// At least `count` fibers, each about to begin or parked where it last switched away. Throws DeviceError when the
  /// host refuses the memory.
  [[nodiscard]] std::deque<Fiber>& fibers(std::size_t count);
  /// Makes every fiber begin anew, after a launch that left some in the midst of a kernel.
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
