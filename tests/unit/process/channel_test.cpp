// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/channel.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace tilewright {
namespace {

/// A channel whose other end sends arbitrary bytes.
class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) != 0) throw std::runtime_error("no socket");
  }
  /// Receives `bytes` after a claimed length.
  Channel::Received receive_after(std::uint64_t claimed, const std::string& bytes) {
    const Channel ours(ends_[0]);
    const Channel theirs(ends_[1]);
    std::string all(sizeof claimed, '\0');
    std::memcpy(all.data(), &claimed, sizeof claimed);
    all += bytes;
    EXPECT_EQ(::send(ends_[1], all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    return ours.receive(message_, Channel::Clock::now() + std::chrono::seconds(10));
  }

  std::array<int, 2> ends_{};
  Message message_;
};

TEST(MessageOfBytes, gives_them_back_and_takes_no_text_for_bytes) {
  const std::vector<std::byte> bytes{std::byte{0}, std::byte{0x80}, std::byte{0xff}};
  EXPECT_EQ(bytes_from(to_message(bytes)), bytes);
  EXPECT_TRUE(bytes_from(to_message(std::span<const std::byte>())).empty());
  EXPECT_THROW((void)bytes_from(Message("text")), Message::exception);
}

TEST_F(ChannelTest, brings_a_message) {
  EXPECT_EQ(receive_after(4, "\xA1\x61k\x01"), Channel::Received::message);
  EXPECT_EQ(message_, Message({{"k", 1}}));
}

TEST_F(ChannelTest, sets_no_memory_aside_for_a_length_that_no_message_has) {
  EXPECT_EQ(receive_after(std::uint64_t{1} << 62U, "x"), Channel::Received::garbled);
}

TEST_F(ChannelTest, takes_garbage_for_no_message) {
  EXPECT_EQ(receive_after(4, "\xFF\xFF\xFF\xFF"), Channel::Received::garbled);
}

TEST_F(ChannelTest, takes_a_list_for_no_message) { EXPECT_EQ(receive_after(1, "\x80"), Channel::Received::garbled); }

TEST_F(ChannelTest, takes_lists_too_deep_for_its_stack_for_no_message) {
  EXPECT_EQ(receive_after(100'000, std::string(100'000, '\x81')), Channel::Received::garbled);
}

}  // namespace
}  // namespace tilewright
