// SPDX-License-Identifier: Apache-2.0
#include "tuner/snapshot/keys.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "cache/base/error.hpp"
#include "tests/temporary_folder.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Keys : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path make(const char* name) const {
    make_key_pair(folder / name);
    return folder / name;
  }
  [[nodiscard]] static std::filesystem::path pub(std::filesystem::path key) { return key += ".pub"; }
  void write(const std::filesystem::path& file, const std::string& text) const { std::ofstream(file) << text; }
  [[nodiscard]] static std::string read(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  const test::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
};

TEST_F(Keys, what_one_half_signs_the_other_verifies) {
  const auto file = make("a");
  const PrivateKey key(file);
  const PublicKeys keys(pub(file));
  const std::string signature = key.sign("text");
  EXPECT_TRUE(keys.verify("text", signature));
  EXPECT_TRUE(key.public_keys().verify("text", signature));
  EXPECT_FALSE(keys.verify("texts", signature));
  EXPECT_FALSE(keys.verify("text", signature.substr(1)));
  EXPECT_FALSE(keys.verify("text", std::string(128, '0')));
  EXPECT_FALSE(keys.verify("text", std::string(128, 'z')));
  EXPECT_FALSE(PublicKeys(pub(make("b"))).verify("text", signature));
}

TEST_F(Keys, any_of_several_in_a_file_may_have_signed) {
  const auto old = make("old"), next = make("next");
  write(folder / "both.pub", read(pub(old)) + read(pub(next)));
  const PublicKeys both(folder / "both.pub");
  EXPECT_TRUE(both.verify("text", PrivateKey(old).sign("text")));
  EXPECT_TRUE(both.verify("text", PrivateKey(next).sign("text")));
  EXPECT_FALSE(both.verify("text", PrivateKey(make("other")).sign("text")));
}

TEST_F(Keys, behind_one_that_is_broken_are_not_left_out_without_a_word) {
  write(folder / "both.pub", read(pub(make("old"))) + "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n" +
                                 read(pub(make("next"))));
  EXPECT_THAT([&] { PublicKeys{folder / "both.pub"}; }, ThrowsMessage<UsageError>(HasSubstr("no public Ed25519 key")));
}

TEST_F(Keys, one_that_is_there_is_never_written_over) {
  const auto file = make("a");
  const std::string before = read(file);
  EXPECT_THAT([&] { make_key_pair(file); }, ThrowsMessage<Error>(HasSubstr("exists")));
  std::filesystem::remove(file);
  EXPECT_THAT([&] { make_key_pair(file); }, ThrowsMessage<Error>(HasSubstr("a.pub exists")));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_THAT([&] { make_key_pair(folder / "none" / "a"); }, ThrowsMessage<Error>(HasSubstr("mkdir -p")));
}

TEST_F(Keys, a_file_that_others_may_use_or_that_is_none_is_refused_with_what_to_type) {
  const auto file = make("a");
  ::chmod(file.c_str(), 0640);
  EXPECT_THAT([&] { PrivateKey{file}; }, ThrowsMessage<UsageError>(HasSubstr("chmod 600")));
  ::chmod(pub(file).c_str(), 0666);
  EXPECT_THAT([&] { PublicKeys{pub(file)}; }, ThrowsMessage<UsageError>(HasSubstr("chmod 644")));
  ::chmod(pub(file).c_str(), 0644);
  EXPECT_THAT([&] { PublicKeys{file}; }, ThrowsMessage<UsageError>(HasSubstr("no public Ed25519 key")));
  EXPECT_THAT([&] { PublicKeys{folder / "none"}; }, ThrowsMessage<UsageError>(HasSubstr("tilewright key FILE")));
  write(folder / "text", "no key\n");
  ::chmod((folder / "text").c_str(), 0600);
  EXPECT_THAT([&] { PrivateKey{folder / "text"}; }, ThrowsMessage<UsageError>(HasSubstr("no private Ed25519 key")));
}

}  // namespace
}  // namespace tilewright
