// SPDX-License-Identifier: Apache-2.0
#include "tuner/snapshot/pulled_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

#include "cache/base/descriptor.hpp"
#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/snapshot/files.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

/// Whether another process has the file open: then a write lease is refused. False on file systems without leases.
bool is_open_elsewhere(const fs::path& file) {
  const Descriptor own(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!own) return false;
  // Opening the file breaks the lease and sends a signal: choose one that is ignored by default.
  ::fcntl(own.get(), F_SETSIG, SIGURG);
  return ::fcntl(own.get(), F_SETLEASE, F_WRLCK) != 0 && errno == EAGAIN;
}

}  // namespace

fs::path PulledFolder::snapshot(const std::string& hash) const { return folder_ / "snapshots" / (hash + ".db"); }
fs::path PulledFolder::part(const std::string& hash) const { return folder_ / "snapshots" / (hash + ".part"); }
fs::path PulledFolder::link(const std::string& channel) const { return folder_ / (channel + ".db"); }

std::optional<SignedManifest> PulledFolder::manifest(const std::string& channel) const {
  const fs::path file = folder_ / (channel + ".json");
  const std::string text = read_at_most(file, kMostManifestBytes);
  if (text.empty() && !fs::exists(file)) return std::nullopt;
  try {
    return read_manifest(text);
  } catch (const UsageError& error) {
    throw Error(
        fmt::format("{} is damaged ({}), so an older snapshot cannot be told from a newer one. "
                    "Move it away to accept any",
                    file.string(), error.what()));
  }
}

void PulledFolder::put_manifest(const SignedManifest& given) const {
  write_durably(folder_ / (given.manifest.channel + ".json"), document_of(given));
}

std::optional<std::string> PulledFolder::linked(const std::string& channel) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(link(channel), error);
  const std::string hash = target.stem().string();
  if (error || !is_snapshot_hash(hash) || !fs::is_regular_file(snapshot(hash), error)) return std::nullopt;
  return hash;
}

void PulledFolder::point(const std::string& channel, const std::string& hash) const {
  const fs::path place = link(channel);
  std::error_code error;
  if (fs::exists(fs::symlink_status(place, error)) && !fs::is_symlink(fs::symlink_status(place, error))) {
    throw Error(fmt::format("{} is not a link of `tilewright pull`. Move it away, or name another folder with --to",
                            place.string()));
  }
  const fs::path draft = fmt::format("{}.{}.new", place.string(), ::getpid());
  fs::remove(draft, error);
  fs::create_symlink(fs::path("snapshots") / (hash + ".db"), draft, error);
  if (!error) fs::rename(draft, place, error);
  if (error) throw Error(fmt::format("{} cannot be made: {}", place.string(), why_not_written(place, error)));
}

void PulledFolder::keep_part(const std::string& hash) const {
  sync_file(part(hash));
  std::error_code error;
  // A kept snapshot does not change.
  fs::permissions(part(hash), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read, error);
  if (!error) fs::rename(part(hash), snapshot(hash), error);
  if (error) {
    throw Error(fmt::format("the snapshot {} cannot be moved into place: {}", part(hash).string(),
                            why_not_written(snapshot(hash), error)));
  }
}

void PulledFolder::require_room(std::uintmax_t bytes) const {
  std::error_code error;
  const fs::space_info space = fs::space(folder_, error);
  if (error || space.available >= bytes) return;
  throw Error(
      fmt::format("the snapshot needs {} more in {}, where {} are free (df -h {}). Make room, or name another "
                  "folder with --to",
                  show_bytes(static_cast<double>(bytes)), folder_.string(),
                  show_bytes(static_cast<double>(space.available)), folder_.string()));
}

std::optional<PulledFolder::Failure> PulledFolder::failure(const std::string& channel) const noexcept try {
  std::istringstream text(read_at_most(folder_ / (channel + ".failed"), kMostManifestBytes));
  Failure failure;
  if (!(text >> failure.since >> std::ws)) return std::nullopt;
  std::getline(text, failure.why, '\0');
  return failure;
} catch (const std::exception&) {
  return std::nullopt;
}

void PulledFolder::note_failure(const std::string& channel, const std::string& why) const noexcept try {
  const fs::path file = folder_ / (channel + ".failed");
  if (why.empty()) {
    fs::remove(file);
    return;
  }
  const std::optional<Failure> before = failure(channel);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto since = before ? before->since : std::chrono::duration_cast<std::chrono::seconds>(now).count();
  std::ofstream(file, std::ios::binary) << since << '\n' << why;
} catch (const std::exception&) {  // The pull itself reports its failure.
}

std::vector<std::string> PulledFolder::channels() const {
  std::set<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& each : fs::directory_iterator(folder_, ignored)) {
    const std::string name = each.path().stem().string(), kind = each.path().extension().string();
    if (is_channel_name(name) && (kind == ".json" || kind == ".db" || kind == ".failed")) names.insert(name);
  }
  return {names.begin(), names.end()};
}

void PulledFolder::forget_old(std::size_t kept) const {
  forget_drafts(folder_);
  std::set<std::string> used;
  std::error_code ignored;
  for (const fs::directory_entry& each : fs::directory_iterator(folder_, ignored)) {
    if (const auto hash = linked(each.path().stem().string())) used.insert(*hash);
  }
  const std::vector<fs::path> files = newest_first(folder_ / "snapshots", {".db", ".part"});
  for (std::size_t i = kept; i < files.size(); ++i) {
    if (!used.contains(files[i].stem().string()) && !is_open_elsewhere(files[i])) fs::remove(files[i], ignored);
  }
}

}  // namespace tilewright
