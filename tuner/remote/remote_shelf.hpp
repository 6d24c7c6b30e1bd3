// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tuner/remote/http_client.hpp"
#include "tuner/snapshot/place.hpp"

namespace tilewright {

/// Snapshots and channels of a service. Resumes interrupted transfers: a fetch by Range, an upload piece by piece.
class RemoteShelf final : public SnapshotPlace {
 public:
  explicit RemoteShelf(HttpClient& client) : client_(client) {}

  [[nodiscard]] std::string title() const override { return client_.url().text(); }
  [[nodiscard]] std::optional<SignedManifest> manifest(const std::string& channel) override;
  void put_manifest(const SignedManifest& given) override;
  void put_snapshot(const std::filesystem::path& file, const std::string& hash) override;
  void fetch(const std::string& hash, std::uintmax_t most, const std::filesystem::path& part) override;

 private:
  HttpClient& client_;
  /// ETag and manifest of each channel's last answer, for If-None-Match.
  std::map<std::string, std::pair<std::string, SignedManifest>> known_;
};

/// A place and, for a service, the client that it uses.
struct NamedPlace {
  std::unique_ptr<HttpClient> client;
  std::unique_ptr<SnapshotPlace> place;
};
/// The service of a URL, else the folder of that name. Throws UsageError for an invalid URL.
[[nodiscard]] NamedPlace open_snapshot_place(const std::string& word, const ClientSettings& settings);

}  // namespace tilewright
