// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/fenced_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cache/base/error.hpp"
#include "tuner/device/device.hpp"

namespace tilewright {
namespace {

[[noreturn]] void fail(std::size_t bytes, const std::string& what, int error) {
  throw DeviceError(fmt::format("allocating {} bytes of memory for {} failed: {}", bytes, what, std::strerror(error)),
                    kOutOfMemory);
}

}  // namespace

void FencedMemory::Unmap::operator()(std::byte* base) const noexcept { ::munmap(base, bytes); }

FencedMemory::FencedMemory(std::size_t bytes, const std::string& what) : bytes_(bytes), mapping_(nullptr, Unmap(0)) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t padded = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t content = (padded + page - 1) / page * page;
  const std::size_t whole = content + 2 * page;
  if (whole < bytes) fail(bytes, what, ENOMEM);
  void* base = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) fail(bytes, what, errno);
  mapping_ = std::unique_ptr<std::byte, Unmap>(static_cast<std::byte*>(base), Unmap(whole));
  if (::mprotect(mapping_.get() + page, content, PROT_READ | PROT_WRITE) != 0) fail(bytes, what, errno);
  begin_ = mapping_.get() + page + content - padded;
}

}  // namespace tilewright
