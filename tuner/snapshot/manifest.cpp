// SPDX-License-Identifier: Apache-2.0
#include "tuner/snapshot/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cache/base/decode.hpp"
#include "cache/base/error.hpp"
#include "cache/base/json_fields.hpp"
#include "cache/base/sha256.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr std::size_t kMostText = 100;
constexpr std::int64_t kMostSequence = std::int64_t{1} << 53;

nlohmann::ordered_json json_of(const Manifest& manifest) {
  return {{"format", kFormat},
          {"channel", manifest.channel},
          {"sequence", manifest.sequence},
          {"snapshot", "sha256:" + manifest.snapshot},
          {"bytes", manifest.bytes},
          {"content", manifest.content},
          {"schema", manifest.schema},
          {"tilewright", manifest.tilewright},
          {"signed_at", manifest.signed_at}};
}

std::int64_t number(JsonObject& object, const char* name, std::int64_t least) {
  const std::int64_t value = object.integer(name);
  if (value < least || value > kMostSequence)
    object.fail(fmt::format("'{}' is not a number from {} to {}", name, least, kMostSequence));
  return value;
}

Manifest decode(const nlohmann::json& json) {
  JsonObject object(json, "manifest", JsonOf::request);
  if (object.integer("format") != kFormat) object.fail("its 'format' is not 1: use a newer Tilewright");
  Manifest manifest;
  manifest.channel = object.text("channel");
  if (!is_channel_name(manifest.channel)) object.fail("'channel' is not a channel name");
  manifest.sequence = number(object, "sequence", 1);
  manifest.snapshot = hash_of_pin(object.text("snapshot"));
  manifest.bytes = number(object, "bytes", 1);
  manifest.content = object.text("content");
  if (!is_hexadecimal(manifest.content, 32)) object.fail("'content' is not 32 hexadecimal digits");
  manifest.schema = number(object, "schema", 1);
  manifest.tilewright = object.text("tilewright");
  if (manifest.tilewright.size() > kMostText) object.fail("'tilewright' is too long for a version");
  manifest.signed_at = number(object, "signed_at", 0);
  object.finish();
  return manifest;
}

}  // namespace

std::string signed_text(const Manifest& manifest) { return json_of(manifest).dump(); }

SignedManifest sign(const Manifest& manifest, const PrivateKey& key) {
  return {manifest, key.sign(signed_text(manifest))};
}

bool is_signed(const SignedManifest& given, const PublicKeys& keys) {
  return keys.verify(signed_text(given.manifest), given.signature);
}

std::string document_of(const SignedManifest& given) {
  return nlohmann::ordered_json{{"manifest", json_of(given.manifest)}, {"signature", given.signature}}.dump(2) + "\n";
}

SignedManifest read_manifest(std::string_view document) {
  const Decoded decoded = decode_json(document);
  JsonObject object(*decoded, "signed manifest", JsonOf::request);
  SignedManifest given{decode(object.object("manifest")), object.text("signature")};
  if (!is_hexadecimal(given.signature, 128)) object.fail("'signature' is not 128 hexadecimal digits");
  object.finish();
  return given;
}

bool is_snapshot_hash(std::string_view text) noexcept { return is_hexadecimal(text, 64); }

std::string hash_of_pin(std::string_view pin) {
  if (auto hash = sha256_named(pin)) return *std::move(hash);
  throw UsageError(fmt::format("'{}' names no snapshot: write sha256: and 64 lower-case hexadecimal digits", pin));
}

bool is_channel_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 32 && text.front() >= 'a' && text.front() <= 'z' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

}  // namespace tilewright
