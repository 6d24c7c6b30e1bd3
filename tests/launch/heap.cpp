// SPDX-License-Identifier: Apache-2.0
#include "tests/launch/heap.hpp"

#include <cerrno>
#include <cstdlib>

#include "cache/base/sanitizers.hpp"

namespace tilewright::testing {

constinit Heap heap{};

namespace {

/// Counts an allocation; returns whether it fails.
bool fails() noexcept {
  if (!heap.is_watched.load(std::memory_order_relaxed)) return false;
  const auto exempts = heap.exempts.load();
  if (exempts != nullptr && exempts() != 0) return false;
  const int number = heap.allocations.fetch_add(1) + 1;
  const int failing = heap.failing;
  if (failing == 0 || number < failing || (number > failing && !heap.for_good)) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace
}  // namespace tilewright::testing

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
#if defined(TILEWRIGHT_ASAN) || defined(TILEWRIGHT_TSAN)

// Declared here, since GCC does not always have the sanitizers' headers.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, std::size_t),
                                                         void (*freed)(const volatile void*));

namespace {
const bool is_hooked = __sanitizer_install_malloc_and_free_hooks(
                           [](const volatile void*, std::size_t) { static_cast<void>(tilewright::testing::fails()); },
                           [](const volatile void*) {}) != 0;
}

#else

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);
}

namespace {

using tilewright::testing::fails;
using tilewright::testing::heap;

void* counted(void* memory) noexcept {
  if (memory != nullptr) heap.living.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) noexcept { return fails() ? nullptr : counted(__libc_malloc(bytes)); }
void* calloc(std::size_t items, std::size_t bytes) noexcept {
  return fails() ? nullptr : counted(__libc_calloc(items, bytes));
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  if (fails()) return nullptr;
  return memory == nullptr ? counted(__libc_malloc(bytes)) : __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return fails() ? nullptr : counted(__libc_memalign(alignment, bytes));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  if (fails()) return ENOMEM;
  *memory = counted(__libc_memalign(alignment, bytes));
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) noexcept {
  if (memory == nullptr) return;
  heap.living.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}
}

#endif
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
