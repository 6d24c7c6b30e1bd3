// SPDX-License-Identifier: Apache-2.0
#include "tuner/remote/remote_shelf.hpp"

#include <fmt/format.h>
#include <charconv>
#include <fstream>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/remote/unreachable.hpp"
#include "tuner/snapshot/files.hpp"
#include "tuner/snapshot/shelf.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

/// The most bytes that a service takes in one request.
constexpr std::size_t kPiece = std::size_t{1} << 20;

/// Throws Unreachable for statuses of a service that is overloaded or restarts, else Error.
[[noreturn]] void refuse(const HttpAnswer& answer, const std::string& what) {
  const std::string text = fmt::format("{}: {}", what, refusal_text(answer));
  if (answer.status >= 500 || answer.status == 429 || answer.status == 408) throw Unreachable(text);
  throw Error(text);
}

std::uintmax_t number_of(std::string_view text) {
  std::uintmax_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::optional<SignedManifest> RemoteShelf::manifest(const std::string& channel) {
  const auto known = known_.find(channel);
  HttpClient::Headers headers;
  if (known != known_.end()) headers.emplace_back("If-None-Match", known->second.first);
  const HttpAnswer answer = client_.ask("GET", "/v1/channels/" + channel, headers);
  if (answer.status == 304 && known != known_.end()) return known->second.second;
  if (answer.status == 404) return std::nullopt;
  if (answer.status != 200) refuse(answer, fmt::format("cannot read the channel {} of {}", channel, title()));
  try {
    SignedManifest given = read_manifest(answer.body);
    if (const std::string etag = answer.header("etag"); !etag.empty())
      known_.insert_or_assign(channel, std::pair(etag, given));
    return given;
  } catch (const UsageError& error) {
    throw Error(fmt::format("the channel {} of {} is invalid: {}", channel, title(), error.what()));
  }
}

void RemoteShelf::put_manifest(const SignedManifest& given) {
  const HttpAnswer answer = client_.ask("POST", "/v1/channels/" + given.manifest.channel,
                                        {{"Content-Type", "application/json"}}, document_of(given));
  if (answer.status != 200) refuse(answer, fmt::format("{} refuses the manifest", title()));
}

void RemoteShelf::put_snapshot(const fs::path& file, const std::string& hash) {
  const std::string path = "/v1/blobs/" + hash;
  const HttpAnswer there = client_.ask("HEAD", path);
  if (there.status == 200) return;
  if (there.status != 404) refuse(there, fmt::format("cannot tell whether {} has the snapshot", title()));
  const std::uintmax_t bytes = fs::file_size(file);
  std::uintmax_t from = number_of(there.header("upload-offset"));
  // All bytes are there, but were not accepted as the snapshot: send them again.
  if (from >= bytes) from = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string piece;
  while (from < bytes) {
    piece.resize(std::min<std::uintmax_t>(kPiece, bytes - from));
    stream.seekg(static_cast<std::streamoff>(from));
    if (!stream.read(piece.data(), static_cast<std::streamsize>(piece.size()))) {
      throw Error(fmt::format("the snapshot {} cannot be read", file.string()));
    }
    const std::string where = from == 0 ? "" : fmt::format("&from={}", from);
    const HttpAnswer answer = client_.ask("PUT", fmt::format("{}?bytes={}{}", path, bytes, where),
                                          {{"Content-Type", "application/octet-stream"}}, piece);
    if (answer.status != 200 && answer.status != 201) refuse(answer, fmt::format("{} refuses the snapshot", title()));
    if (answer.status == 201) return;
    from += piece.size();
  }
}

void RemoteShelf::fetch(const std::string& hash, std::uintmax_t most, const fs::path& part) {
  GrowingFile end(part);
  if (end.size() >= most) end.begin_anew();
  const std::string path = "/v1/blobs/" + hash;
  HttpClient::Headers headers;
  if (end.size() > 0) headers.emplace_back("Range", fmt::format("bytes={}-", end.size()));
  bool is_first = true;
  const auto take = [&](const HttpAnswer& head, std::string_view bytes) {
    // A server may ignore Range and send the whole file.
    if (std::exchange(is_first, false) && head.status != 206) end.begin_anew();
    if (end.size() + bytes.size() > most) {
      throw Error(fmt::format("the snapshot sha256:{} of {} is longer than its manifest says", hash, title()));
    }
    end.add(bytes);
  };
  HttpAnswer answer = client_.ask("GET", path, headers, {}, take);
  if (answer.status == 416) {
    is_first = true;
    answer = client_.ask("GET", path, {}, {}, take);
  }
  if (answer.status == 200 || answer.status == 206) return;
  refuse(answer, fmt::format("cannot fetch the snapshot from {}", title()));
}

NamedPlace open_snapshot_place(const std::string& word, const ClientSettings& settings) {
  NamedPlace named;
  if (looks_like_url(word)) {
    named.client = std::make_unique<HttpClient>(parse_url(word), settings);
    named.place = std::make_unique<RemoteShelf>(*named.client);
  } else {
    named.place = std::make_unique<Shelf>(word);
  }
  return named;
}

}  // namespace tilewright
