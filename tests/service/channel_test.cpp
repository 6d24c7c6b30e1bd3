// SPDX-License-Identifier: Apache-2.0
// Snapshots and channels.
#include <fmt/format.h>

#include <fstream>

#include "cache/store/pack/sha256.hpp"
#include "tests/service/fixture.hpp"
#include "tuner/service/tokens.hpp"
#include "tuner/snapshot/manifest.hpp"

namespace tilewright::testing {
namespace {

class Channels : public ServiceTest {
 protected:
  Channels() {
    make_key_pair(folder / "key");
    settings.publishers = folder / "key.pub";
    std::ofstream(folder / "file", std::ios::binary) << kText;
    hash_ = sha256_of(folder / "file");
  }
  [[nodiscard]] static HttpAnswer put(const RunningService& service, const std::string& target,
                                      const std::string& piece, const std::string& more = "") {
    return ask(service.port(), "PUT", target, "Content-Type: application/octet-stream\r\n" + more, piece);
  }
  [[nodiscard]] std::string blob() const { return "/v1/blobs/" + hash_; }
  [[nodiscard]] Manifest manifest_of(std::int64_t sequence, const char* channel = "stable") const {
    return {channel, sequence, hash_, 10, std::string(32, 'b'), 7, "0.1.0", 1};
  }
  [[nodiscard]] SignedManifest manifest(std::int64_t sequence, const char* channel = "stable") const {
    return sign(manifest_of(sequence, channel), PrivateKey(folder / "key"));
  }

  static constexpr const char* kText = "0123456789";
  std::string hash_;
};

TEST_F(Channels, take_a_snapshot_in_pieces_then_a_manifest_and_give_both) {
  const RunningService service(settings);
  EXPECT_EQ(service.get("/v1/channels/stable").status, 404);
  EXPECT_EQ(service.get(blob()).status, 404);
  EXPECT_EQ(service.post("/v1/channels/stable", document_of(manifest(1))).status, 409) << "without its snapshot";
  EXPECT_EQ(put(service, blob() + "?bytes=10", "01234").status, 200);
  EXPECT_EQ(ask(service.port(), "HEAD", blob()).headers["upload-offset"], "5");
  const HttpAnswer other = put(service, blob() + "?bytes=10&from=7", "789");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(HttpAnswer(other).headers["upload-offset"], "5");
  EXPECT_EQ(put(service, blob() + "?bytes=10&from=5", "56789").status, 201);
  EXPECT_EQ(put(service, blob() + "?bytes=10", "01234").status, 201) << "again";
  EXPECT_EQ(service.post("/v1/channels/stable", document_of(manifest(1))).status, 200);
  const HttpAnswer now = service.get("/v1/channels/stable");
  EXPECT_EQ(now.body, document_of(manifest(1)));
  EXPECT_EQ(service.get("/v1/channels/stable", "If-None-Match: " + HttpAnswer(now).headers["etag"] + "\r\n").status,
            304);
  HttpAnswer whole = service.get(blob());
  EXPECT_EQ(whole.body, kText);
  EXPECT_EQ(whole.headers["etag"], '"' + hash_ + '"');
  EXPECT_EQ(whole.headers["cache-control"], "max-age=31536000, immutable");
  EXPECT_EQ(service.get(blob(), "If-None-Match: \"" + hash_ + "\"\r\n").status, 304);
  HttpAnswer head = ask(service.port(), "HEAD", blob());
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers["content-length"], "10");
}

TEST_F(Channels, give_a_part_of_a_snapshot) {
  const RunningService service(settings);
  ASSERT_EQ(put(service, blob() + "?bytes=10", kText).status, 201);
  const auto part = [&](const std::string& range, const std::string& more = "") {
    HttpAnswer answer = service.get(blob(), "Range: " + range + "\r\n" + more);
    return fmt::format("{} {} {}", answer.status, answer.headers["content-range"],
                       answer.status < 300 ? answer.body : "");
  };
  EXPECT_EQ(part("bytes=2-4"), "206 bytes 2-4/10 234");
  EXPECT_EQ(part("bytes=7-"), "206 bytes 7-9/10 789");
  EXPECT_EQ(part("bytes=0-"), "206 bytes 0-9/10 0123456789");
  EXPECT_EQ(part("bytes=7-99"), "206 bytes 7-9/10 789");
  EXPECT_EQ(part("bytes=7-18446744073709551615"), "206 bytes 7-9/10 789");
  EXPECT_EQ(part("bytes=-3"), "206 bytes 7-9/10 789");
  EXPECT_EQ(part("bytes=-99"), "206 bytes 0-9/10 0123456789");
  EXPECT_EQ(part("bytes=0-0"), "206 bytes 0-0/10 0");
  EXPECT_EQ(part("bytes=10-"), "416 bytes */10 ");
  EXPECT_EQ(part("bytes=-0"), "416 bytes */10 ");
  for (const char* all :
       {"bytes=4-2", "bytes=x-", "bytes=", "lines=1-2", "bytes=1-2,4-5", "bytes=99999999999999999999-"}) {
    EXPECT_EQ(part(all), "200  0123456789") << all;
  }
  EXPECT_EQ(part("bytes=2-4", "If-Range: \"" + hash_ + "\"\r\n"), "206 bytes 2-4/10 234");
  EXPECT_EQ(part("bytes=2-4", "If-Range: \"other\"\r\n"), "200  0123456789");
}

TEST_F(Channels, large_snapshots_go_out_block_by_block) {
  std::string text(std::size_t{3} << 20, 'x');
  for (std::size_t i = 0; i < text.size(); i += 97) text[i] = static_cast<char>('a' + i % 26);
  std::ofstream(folder / "file", std::ios::binary) << text;
  hash_ = sha256_of(folder / "file");
  const RunningService service(settings);
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::size_t from = 0; from < text.size(); from += kPiece) {
    const std::string where = from == 0 ? "" : fmt::format("&from={}", from);
    EXPECT_LT(put(service, fmt::format("{}?bytes={}{}", blob(), text.size(), where), text.substr(from, kPiece)).status,
              300);
  }
  EXPECT_TRUE(service.get(blob()).body == text);
  EXPECT_TRUE(service.get(blob(), "Range: bytes=1000001-\r\n").body == text.substr(1000001));
}

