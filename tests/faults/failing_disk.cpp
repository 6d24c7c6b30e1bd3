// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/failing_disk.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using tilewright::testing::FailingDisk;

/// The C library's function of that name.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

FailingDisk* shared_state() {
  const char* path = std::getenv(tilewright::testing::kFailingDisk);
  if (path == nullptr) return nullptr;
  const int file = next<int(const char*, int, ...)>("open")(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* memory = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap")(
      nullptr, sizeof(FailingDisk), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<FailingDisk*>(memory);
}

/// Counts a call that changes `path`; returns whether it must fail, with errno set.
bool fails(const char* path) {
  FailingDisk& disk = *tilewright::testing::failing_disk();
  const std::size_t length = ::strnlen(disk.folder, sizeof disk.folder);
  if (length == 0 || std::strncmp(path, disk.folder, length) != 0) return false;
  const int call = disk.calls.fetch_add(1) + 1;
  if (disk.failing == 0 || call < disk.failing || (call > disk.failing && !disk.for_good)) return false;
  errno = disk.error;
  return true;
}

bool fails(int file) {
  char link[32];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  char path[PATH_MAX];
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return fails(path);
}

/// The bytes that are written before a failure: half if the disk fills up.
std::size_t part(std::size_t bytes) { return tilewright::testing::failing_disk()->for_good ? bytes / 2 : 0; }

}  // namespace

extern "C" FailingDisk* tilewright::testing::failing_disk() {
  static FailingDisk own{};
  static FailingDisk* const state = [] {
    FailingDisk* const shared = shared_state();
    return shared != nullptr ? shared : &own;
  }();
  return state;
}

// NOLINTBEGIN(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  if (!fails(file)) return real(file, bytes, count);
  const std::size_t taken = part(count);
  return taken > 0 ? real(file, bytes, taken) : -1;
}

ssize_t writev(int file, const iovec* parts, int count) {
  static auto* const real = next<ssize_t(int, const iovec*, int)>("writev");
  return fails(file) ? -1 : real(file, parts, count);
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  if (!fails(file)) return real(file, bytes, count, offset);
  const std::size_t taken = part(count);
  return taken > 0 ? real(file, bytes, taken, offset) : -1;
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) { return pwrite64(file, bytes, count, offset); }

int fsync(int file) {
  static auto* const real = next<int(int)>("fsync");
  return fails(file) ? -1 : real(file);
}

int fdatasync(int file) {
  static auto* const real = next<int(int)>("fdatasync");
  return fails(file) ? -1 : real(file);
}

int ftruncate64(int file, off64_t size) {
  static auto* const real = next<int(int, off64_t)>("ftruncate64");
  return fails(file) ? -1 : real(file, size);
}

int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

int rename(const char* from, const char* to) {
  static auto* const real = next<int(const char*, const char*)>("rename");
  return fails(to) ? -1 : real(from, to);
}

int mkdir(const char* path, mode_t mode) {
  static auto* const real = next<int(const char*, mode_t)>("mkdir");
  return fails(path) ? -1 : real(path, mode);
}

char* mkdtemp(char* path) {
  static auto* const real = next<char*(char*)>("mkdtemp");
  return fails(path) ? nullptr : real(path);
}

void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off64_t offset) {
  static auto* const real = next<void*(void*, size_t, int, int, int, off64_t)>("mmap64");
  return file >= 0 && fails(file) ? MAP_FAILED : real(address, bytes, protection, flags, file, offset);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap64(address, bytes, protection, flags, file, offset);
}

int open64(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open64");
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
    if (::access(path, F_OK) != 0 && fails(path)) return -1;
  }
  return real(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return open64(path, flags, mode);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
