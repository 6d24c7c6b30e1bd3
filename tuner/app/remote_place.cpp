// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/remote_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cache/base/clock.hpp"
#include "cache/base/error.hpp"
#include "cache/base/file_facts.hpp"
#include "cache/store/pack/sha256.hpp"
#include "tuner/snapshot/files.hpp"

namespace tilewright::app {
namespace {

std::string token_of(const RemotePlace& remote) {
  const char* const value = std::getenv("TILEWRIGHT_TOKEN");
  if (!remote.token && value == nullptr) return "";
  std::string token = remote.token ? read_at_most(*remote.token, 4096) : value;
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (!remote.token && token.empty()) return "";
  if (token.empty() || token.find_first_of(" \t\r\n") != std::string::npos) {
    throw UsageError(fmt::format("{} has no token: one line, as `tilewright serve --new-token` prints it",
                                 remote.token ? remote.token->string() : "TILEWRIGHT_TOKEN"));
  }
  return token;
}

}  // namespace

NamedPlace open(const RemotePlace& remote) {
  ClientSettings settings;
  settings.authorities = remote.authorities;
  settings.cancelled = remote.cancelled;
  if (looks_like_url(remote.name)) settings.token = token_of(remote);
  return open_snapshot_place(remote.name, settings);
}

void fetch_verified(SnapshotPlace& from, const std::string& hash, std::uintmax_t most,
                    const std::filesystem::path& part) {
  from.fetch(hash, most, part);
  if (sha256_of(part) == hash) return;
  std::filesystem::remove(part);
  throw Error(
      fmt::format("the file that {} gives as sha256:{} has another hash, and was thrown away. Try again; if it happens "
                  "twice, the stored file is damaged",
                  from.title(), hash));
}

void require_channel(const std::string& name) {
  if (is_channel_name(name)) return;
  throw UsageError(fmt::format("'{}' is not a channel name: write one such as stable or candidate", name));
}

std::string age_text(std::int64_t moment) {
  const std::int64_t seconds = std::max<std::int64_t>(0, now_seconds() - moment);
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 7200) return fmt::format("{} min", seconds / 60);
  if (seconds < 172'800) return fmt::format("{} hours", seconds / 3600);
  return fmt::format("{} days", seconds / 86'400);
}

}  // namespace tilewright::app
