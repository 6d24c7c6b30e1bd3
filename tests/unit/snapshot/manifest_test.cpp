// SPDX-License-Identifier: Apache-2.0
#include "tuner/snapshot/manifest.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cache/base/error.hpp"
#include "tests/temporary_folder.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Manifest sample() { return {"stable", 7, std::string(64, 'a'), 4096, std::string(32, 'b'), 7, "0.1.0", 1'700'000'000}; }

SignedManifest signed_sample() { return {sample(), std::string(128, 'c')}; }

TEST(Manifests, are_read_as_they_were_written) {
  EXPECT_EQ(read_manifest(document_of(signed_sample())), signed_sample());
}

TEST(Manifests, sign_each_field) {
  const test::TemporaryFolder folder;
  make_key_pair(folder.path() / "key");
  const PrivateKey key(folder.path() / "key");
  const PublicKeys keys = key.public_keys();
  const SignedManifest good = sign(sample(), key);
  EXPECT_TRUE(is_signed(good, keys));
  const auto changed = [&](auto change) {
    SignedManifest other = good;
    change(other.manifest);
    return is_signed(other, keys);
  };
  EXPECT_FALSE(changed([](Manifest& m) { m.channel = "candidate"; }));
  EXPECT_FALSE(changed([](Manifest& m) { ++m.sequence; }));
  EXPECT_FALSE(changed([](Manifest& m) { m.snapshot[0] = 'f'; }));
  EXPECT_FALSE(changed([](Manifest& m) { ++m.bytes; }));
  EXPECT_FALSE(changed([](Manifest& m) { m.content[0] = 'f'; }));
  EXPECT_FALSE(changed([](Manifest& m) { ++m.schema; }));
  EXPECT_FALSE(changed([](Manifest& m) { m.tilewright = "0.2.0"; }));
  EXPECT_FALSE(changed([](Manifest& m) { ++m.signed_at; }));
}

TEST(Manifests, what_is_none_is_refused) {
  const nlohmann::json good = nlohmann::json::parse(document_of(signed_sample()));
  const auto refused = [&](const char* field, const nlohmann::json& value) {
    nlohmann::json other = good;
    other["manifest"][field] = value;
    return [text = other.dump()] { static_cast<void>(read_manifest(text)); };
  };
  EXPECT_THAT(refused("format", 2), ThrowsMessage<UsageError>(HasSubstr("newer Tilewright")));
  EXPECT_THAT(refused("channel", "../x"), ThrowsMessage<UsageError>(HasSubstr("'channel'")));
  EXPECT_THAT(refused("channel", ""), ThrowsMessage<UsageError>(HasSubstr("'channel'")));
  EXPECT_THAT(refused("sequence", 0), ThrowsMessage<UsageError>(HasSubstr("'sequence'")));
  EXPECT_THAT(refused("sequence", INT64_MAX), ThrowsMessage<UsageError>(HasSubstr("'sequence'")));
  EXPECT_THAT(refused("snapshot", std::string(64, 'a')), ThrowsMessage<UsageError>(HasSubstr("sha256:")));
  EXPECT_THAT(refused("snapshot", "sha256:../../etc/passwd"), ThrowsMessage<UsageError>(HasSubstr("sha256:")));
  EXPECT_THAT(refused("bytes", -1), ThrowsMessage<UsageError>(HasSubstr("'bytes'")));
  EXPECT_THAT(refused("content", "x"), ThrowsMessage<UsageError>(HasSubstr("'content'")));
  EXPECT_THAT(refused("signed_at", "now"), ThrowsMessage<UsageError>(HasSubstr("'signed_at'")));
  EXPECT_THAT(refused("more", 1), ThrowsMessage<UsageError>(HasSubstr("more")));
  EXPECT_THROW(static_cast<void>(read_manifest("{")), UsageError);
  EXPECT_THROW(static_cast<void>(read_manifest("[]")), UsageError);
  nlohmann::json unsigned_one = good;
  unsigned_one.erase("signature");
  EXPECT_THROW(static_cast<void>(read_manifest(unsigned_one.dump())), UsageError);
}

TEST(Manifests, names_of_channels_are_safe_in_a_path) {
  for (const char* good : {"stable", "candidate", "team-7"}) EXPECT_TRUE(is_channel_name(good)) << good;
  for (const char* bad : {"", ".", "..", "a/b", "A", "7up", "a.b", "-a", "a b", "a%2f"}) {
    EXPECT_FALSE(is_channel_name(bad)) << bad;
  }
  EXPECT_FALSE(is_channel_name(std::string(33, 'a')));
}

}  // namespace
}  // namespace tilewright
