// SPDX-License-Identifier: Apache-2.0
#include "tuner/snapshot/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

CacheError not_written(const fs::path& file, int code) {
  return CacheError(
      fmt::format("{} cannot be written: {}", file.string(), why_not_written(file, {code, std::system_category()})), 0,
      code == ENOSPC || code == EDQUOT ? CacheFault::full : CacheFault::not_written);
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder, const std::function<bool()>& cancelled) {
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path file = folder / "lock";
  held_ = Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!held_) throw not_written(file, errno);
  while (!held_.lock(LOCK_EX | (cancelled ? LOCK_NB : 0))) {
    if (errno != EWOULDBLOCK) throw not_written(file, errno);
    if (cancelled()) throw Error(fmt::format("another process works in {}", folder.string()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

GrowingFile::GrowingFile(const fs::path& file)
    : file_(file), open_(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  if (!open_) fail(errno);
  size_ = ::lseek(open_.get(), 0, SEEK_END);
}

void GrowingFile::begin_anew() {
  if (::ftruncate(open_.get(), 0) != 0) fail(errno);
  size_ = 0;
}

void GrowingFile::add(std::string_view bytes) {
  if (!open_.write(bytes)) fail(errno);
  size_ += static_cast<std::int64_t>(bytes.size());
}

void GrowingFile::fail(int code) const {
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) ::unlink(file_.c_str());
  throw not_written(file_, code);
}

void write_durably(const fs::path& file, std::string_view text) {
  Draft draft(file);
  const Descriptor to(::open(draft.path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!to || !to.write(text) || ::fsync(to.get()) != 0) throw not_written(file, errno);
  if (const std::error_code error = draft.put_in_place()) throw not_written(file, error.value());
}

void forget_drafts(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& each : fs::directory_iterator(folder, ignored)) {
    if (each.path().extension() == ".new") fs::remove(each.path(), ignored);
  }
}

std::vector<fs::path> newest_first(const fs::path& folder, std::initializer_list<std::string_view> extensions) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code ignored;
  for (const fs::directory_entry& each : fs::directory_iterator(folder, ignored)) {
    if (!holds(extensions, each.path().extension().string())) continue;
    files.emplace_back(each.last_write_time(ignored), each.path());
  }
  std::ranges::sort(files, std::greater<>());
  std::vector<fs::path> paths;
  for (auto& [time, path] : files) paths.push_back(std::move(path));
  return paths;
}

void sync_file(const fs::path& file) {
  const Descriptor written(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!written || ::fdatasync(written.get()) != 0) throw not_written(file, errno);
}

std::string read_at_most(const fs::path& file, std::size_t most) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream && !fs::exists(file)) return {};
  std::string text(most, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || !stream.is_open())
    throw Error(fmt::format("the file {0} cannot be read (ls -l {0})", file.string()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace tilewright
