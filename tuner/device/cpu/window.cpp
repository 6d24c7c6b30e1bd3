// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cpu/window.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "cache/base/error.hpp"

namespace tilewright::emulator {
namespace {

constexpr std::size_t kPage = 4096;
// 16 pages and the guard: an odd number, which spreads the stacks' tops over a cache's sets. Instrumented code has
// larger frames. In both cases a cluster of 16 blocks of 1024 threads must fit into the window.
#if defined(TILEWRIGHT_ASAN) || defined(TILEWRIGHT_TSAN)
constexpr std::size_t kStackBytes = 48 * kPage;
#else
constexpr std::size_t kStackBytes = 16 * kPage;
#endif
constexpr std::size_t kStride = kStackBytes + kPage;
constexpr std::size_t kMaxFibers = 16 * 1024;
static_assert(kPage + kMaxFibers * kStride < kWindowBytes, "all stacks lie in the window");

[[noreturn]] void refuse(std::size_t bytes, const char* what) {
  throw DeviceError(
      fmt::format("Making the emulator's stacks failed: the host refused {} of {} MiB ({}). Raise the limits "
                  "of address space (ulimit -v) and of mappings (sysctl vm.max_map_count).",
                  what, bytes >> 20, std::strerror(errno)));
}

}  // namespace

Window::Window(FiberMain main) : main_(main) {
  // Twice the size contains an aligned window; the rest is returned.
  void* reserved = mmap(nullptr, 2 * kWindowBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) refuse(2 * kWindowBytes, "address space");
  auto* start = static_cast<std::byte*>(reserved);
  const std::size_t before = (kWindowBytes - reinterpret_cast<std::uintptr_t>(start) % kWindowBytes) % kWindowBytes;
  base_.reset(start + before);
  if (before > 0) munmap(start, before);
  munmap(start + before + kWindowBytes, kWindowBytes - before);
  if (mprotect(base_.get(), kPage, PROT_READ | PROT_WRITE) != 0) refuse(kPage, "memory");
  new (base_.get()) WindowHeader;
}

Window::~Window() {
#ifdef TILEWRIGHT_TSAN
  for (const Fiber& fiber : fibers_) __tsan_destroy_fiber(fiber.tsan_fiber);
#endif
}

void Window::Unmap::operator()(void* base) const noexcept { munmap(base, kWindowBytes); }

std::byte* Window::stack(std::size_t index) const noexcept {
  return static_cast<std::byte*>(base_.get()) + kPage + index * kStride + kPage;
}

std::deque<Fiber>& Window::fibers(std::size_t count) {
  const std::size_t had = fibers_.size();
  if (count <= had) return fibers_;
  std::byte* first = stack(had) - kPage;
  const std::size_t bytes = (count - had) * kStride;
  if (mprotect(first, bytes, PROT_READ | PROT_WRITE) != 0) refuse(bytes, "memory");
  for (std::size_t i = had; i < count; ++i) {
    if (mprotect(stack(i) - kPage, kPage, PROT_NONE) != 0) refuse(kPage, "a guard page");
  }
  for (std::size_t i = had; i < count; ++i) {
    Fiber& fiber = fibers_.emplace_back();
#ifdef TILEWRIGHT_ASAN
    fiber.stack_bottom = stack(i);
    fiber.stack_bytes = kStackBytes;
#endif
#ifdef TILEWRIGHT_TSAN
    fiber.tsan_fiber = __tsan_create_fiber(0);
#endif
    begin(i);
    static_cast<void>(fiber);
  }
  return fibers_;
}

void Window::reset() noexcept {
  for (std::size_t i = 0; i < fibers_.size(); ++i) begin(i);
}

void Window::begin(std::size_t index) noexcept {
  Fiber& fiber = fibers_[index];
#ifdef TILEWRIGHT_ASAN
  fiber.fake_stack = nullptr;
  __asan_unpoison_memory_region(stack(index), kStackBytes);
#endif
  const std::size_t colour = index * 7 % 61 * 64;
  fiber.state = boost::context::detail::make_fcontext(stack(index) + kStackBytes - colour, kStackBytes - colour, main_);
  fiber.copies.reset();
}

}  // namespace tilewright::emulator
