// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tuner/snapshot/keys.hpp"

/// A channel's signed manifest: the hash and number of its snapshot (decision 290). Pure functions, for any thread.
namespace tilewright {

struct Manifest {
  /// "stable": a manifest is valid for its channel only.
  std::string channel;
  /// Grows with each manifest of a channel and alone decides which is newer; clocks do not.
  std::int64_t sequence = 0;
  /// SHA-256 of the file, 64 hexadecimal digits.
  std::string snapshot;
  std::int64_t bytes = 0;
  /// WholeFile::digest(): of the content alone, equal for files folded in different orders.
  std::string content;
  std::int64_t schema = 0;
  /// The version of Tilewright that made it.
  std::string tilewright;
  /// Seconds since 1970 by the publisher's clock, for people.
  std::int64_t signed_at = 0;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

struct SignedManifest {
  Manifest manifest;
  std::string signature;

  friend bool operator==(const SignedManifest&, const SignedManifest&) = default;
};

/// The signed bytes: compact JSON of "format" and all fields, in this order.
[[nodiscard]] std::string signed_text(const Manifest& manifest);
[[nodiscard]] SignedManifest sign(const Manifest& manifest, const PrivateKey& key);
[[nodiscard]] bool is_signed(const SignedManifest& given, const PublicKeys& keys);

/// Writes and reads a manifest as JSON. Reading throws UsageError if the text is no manifest; it refuses unknown
/// fields, since they would not be signed.
[[nodiscard]] std::string document_of(const SignedManifest& given);
[[nodiscard]] SignedManifest read_manifest(std::string_view document);

/// 64 lower-case hexadecimal digits.
[[nodiscard]] bool is_snapshot_hash(std::string_view text) noexcept;
/// The digits of "sha256:…". Throws UsageError for another text.
[[nodiscard]] std::string hash_of_pin(std::string_view pin);
/// 1 to 32 of a-z, 0-9 and -, the first a letter: safe in file names and URLs.
[[nodiscard]] bool is_channel_name(std::string_view text) noexcept;

}  // namespace tilewright
