// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "tuner/app/place.hpp"
#include "tuner/app/remote_place.hpp"
#include "tuner/report/table.hpp"

/// A cache as a snapshot that others pull.
namespace tilewright::app {

/// A pair of keys: `file` and `file`.pub. Throws Error where one of them is there.
void make_keys(const std::filesystem::path& file);

struct PublishRequest {
  Place place;
  RemotePlace to;
  /// The publisher's.
  std::filesystem::path key;
  std::string channel = "candidate";
};

struct Published {
  SignedManifest now;
  /// False: the channel has this content already.
  bool is_new = true;
};

/// Makes a snapshot of the winners and of all that serving needs, and points a channel at it. Throws UsageError for a
/// file that is no key and a name that is no place, Error where there is no winner or the place does not take it.
[[nodiscard]] Published publish(const PublishRequest& request);

/// The snapshot that a channel points at.
[[nodiscard]] Table table_of(const SignedManifest& now, const std::string& title);

/// The number of the next manifest of a channel.
[[nodiscard]] std::int64_t next_sequence(const std::optional<SignedManifest>& now);

}  // namespace tilewright::app
