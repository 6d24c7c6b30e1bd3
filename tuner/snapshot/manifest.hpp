// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tuner/snapshot/keys.hpp"

/// The manifest of a channel: its snapshot, by hash and number, signed (decision 290). Pure functions, for any thread.
namespace tilewright {

struct Manifest {
  /// "stable": a manifest of one channel is none of another.
  std::string channel;
  /// Grows with each manifest of a channel. Clocks play no part in which is the newer.
  std::int64_t sequence = 0;
  /// SHA-256 of the file, 64 hexadecimal digits.
  std::string snapshot;
  std::int64_t bytes = 0;
  /// WholeFile::digest(): of the content alone, to compare what was folded in another order.
  std::string content;
  std::int64_t schema = 0;
  /// Version that made it.
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

/// The bytes that are signed: compact JSON of all fields, in this order.
[[nodiscard]] std::string signed_text(const Manifest& manifest);
[[nodiscard]] SignedManifest sign(const Manifest& manifest, const PrivateKey& key);
[[nodiscard]] bool is_signed(const SignedManifest& given, const PublicKeys& keys);

/// A manifest as JSON, and read from it. Throws UsageError for a text that is no manifest: unknown fields are refused,
/// since nothing that is not signed is read.
[[nodiscard]] std::string document_of(const SignedManifest& given);
[[nodiscard]] SignedManifest read_manifest(std::string_view document);

/// 64 lower-case hexadecimal digits.
[[nodiscard]] bool is_snapshot_hash(std::string_view text) noexcept;
/// The digits of "sha256:…". Throws UsageError for what is none.
[[nodiscard]] std::string hash_of_pin(std::string_view pin);
/// 1 to 32 of a-z, 0-9 and -, the first a letter: safe as a file's name and in a path.
[[nodiscard]] bool is_channel_name(std::string_view text) noexcept;

}  // namespace tilewright