TEST_F(Channels, refuse_what_is_not_signed_and_what_was_before) {
  const RunningService service(settings);
  ASSERT_EQ(put(service, blob() + "?bytes=10", kText).status, 201);
  make_key_pair(folder / "other");
  SignedManifest forged = sign(manifest(1).manifest, PrivateKey(folder / "other"));
  const auto status = [&](const SignedManifest& given, const char* channel = "stable") {
    return service.post(fmt::format("/v1/channels/{}", channel), document_of(given)).status;
  };
  EXPECT_EQ(status(forged), 403);
  forged = manifest(1);
  forged.manifest.sequence = 9;
  EXPECT_EQ(status(forged), 403) << "changed after it was signed";
  EXPECT_EQ(status(manifest(1, "candidate")), 400) << "of another channel";
  EXPECT_EQ(status(manifest(3)), 200);
  EXPECT_EQ(status(manifest(3)), 200) << "sent again";
  EXPECT_EQ(status(manifest(2)), 409) << "replayed";
  const HttpAnswer why = service.post("/v1/channels/stable", document_of(manifest(2)));
  EXPECT_TRUE(contains(why.json()["next"], "number after that of GET /v1/channels/stable")) << why.body;
  EXPECT_EQ(service.get("/v1/channels/stable").json()["manifest"]["sequence"], 3);
  for (const char* bad : {"{}", "[]", "{", "", R"({"manifest": {}, "signature": ""})"}) {
    EXPECT_EQ(service.post("/v1/channels/stable", bad).status, 400) << bad;
  }
}

