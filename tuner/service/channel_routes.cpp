// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/channel_routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "tuner/service/followed.hpp"
#include "tuner/service/problem.hpp"
#include "tuner/snapshot/shelf.hpp"

namespace tilewright::service {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifestSchema = R"({
  "type": "object", "required": ["manifest", "signature"], "additionalProperties": false,
  "properties": {
    "manifest": {"type": "object", "additionalProperties": false,
      "required": ["format", "channel", "sequence", "snapshot", "bytes", "content", "schema", "tilewright", "signed_at"],
      "properties": {
        "format": {"type": "integer", "const": 1},
        "channel": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,31}$"},
        "sequence": {"type": "integer", "minimum": 1},
        "snapshot": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
        "bytes": {"type": "integer", "minimum": 1},
        "content": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "schema": {"type": "integer", "minimum": 1},
        "tilewright": {"type": "string", "maxLength": 100},
        "signed_at": {"type": "integer", "minimum": 0}}},
    "signature": {"type": "string", "pattern": "^[0-9a-f]{128}$", "description": "Ed25519, of the manifest's compact JSON"}}})";

constexpr const char* kPieceSchema = R"({"type": "string", "format": "binary", "maxLength": 1048576})";

struct Range {
  std::uint64_t from = 0;
  /// One past the last byte.
  std::uint64_t end = 0;
};

bool read_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Parses a Range header. Nullopt, for the whole file, if it is malformed or has several ranges. `end` 0: outside.
std::optional<Range> parse_range(std::string_view text, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  Range range{0, size};
  if (text.starts_with('-')) {
    text.remove_prefix(1);
    std::uint64_t last = 0;
    if (!read_number(text, last) || !text.empty()) return std::nullopt;
    range.from = size - std::min(last, size);
  } else {
    if (!read_number(text, range.from) || !text.starts_with('-')) return std::nullopt;
    text.remove_prefix(1);
    if (!text.empty()) {
      std::uint64_t last = 0;
      if (!read_number(text, last) || !text.empty() || last < range.from) return std::nullopt;
      // `last + 1` may overflow.
      if (last < size) range.end = last + 1;
    }
  }
  if (range.from >= range.end) return Range{};
  return range;
}

/// The hash in the path, or nullopt if it is not a hash, as with `..`.
std::optional<std::string> hash_of(const Call& call) {
  const std::string& text = call.path_values.at("hash");
  return is_snapshot_hash(text) ? std::optional(text) : std::nullopt;
}

Response no_snapshot(const Call& call) {
  return problem(404, fmt::format("there is no snapshot {}", call.path_values.at("hash")),
                 "GET /v1/channels/stable gives the hash of one; only the newest are kept.");
}

Response give(const Shelf& shelf, const Call& call) {
  const std::optional<std::string> hash = hash_of(call);
  const auto path = hash ? shelf.snapshot(*hash) : std::nullopt;
  if (!path) {
    Response response = no_snapshot(call);
    if (hash) response.headers.emplace_back("Upload-Offset", std::to_string(shelf.received(*hash)));
    return response;
  }
  Response response;
  response.type = "application/vnd.sqlite3";
  response.file = {std::make_shared<std::ifstream>(*path, std::ios::binary), fs::file_size(*path)};
  const std::string etag = fmt::format("\"{}\"", *hash);
  response.headers = {{"ETag", etag}, {"Cache-Control", "max-age=31536000, immutable"}, {"Accept-Ranges", "bytes"}};
  const std::string condition = call.request.header("if-range");
  if (!condition.empty() && condition != etag) return response;
  const std::uint64_t size = response.file.bytes;
  const std::optional<Range> range = parse_range(call.request.header("range"), size);
  if (!range) return response;
  if (range->end == 0) {
    response = problem(416, fmt::format("the snapshot has {} bytes", size), "Ask without Range.");
    response.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    return response;
  }
  response.status = 206;
  response.file.file->seekg(static_cast<std::streamoff>(range->from));
  response.file.bytes = range->end - range->from;
  response.headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", range->from, range->end - 1, size));
  return response;
}

Response take_piece(Shelf& shelf, const Call& call) {
  const std::optional<std::string> hash = hash_of(call);
  if (!hash) return problem(400, "a snapshot's name is the SHA-256 of its file: 64 lower-case hexadecimal digits");
  const auto number = [&](const char* name) { return call.value(name) ? std::stoull(call.text(name)) : 0ULL; };
  const std::uint64_t bytes = number("bytes"), from = number("from");
  if (bytes > kMostSnapshotBytes) {
    return problem(400, fmt::format("the snapshot has {} bytes; at most {} are accepted", bytes, kMostSnapshotBytes));
  }
  Response response;
  const auto tell = [&](std::uint64_t received) { response.body = fmt::format("{{\"received\": {}}}\n", received); };
  switch (shelf.take_piece(*hash, bytes, from, call.request.body)) {
    case Shelf::Piece::taken:
      tell(from + call.request.body.size());
      break;
    case Shelf::Piece::whole:
      tell(bytes);
      response.status = 201;
      break;
    case Shelf::Piece::other:
      response = problem(409,
                         fmt::format("a piece of {} bytes at {} is not the next of a snapshot of {} bytes",
                                     call.request.body.size(), from, bytes),
                         "Upload-Offset gives the start of the next piece; a piece at 0 starts anew.");
      response.headers.emplace_back("Upload-Offset", std::to_string(shelf.received(*hash)));
      break;
    case Shelf::Piece::wrong:
      response = problem(422, "the bytes do not have the hash in the path and were discarded", "Send them again.");
      break;
  }
  return response;
}

