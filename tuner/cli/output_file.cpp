// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/app/place.hpp"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

}  // namespace

OutputFile::OutputFile(fs::path file, Console& console) : file_(std::move(file)), console_(console) {
  if (is_standard_output(file_)) return;
  std::error_code ignored;
  const fs::file_status status = fs::status(file_, ignored);
  // A pipe or a device must not be replaced by a file.
  const bool stays = fs::exists(status) && !fs::is_regular_file(status);
  if (!stays) draft_.emplace(file_);
  out_.reset(std::fopen(stays ? file_.c_str() : draft_->path().c_str(), stays ? "we" : "wxe"));
  check(out_ != nullptr);
}

void OutputFile::check(bool done) {
  if (!done && !error_) error_ = std::error_code(errno, std::generic_category());
}

void OutputFile::write(std::string_view text) {
  bytes_ += text.size();
  if (is_standard_output(file_)) {
    console_.print(std::string(text));
  } else if (!error_) {
    check(std::fwrite(text.data(), 1, text.size(), out_.get()) == text.size());
  }
}

void OutputFile::commit() {
  if (is_standard_output(file_)) return;
  if (!error_) check(std::fflush(out_.get()) == 0);
  // The bytes are on the disk before the file is in place; a pipe has none.
  if (!error_ && draft_) check(::fsync(::fileno(out_.get())) == 0);
  if (out_) check(std::fclose(out_.release()) == 0);
  if (!error_ && draft_) error_ = draft_->put_in_place();
  if (!error_) return;
  throw Error(fmt::format("cannot write {}: {}{}", file_.string(), why_not_written(file_, error_),
                          draft_ ? " Nothing was written." : ""));
}

bool OutputFile::replaces(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(fs::status(file, ignored));
}

void OutputFile::refuse_cache(const fs::path& file, const fs::path& cache) {
  for (const char* companion : {"", "-wal", "-shm", "-journal"}) {
    fs::path each = cache;
    each += companion;
    std::error_code ignored;
    if (!fs::equivalent(file, each, ignored) && file != each) continue;
    throw UsageError(fmt::format("{} is {} {}, which would be lost; name another file", file.string(),
                                 *companion == '\0' ? "the cache that is read:" : "part of the cache", cache.string()));
  }
}

void OutputFile::refuse_database(const fs::path& file) {
  if (is_standard_output(file) || !replaces(file) || !app::is_database(file)) return;
  throw UsageError(fmt::format("{} is an SQLite database, which would be lost; name another file", file.string()));
}

}  // namespace tilewright::cli
