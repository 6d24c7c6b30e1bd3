// SPDX-License-Identifier: Apache-2.0
#include "cache/store/miss_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "cache/base/decode.hpp"
#include "cache/base/descriptor.hpp"
#include "cache/base/environment.hpp"
#include "cache/base/error.hpp"
#include "cache/base/file_facts.hpp"

namespace tilewright {
namespace {

constexpr std::string_view kTitle = "tilewright misses ";
constexpr int kFormat = 1;
constexpr mode_t kForAll = 0666;  // less the umask
constexpr mode_t kFolder = 0755;

using Key = std::pair<std::string, std::string>;
Key key_of(const Miss& miss) { return {miss.shape_key, miss.device_fingerprint}; }

std::string header() { return fmt::format("{}{}\n", kTitle, kFormat); }

CacheError refusal(std::string_view doing, const std::filesystem::path& path, std::string_view why,
                   std::string_view advice) {
  return CacheError(fmt::format("cannot {}: the file {} {}. {}.", doing, path.string(), why, advice));
}

CacheError refusal_of_system(std::string_view doing, const std::filesystem::path& path) {
  return refusal(doing, path, fmt::format("could not be opened, read or written ({})", std::strerror(errno)),
                 "Name another with TILEWRIGHT_MISSES=FILE, or record none with TILEWRIGHT_MISSES=off");
}

CacheError damage_of_misses(std::string_view doing, const std::filesystem::path& path, std::string_view what) {
  return refusal(doing, path, fmt::format("is damaged ({})", what),
                 fmt::format("It was left as it is. Mend it by hand, or move it away (mv {0} {0}.damaged): another is "
                             "made when the next miss is recorded",
                             path.string()));
}

/// The locked file; empty if there is none, or if it is locked and `lock` has LOCK_NB.
Descriptor open_locked(std::string_view doing, const std::filesystem::path& path, int flags, int lock) {
  for (;;) {
    // O_NONBLOCK: a pipe at this path would wait for its other end.
    Descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, kForAll));
    if (!file && errno == ENOENT && (flags & O_CREAT) == 0) return Descriptor();
    if (!file) throw refusal_of_system(doing, path);
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0) throw refusal_of_system(doing, path);
    if (!S_ISREG(facts.st_mode))
      throw refusal(doing, path, "is not a regular file", "Name another with TILEWRIGHT_MISSES=FILE");
    if (!file.lock(lock)) {
      if (errno == EWOULDBLOCK) return Descriptor();
      throw refusal_of_system(doing, path);
    }
    // The last holder of the lock may have put another file in its place.
    const auto now = identity_of(path);
    if (now && now->device == facts.st_dev && now->inode == facts.st_ino) return file;
  }
}

std::int64_t size_of(std::string_view doing, const std::filesystem::path& path, const Descriptor& file) {
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) throw refusal_of_system(doing, path);
  if (static_cast<std::size_t>(facts.st_size) > kMostDecodedBytes) {
    throw refusal(doing, path, fmt::format("has {} bytes, more than any file of misses", facts.st_size),
                  "It was left as it is. Name another with TILEWRIGHT_MISSES=FILE");
  }
  return facts.st_size;
}