Response nobody_publishes() {
  return problem(403, "this service has no keys of publishers", "Start it with --publishers FILE.pub.");
}

Response take_manifest(Shelf& shelf, const PublicKeys& keys, const Call& call) {
  const SignedManifest given = read_manifest(call.request.body);
  const std::string& channel = call.path_values.at("channel");
  if (given.manifest.channel != channel) {
    return problem(400, fmt::format("the manifest is of the channel {}, not of {}", given.manifest.channel, channel),
                   "Sign one for each channel.");
  }
  if (!is_signed(given, keys)) {
    return problem(403, "no publisher of this service has signed the manifest",
                   "Sign it with a key whose public half the service has (--publishers).");
  }
  switch (shelf.take_manifest(given)) {
    case Shelf::Taken::taken:
    case Shelf::Taken::known:
      break;
    case Shelf::Taken::stale:
      return problem(
          409, fmt::format("the channel {} has a manifest of number {} or higher", channel, given.manifest.sequence),
          fmt::format("Sign one with the number after that of GET /v1/channels/{}.", channel));
    case Shelf::Taken::no_snapshot:
      return problem(
          409,
          fmt::format("the snapshot sha256:{} of {} bytes is not here", given.manifest.snapshot, given.manifest.bytes),
          "PUT it to /v1/blobs first.");
  }
  Response response;
  response.body = document_of(given);
  return response;
}

}  // namespace

void add_channel_routes(Router& router, const fs::path& folder, const std::optional<fs::path>& publishers,
                        std::function<void(const std::string&)> told) {
  const auto shelf = std::make_shared<Shelf>(folder);
  std::shared_ptr<Followed<PublicKeys>> keys;
  if (publishers) {
    const auto read = [file = *publishers] { return PublicKeys(file); };
    keys = std::make_shared<Followed<PublicKeys>>(std::vector{*publishers}, read, "The keys", std::move(told));
  }
  Route channel{.method = "GET",
                .path = "/v1/channels/{channel}",
                .summary = "The signed manifest of a channel: its snapshot, by hash and number",
                .statuses = {200, 404},
                .of_cache = false};
  channel.handler = [shelf](const Call& call) {
    const std::string& name = call.path_values.at("channel");
    const auto now = is_channel_name(name) ? shelf->manifest(name) : std::nullopt;
    if (!now) {
      return problem(404, fmt::format("there is no channel {}", name),
                     "`tilewright publish` makes candidate, "
                     "`tilewright promote` stable.");
    }
    Response response;
    response.body = document_of(*now);
    return response;
  };
  router.add(std::move(channel));
  Route point{.method = "POST",
              .path = "/v1/channels/{channel}",
              .scope = Scope::publish,
              .summary = "Point a channel at a snapshot, by a manifest that a publisher has signed",
              .body_schema = kManifestSchema,
              .statuses = {200, 409}};
  point.handler = [shelf, keys](const Call& call) {
    return keys ? take_manifest(*shelf, *keys->now(), call) : nobody_publishes();
  };
  router.add(std::move(point));
  Route blob{.method = "GET",
             .path = "/v1/blobs/{hash}",
             .summary = "A snapshot, by the SHA-256 of its file; takes Range",
             .answer_type = "application/vnd.sqlite3",
             .statuses = {200, 206, 404, 416},
             .of_cache = false};
  blob.handler = [shelf](const Call& call) { return give(*shelf, call); };
  router.add(std::move(blob));
  Route piece{.method = "PUT",
              .path = "/v1/blobs/{hash}",
              .scope = Scope::publish,
              .summary = "A piece of a snapshot, one after the other; 201 when it is whole",
              .parameters = {{"bytes", "the size of the whole", true, {}, "integer"},
                             {"from", "where the piece begins; the first, at 0, has none", false, {}, "integer"}},
              .body_schema = kPieceSchema,
              .body_type = "application/octet-stream",
              .statuses = {200, 201, 409, 422}};
  piece.handler = [shelf, keys](const Call& call) { return keys ? take_piece(*shelf, call) : nobody_publishes(); };
  router.add(std::move(piece));
}

}  // namespace tilewright::service