TEST_F(Channels, know_a_new_key_without_a_restart_and_the_old_ones_while_the_file_is_broken) {
  const RunningService service(settings);
  ASSERT_EQ(put(service, blob() + "?bytes=10", kText).status, 201);
  const auto refusal = [&](std::int64_t sequence) {
    return service.post("/v1/channels/stable", document_of(manifest(sequence))).status;
  };
  std::filesystem::rename(folder / "key", folder / "old");
  std::filesystem::rename(folder / "key.pub", folder / "old.pub");
  EXPECT_EQ(service.post("/v1/channels/stable", document_of(sign(manifest_of(1), PrivateKey(folder / "old")))).status,
            200)
      << "the file is gone, and what it said stays";
  make_key_pair(folder / "key");
  EXPECT_EQ(refusal(2), 200);
  EXPECT_EQ(service.post("/v1/channels/stable", document_of(sign(manifest_of(3), PrivateKey(folder / "old")))).status,
            403);
  std::ofstream(folder / "key.pub") << "no key";
  EXPECT_EQ(refusal(3), 200);
  const auto is_told = [](const nlohmann::json& event) {
    return event["event"] == "error" && contains(event["text"], "The keys that were read before stay in force");
  };
  EXPECT_EQ(std::ranges::count_if(service.events(), is_told), 2);
}

TEST_F(Channels, refuse_bytes_that_are_not_the_hashs_and_names_that_are_none) {
  const RunningService service(settings);
  EXPECT_EQ(put(service, blob() + "?bytes=10", "9876543210").status, 422);
  EXPECT_EQ(service.get(blob()).status, 404);
  for (const char* name : {"x", "..", "%2e%2e%2fchannels", "ABCDEF", "%00"}) {
    const std::string target = fmt::format("/v1/blobs/{}", name);
    EXPECT_GE(put(service, target + "?bytes=10", kText).status, 400) << name;
    EXPECT_GE(service.get(target).status, 400) << name;
    EXPECT_LT(service.get(target).status, 500) << name;
    EXPECT_EQ(service.get(fmt::format("/v1/channels/{}", name)).status, name[0] == '%' && name[1] == '0' ? 400 : 404)
        << name;
  }
  EXPECT_EQ(put(service, blob(), kText).status, 400) << "of what size";
  EXPECT_EQ(put(service, blob() + "?bytes=99999999999999999", "x").status, 400);
  EXPECT_EQ(service.post(blob() + "?bytes=10", kText).status, 405);
  EXPECT_EQ(ask(service.port(), "PUT", blob() + "?bytes=10", "Content-Type: text/plain\r\n", kText).status, 415);
}

TEST_F(Channels, nobody_publishes_where_no_key_is_known_nothing_is_written_or_the_token_does_not_say_so) {
  settings.publishers.reset();
  {
    const RunningService service(settings);
    EXPECT_EQ(put(service, blob() + "?bytes=10", kText).status, 403);
    const HttpAnswer answer = service.post("/v1/channels/stable", document_of(manifest(1)));
    EXPECT_EQ(answer.status, 403);
    EXPECT_TRUE(contains(answer.json()["next"], "--publishers")) << answer.body;
  }
  settings.publishers = folder / "key.pub";
  settings.read_only = true;
  {
    const RunningService service(settings);
    EXPECT_EQ(put(service, blob() + "?bytes=10", kText).status, 403);
  }
  EXPECT_FALSE(std::filesystem::exists(cache() + "-channels"));
  settings.read_only = false;
  settings.tokens = folder / "tokens.json";
  const auto token = [&](const char* name, service::Scope scope) {
    return "Authorization: Bearer " + service::add_token(*settings.tokens, name, {scope}, {}) + "\r\n";
  };
  const std::string reader = token("reader", service::Scope::read),
                    publisher = token("publisher", service::Scope::publish);
  RunningService service(settings);
  EXPECT_EQ(put(service, blob() + "?bytes=10", kText).status, 401);
  EXPECT_EQ(put(service, blob() + "?bytes=10", kText, reader).status, 403);
  EXPECT_EQ(put(service, blob() + "?bytes=10", kText, publisher).status, 201);
  EXPECT_EQ(service.get(blob()).status, 401);
  EXPECT_EQ(service.get(blob(), reader).status, 200);
  service.stop();
  settings.port = 0;
  settings.publishers = folder / "key";
  EXPECT_TRUE(contains(error_of([&] { const service::Service made(settings, [](const nlohmann::ordered_json&) {}); }),
                       "no public Ed25519 key"));
}

}  // namespace
}  // namespace tilewright::testing
