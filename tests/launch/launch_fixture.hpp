// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <tilewright/launch.hpp>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"
#include "cache/driver/stream.hpp"
#include "tests/launch/recording_driver/recording.hpp"
#include "tests/launch/sample_cache.hpp"

/// A test of launching: its own cache, the recording driver, and a current context of its device.
namespace tilewright::testing {

class LaunchFixture : public ::testing::Test {
 protected:
  LaunchFixture() : driver_(cuda::Driver::get()), context_(driver_, 0) { recording_.reset(); }

  [[nodiscard]] std::string cache_path() const { return (folder_.path() / "cache.db").string(); }
  /// Makes a cache with `scale`, `strided`, `packed`, `ragged`, `many` and `reduce`, closes it, and returns its path.
  [[nodiscard]] std::string filled_cache() const {
    SampleCache cache(cache_path());
    cache.add_scale();
    cache.add_strided();
    cache.add_packed();
    cache.add_ragged();
    cache.add_many();
    cache.add_reduce();
    return cache_path();
  }

  /// Expects `work` to throw a LaunchError of that code; returns its text.
  static std::string failure(int code, const std::function<void()>& work) {
    try {
      work();
    } catch (const LaunchError& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  }

  const Recording& recording_ = Recording::get();
  const cuda::Driver& driver_;
  cuda::PrimaryContext context_;
  TemporaryFolder folder_;
};

/// An address that the recording driver's launches do not read, aligned to exactly `alignment` bytes.
[[nodiscard]] inline void* fake_address(std::uintptr_t alignment) {
  return reinterpret_cast<void*>(std::uintptr_t{0x7f0000000000} + alignment);
}

}  // namespace tilewright::testing
