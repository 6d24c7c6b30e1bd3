// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/stream.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "cache/driver/driver_table.hpp"
#include "tests/launch/recording_driver/recording.hpp"

namespace tilewright::cuda {
namespace {

using tilewright::testing::Recording;

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() : driver_(Driver::get()), context_(driver_, 0) { recording_.reset(); }

  std::array<unsigned char, 4> read(const Buffer& buffer) const {
    std::array<unsigned char, 4> bytes{};
    driver_.call("copying", driver_.table().memcpy_dtoh, static_cast<void*>(bytes.data()), buffer.address(),
                 bytes.size());
    return bytes;
  }
  void fill(const Buffer& buffer, unsigned char value, Stream stream) const {
    driver_.call("filling", driver_.table().memset_d8_async, buffer.address(), value, buffer.bytes(), stream);
  }

  const Recording& recording_ = Recording::get();
  const Driver& driver_;
  PrimaryContext context_;
};

TEST_F(StreamTest, a_stream_is_asked_and_waited_for) {
  const OwnedStream stream(driver_);
  EXPECT_TRUE(stream.is_done());
  recording_.fail("cuStreamQuery", kErrorNotReady);
  EXPECT_FALSE(stream.is_done());
  recording_.fail("cuStreamQuery", 700);
  EXPECT_THROW(static_cast<void>(stream.is_done()), DeviceError);
  stream.synchronize();
  recording_.fail("cuStreamSynchronize", 700);
  try {
    stream.synchronize("running a kernel");
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("running a kernel failed: cuStreamSynchronize", 0), 0U) << error.what();
  }
}

TEST_F(StreamTest, events_tell_the_time_between_them) {
  const OwnedStream stream(driver_);
  const OwnedEvent start(driver_);
  const OwnedEvent end(driver_);
  EXPECT_THROW(static_cast<void>(end.nanoseconds_since(start)), DeviceError) << "neither was recorded";
  start.record(stream.get());
  end.record(stream.get());
  end.synchronize();
  EXPECT_TRUE(end.is_done());
  EXPECT_GE(end.nanoseconds_since(start), 0.0);
}

TEST_F(StreamTest, a_captured_graph_does_its_work_at_each_launch_and_not_before) {
  const OwnedStream stream(driver_);
  const Buffer buffer(driver_, 4, "a test");
  fill(buffer, 1, nullptr);
  const CapturedGraph graph(driver_, stream.get(), [&](Stream capturing) { fill(buffer, 7, capturing); });
  EXPECT_EQ(read(buffer), (std::array<unsigned char, 4>{1, 1, 1, 1}));
  graph.upload(stream.get());
  graph.launch(stream.get());
  EXPECT_EQ(read(buffer), (std::array<unsigned char, 4>{7, 7, 7, 7}));
  fill(buffer, 2, nullptr);
  graph.launch(stream.get());
  EXPECT_EQ(read(buffer), (std::array<unsigned char, 4>{7, 7, 7, 7}));
}

TEST_F(StreamTest, a_capture_that_throws_leaves_the_stream_usable) {
  const OwnedStream stream(driver_);
  const Buffer buffer(driver_, 4, "a test");
  EXPECT_THROW(CapturedGraph(driver_, stream.get(), [](Stream) { throw std::runtime_error("no"); }),
               std::runtime_error);
  fill(buffer, 9, stream.get());
  EXPECT_EQ(read(buffer), (std::array<unsigned char, 4>{9, 9, 9, 9}));
}

TEST_F(StreamTest, a_capture_that_the_driver_spoils_is_an_error) {
  const OwnedStream stream(driver_);
  recording_.fail("cuStreamEndCapture", 901);
  EXPECT_THROW(CapturedGraph(driver_, stream.get(), [](Stream) {}), DeviceError);
  EXPECT_THROW(CapturedGraph(driver_, nullptr, [](Stream) {}), DeviceError) << "the legacy stream cannot be captured";
}

}  // namespace
}  // namespace tilewright::cuda
