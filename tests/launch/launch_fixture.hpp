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

/// A test of launching: a cache of its own, the recording driver, its device's context current.
namespace tilewright::testing {

class LaunchFixture : public ::testing::Test {
 protected:
  LaunchFixture() : driver_(cuda::Driver::get()), context_(driver_, 0) { recording_.reset(); }

  [[nodiscard]] std::string cache_path() const { return (folder_.path() / "cache.db").string(); }
  /// A cache with `scale`, `strided`, `packed`, `ragged`, `many` and `reduce` in it, closed again.
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

  /// What `work` throws must be a LaunchError of that code; its text is returned.
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

/// An address that no launch of the recording driver reads, aligned to `alignment` bytes and no more.
[[nodiscard]] inline void* fake_address(std::uintptr_t alignment) {
  return reinterpret_cast<void*>(std::uintptr_t{0x7f0000000000} + alignment);
}

}  // namespace tilewright::testing
