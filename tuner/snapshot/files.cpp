// SPDX-License-Identifier: Apache-2.0
#include "tuner/snapshot/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <system_error>
#include <thread>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

CacheError not_written(const fs::path& file, int code) {
  return CacheError(
      fmt::format("{} cannot be written: {}", file.string(), why_not_written(file, {code, std::system_category()})), 0,
      code == ENOSPC || code == EDQUOT ? CacheFault::full : CacheFault::not_written);
}

}  // namespace

void FolderLock::Close::operator()(const int* descriptor) const noexcept {
  ::close(*descriptor);
  delete descriptor;  // NOLINT(cppcoreguidelines-owning-memory): the owner's
}

FolderLock::FolderLock(const fs::path& folder, const std::function<bool()>& cancelled) {
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path file = folder / "lock";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) throw not_written(file, errno);
  held_.reset(new const int(descriptor));  // NOLINT(cppcoreguidelines-owning-memory): own first, check second
  while (::flock(descriptor, LOCK_EX | (cancelled ? LOCK_NB : 0)) != 0) {
    if (errno != EINTR && errno != EWOULDBLOCK) throw not_written(file, errno);
    if (cancelled && cancelled()) throw Error(fmt::format("another process works in {}", folder.string()));
    if (cancelled) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

GrowingFile::GrowingFile(const fs::path& file)
    : file_(file), descriptor_(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  if (descriptor_ < 0) fail(errno);
  size_ = ::lseek(descriptor_, 0, SEEK_END);
}

GrowingFile::~GrowingFile() { ::close(descriptor_); }

void GrowingFile::begin_anew() {
  if (::ftruncate(descriptor_, 0) != 0) fail(errno);
  size_ = 0;
}

void GrowingFile::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), size_);
    if (count < 0 && errno != EINTR) fail(errno);
    if (count <= 0) continue;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    size_ += count;
  }
}

void GrowingFile::fail(int code) const {
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) ::unlink(file_.c_str());
  throw not_written(file_, code);
}

void write_durably(const fs::path& file, std::string_view text) {
  Draft draft(file);
  const int descriptor = ::open(draft.path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) throw not_written(file, errno);
  const ssize_t count = ::write(descriptor, text.data(), text.size());
  const int code = count >= 0 && static_cast<std::size_t>(count) < text.size() ? ENOSPC : errno;
  const bool whole = count == static_cast<ssize_t>(text.size()) && ::fsync(descriptor) == 0;
  ::close(descriptor);
  if (!whole) throw not_written(file, code);
  if (const std::error_code error = draft.put_in_place()) throw not_written(file, error.value());
}

void forget_drafts(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& each : fs::directory_iterator(folder, ignored)) {
    if (each.path().extension() == ".new") fs::remove(each.path(), ignored);
  }
}

void sync_file(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = descriptor >= 0 && ::fdatasync(descriptor) == 0;
  const int code = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!done) throw not_written(file, code);
}

std::string read_at_most(const fs::path& file, std::size_t most) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream && !fs::exists(file)) return {};
  std::string text(most, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || !stream.is_open()) throw Error(fmt::format("{} cannot be read", file.string()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace tilewright
