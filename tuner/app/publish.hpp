// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/app/remote_place.hpp"
#include "tuner/report/table.hpp"

/// Publishes a cache as a snapshot that others pull.
namespace tilewright::app {

/// Makes a pair of keys: `file` and `file`.pub. Throws Error if one of them exists.
void make_keys(const std::filesystem::path& file);

struct PublishRequest {
  Place place;
  RemotePlace to;
  /// The publisher's private key.
  std::filesystem::path key;
  std::string channel = "candidate";
};

struct Published {
  SignedManifest now;
  /// False if the channel has this content already.
  bool is_new = true;
};

/// Makes a snapshot of the winners and of all that serving needs, and points a channel at it. Throws UsageError if a
/// file is no key or a name is no place, Error if there is no winner or the place refuses the snapshot.
[[nodiscard]] Published publish(const PublishRequest& request);

/// The snapshot that a channel points at.
[[nodiscard]] Table table_of(const SignedManifest& now, const std::string& title);

/// The number of the next manifest of a channel.
[[nodiscard]] std::int64_t next_sequence(const std::optional<SignedManifest>& now);

}  // namespace tilewright::app
