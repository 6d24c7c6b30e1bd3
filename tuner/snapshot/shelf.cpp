// SPDX-License-Identifier: Apache-2.0
#include "tuner/snapshot/shelf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/store/pack/sha256.hpp"
#include "tuner/snapshot/files.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

/// Snapshots that may arrive in pieces at one time; beyond it the oldest is removed.
constexpr std::size_t kMostParts = 4;

fs::path part_of(fs::path file) { return file += ".part"; }

std::uintmax_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

}  // namespace

fs::path Shelf::channel_file(const std::string& channel) const {
  if (is_channel_name(channel)) return folder_ / "v1" / "channels" / channel;
  throw UsageError(fmt::format("'{}' names no channel: write such as stable or candidate", channel));
}

fs::path Shelf::blob(const std::string& hash) const {
  if (is_snapshot_hash(hash)) return blobs() / hash;
  throw UsageError(fmt::format("'{}' names no snapshot: write 64 lower-case hexadecimal digits", hash));
}

std::vector<std::string> Shelf::channels() const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& each : fs::directory_iterator(folder_ / "v1" / "channels", ignored)) {
    if (is_channel_name(each.path().filename().string())) names.push_back(each.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::optional<SignedManifest> Shelf::manifest(const std::string& channel) {
  const fs::path file = channel_file(channel);
  const std::string text = read_at_most(file, kMostManifestBytes);
  if (text.empty()) return std::nullopt;
  try {
    return read_manifest(text);
  } catch (const UsageError& error) {
    throw Error(fmt::format("the channel {} is damaged ({}). Move the file away and promote again", file.string(),
                            error.what()));
  }
}

void Shelf::put_manifest(const SignedManifest& given) {
  switch (take_manifest(given)) {
    case Taken::taken:
    case Taken::known:
      return;
    case Taken::stale:
      throw Error(fmt::format("the channel {} of {} was changed meanwhile. Run the same command again",
                              given.manifest.channel, title()));
    case Taken::no_snapshot:
      throw Error(fmt::format("{} has no snapshot sha256:{}. Publish it first", title(), given.manifest.snapshot));
  }
}

void Shelf::put_snapshot(const fs::path& file, const std::string& hash) {
  const FolderLock lock(folder_);
  if (snapshot(hash)) return;
  fs::create_directories(blobs());
  Draft draft(blob(hash));
  std::error_code error;
  fs::copy_file(file, draft.path(), error);
  if (!error) sync_file(draft.path());
  if (!error) error = draft.put_in_place();
  if (error) {
    throw Error(
        fmt::format("the snapshot cannot be stored in {}: {}", folder_.string(), why_not_written(blob(hash), error)));
  }
}

void Shelf::fetch(const std::string& hash, std::uintmax_t most, const fs::path& part) {
  const auto file = snapshot(hash);
  if (!file) throw Error(fmt::format("{} has no snapshot sha256:{}", title(), hash));
  if (fs::file_size(*file) > most) {
    throw Error(fmt::format("the snapshot sha256:{} of {} is longer than its manifest says", hash, title()));
  }
  std::ifstream stream(*file, std::ios::binary);
  GrowingFile to(part);
  to.begin_anew();
  std::string block(std::size_t{1} << 20, '\0');
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) || stream.gcount() > 0) {
    to.add(std::string_view(block).substr(0, static_cast<std::size_t>(stream.gcount())));
  }
}

std::optional<fs::path> Shelf::snapshot(const std::string& hash) const {
  fs::path file = blob(hash);
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  return file;
}

std::uintmax_t Shelf::received(const std::string& hash) const { return size_of(part_of(blob(hash))); }

Shelf::Piece Shelf::take_piece(const std::string& hash, std::uintmax_t bytes, std::uintmax_t from,
                               std::string_view piece) {
  const fs::path file = blob(hash);
  const fs::path part = part_of(file);
  const FolderLock lock(folder_);
  if (snapshot(hash)) return Piece::whole;
  fs::create_directories(blobs());
  // An upload may start over.
  if (from == 0) fs::remove(part);
  if (from != size_of(part) || from + piece.size() > bytes) return Piece::other;
  GrowingFile(part).add(piece);
  const std::vector<fs::path> parts = newest_first(blobs(), {".part"});
  for (std::size_t i = kMostParts; i < parts.size(); ++i) {
    if (parts[i] != part) fs::remove(parts[i]);
  }
  if (from + piece.size() < bytes) return Piece::taken;
  sync_file(part);
  if (sha256_of(part) != hash) {
    fs::remove(part);
    return Piece::wrong;
  }
  fs::rename(part, file);
  forget_old(hash);
  return Piece::whole;
}

Shelf::Taken Shelf::take_manifest(const SignedManifest& given) {
  const fs::path file = channel_file(given.manifest.channel);
  const FolderLock lock(folder_);
  if (const auto now = manifest(given.manifest.channel)) {
    if (*now == given) return Taken::known;
    if (now->manifest.sequence >= given.manifest.sequence) return Taken::stale;
  }
  const auto kept = snapshot(given.manifest.snapshot);
  if (!kept || fs::file_size(*kept) != static_cast<std::uintmax_t>(given.manifest.bytes)) return Taken::no_snapshot;
  fs::create_directories(file.parent_path());
  write_durably(file, document_of(given));
  forget_old(given.manifest.snapshot);
  return Taken::taken;
}

void Shelf::forget_old(const std::string& written) {
  for (const fs::path& folder : {blobs(), folder_ / "v1" / "channels"}) forget_drafts(folder);
  // Where the clock was set back, it looks like the oldest, and its manifest has yet to come.
  std::set<std::string> used{written};
  try {
    for (const std::string& channel : channels()) {
      if (const auto now = manifest(channel)) used.insert(now->manifest.snapshot);
    }
  } catch (const Error&) {  // The snapshot of an unreadable channel is unknown: remove nothing.
    return;
  }
  const std::vector<fs::path> files = newest_first(blobs(), {""});
  for (std::size_t i = kKeptSnapshots; i < files.size(); ++i) {
    std::error_code ignored;
    if (!used.contains(files[i].filename().string())) fs::remove(files[i], ignored);
  }
}

}  // namespace tilewright