std::string read_at(std::string_view doing, const std::filesystem::path& path, const Descriptor& file,
                    std::int64_t offset, std::int64_t count) {
  std::string text(static_cast<std::size_t>(count), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got =
        ::pread(file.get(), text.data() + done, text.size() - done, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw refusal_of_system(doing, path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

/// Checks the first line and the end; `start` has at least the first line of a file of misses.
void check_frame(std::string_view doing, const std::filesystem::path& path, std::string_view start, char last) {
  if (!start.starts_with(kTitle)) {
    throw refusal(doing, path, "is not a file of misses",
                  "It was left as it is. Name another with TILEWRIGHT_MISSES=FILE");
  }
  int format = 0;
  const char* const digits = start.data() + kTitle.size();
  const auto [end, error] = std::from_chars(digits, start.data() + start.size(), format);
  if (error != std::errc() || end == start.data() + start.size() || *end != '\n' || format < 1) {
    throw damage_of_misses(doing, path, "its first line");
  }
  if (format > kFormat) {
    throw refusal(doing, path, fmt::format("has format {}, and this program knows formats up to {}", format, kFormat),
                  "It was left as it is. Use a newer Tilewright, or name another file with TILEWRIGHT_MISSES=FILE");
  }
  if (last != '\n') throw damage_of_misses(doing, path, "its last line is cut off");
}

/// "first last count device shape", separated by tabs.
std::string line_of(const Miss& miss) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\n", miss.first_at, miss.last_at, miss.count, miss.device_fingerprint,
                     miss.shape_key);
}

bool read_number(std::string_view& rest, std::int64_t& number) {
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || end == rest.data() + rest.size() || *end != '\t') return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
  return number >= 0;
}

std::optional<Miss> read_line(std::string_view line) {
  Miss miss;
  if (!read_number(line, miss.first_at) || !read_number(line, miss.last_at) || !read_number(line, miss.count)) {
    return std::nullopt;
  }
  const std::size_t tab = line.find('\t');
  if (miss.count < 1 || tab == 0 || tab == std::string_view::npos) return std::nullopt;
  miss.device_fingerprint = line.substr(0, tab);
  miss.shape_key = line.substr(tab + 1);
  const std::size_t brace = miss.shape_key.find('{');
  const bool is_shape = brace != std::string::npos && brace > 0 && miss.shape_key.back() == '}' &&
                        miss.shape_key.find('\t') == std::string::npos;
  return is_shape ? std::optional(miss) : std::nullopt;
}

/// All lines, merged by shape and device, the most asked first.
std::vector<Miss> parse(std::string_view doing, const std::filesystem::path& path, std::string_view text) {
  if (text.empty()) return {};
  check_frame(doing, path, text, text.back());
  std::map<Key, Miss> found;
  std::size_t number = 1;
  std::size_t start = text.find('\n') + 1;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    ++number;
    const std::optional<Miss> miss = read_line(text.substr(start, end - start));
    if (!miss) throw damage_of_misses(doing, path, fmt::format("line {}", number));
    const auto [place, is_new] = found.try_emplace(key_of(*miss), *miss);
    if (!is_new) {
      Miss& known = place->second;
      known.count += std::min(miss->count, INT64_MAX - known.count);
      known.first_at = std::min(known.first_at, miss->first_at);
      known.last_at = std::max(known.last_at, miss->last_at);
    }
    start = end + 1;
  }
  std::vector<Miss> misses;
  for (auto& [key, miss] : found) misses.push_back(std::move(miss));
  std::ranges::stable_sort(misses, [](const Miss& a, const Miss& b) {
    return std::pair(a.count, a.last_at) > std::pair(b.count, b.last_at);
  });
  return misses;
}

/// Replaces the locked file with one of these lines: a reader sees the one or the other.
void replace(std::string_view doing, const std::filesystem::path& path, const Descriptor& locked,
             std::string_view text) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error) {
    errno = error.value();
    throw refusal_of_system(doing, path);
  }
  std::filesystem::path draft = target;
  draft += ".new";
  struct stat facts {};
  if (::fstat(locked.get(), &facts) != 0) throw refusal_of_system(doing, path);
  const Descriptor file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kForAll));
  if (!file) throw refusal_of_system(doing, path);
  if (::fchmod(file.get(), facts.st_mode & 07777) != 0 || !file.write(text) || ::fsync(file.get()) != 0 ||
      ::rename(draft.c_str(), target.c_str()) != 0) {
    const int cause = errno;
    ::unlink(draft.c_str());
    errno = cause;
    throw refusal_of_system(doing, path);
  }
}

std::string text_of(std::span<const Miss> misses, std::size_t most_bytes) {
  std::string text = header();
  for (const Miss& miss : misses) {
    const std::string line = line_of(miss);
    if (text.size() + line.size() > most_bytes) break;
    text += line;
  }
  return text;
}

/// Makes the missing folders of a path.
void make_folders(const std::filesystem::path& folder) {
  if (folder.empty() || std::filesystem::exists(folder)) return;
  make_folders(folder.parent_path());
  ::mkdir(folder.c_str(), kFolder);  // if it fails, opening the file does, and says why
}

}  // namespace

std::optional<std::filesystem::path> default_misses_path() {
  if (const std::string_view named = environment("TILEWRIGHT_MISSES"); !named.empty()) {
    return named == "off" ? std::nullopt : std::optional<std::filesystem::path>(named);
  }
  const std::filesystem::path folder = user_cache_folder();
  return folder.empty() ? std::nullopt : std::optional(folder / "misses");
}

MissFile::MissFile(std::filesystem::path path, std::int64_t most_bytes)
    : path_(std::move(path)), most_bytes_(most_bytes) {}

std::vector<Miss> MissFile::read() const {
  constexpr std::string_view kDoing = "read the misses";
  const Descriptor file = open_locked(kDoing, path_, O_RDONLY, LOCK_SH);
  if (!file) return {};
  return parse(kDoing, path_, read_at(kDoing, path_, file, 0, size_of(kDoing, path_, file)));
}

bool MissFile::append(std::span<const Miss> misses) const {
  constexpr std::string_view kDoing = "record a miss";
  if (misses.empty()) return true;
  make_folders(path_.parent_path());
  const Descriptor file = open_locked(kDoing, path_, O_RDWR | O_CREAT | O_APPEND, LOCK_EX | LOCK_NB);
  if (!file) return false;

  std::string lines;
  for (const Miss& miss : misses) lines += line_of(miss);
  const std::int64_t size = size_of(kDoing, path_, file);
  if (size > 0) {
    const std::string start = read_at(kDoing, path_, file, 0, std::min<std::int64_t>(size, 64));
    const std::string last = read_at(kDoing, path_, file, size - 1, 1);
    check_frame(kDoing, path_, start, last.empty() ? '\0' : last.front());
  } else {
    lines = header() + lines;
  }
  if (size + static_cast<std::int64_t>(lines.size()) > most_bytes_) {
    std::string all = size > 0 ? read_at(kDoing, path_, file, 0, size) : std::string();
    all += lines;
    // To half of the bound, so that the next ones only append again.
    replace(kDoing, path_, file, text_of(parse(kDoing, path_, all), static_cast<std::size_t>(most_bytes_ / 2)));
    return true;
  }
  if (!file.write(lines)) {
    const int cause = errno;
    // A full disk must not leave half a line. Nobody else has written: we hold the lock.
    static_cast<void>(::ftruncate(file.get(), size) == 0);
    errno = cause;
    throw refusal_of_system(kDoing, path_);
  }
  return true;
}

std::size_t MissFile::remove(std::span<const Miss> misses) const {
  constexpr std::string_view kDoing = "forget misses";
  const Descriptor file = open_locked(kDoing, path_, O_RDWR, LOCK_EX);
  if (!file) return 0;
  std::vector<Miss> all = parse(kDoing, path_, read_at(kDoing, path_, file, 0, size_of(kDoing, path_, file)));
  std::set<Key> gone;
  for (const Miss& miss : misses) gone.insert(key_of(miss));
  const std::size_t removed = std::erase_if(all, [&](const Miss& miss) { return gone.count(key_of(miss)) > 0; });
  if (removed > 0) replace(kDoing, path_, file, text_of(all, static_cast<std::size_t>(most_bytes_)));
  return removed;
}

bool MissFile::move_to(const std::filesystem::path& to) const {
  constexpr std::string_view kDoing = "move the misses";
  const Descriptor file = open_locked(kDoing, path_, O_RDWR, LOCK_EX);
  if (!file) return false;
  if (::rename(path_.c_str(), to.c_str()) != 0) throw refusal_of_system(kDoing, path_);
  return true;
}

}  // namespace tilewright
