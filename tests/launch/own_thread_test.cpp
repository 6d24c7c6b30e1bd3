// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/own_thread.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <system_error>

namespace tilewright::launch {
namespace {

bool blocks(int signal) {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, signal) == 1;
}

TEST(OwnThread, takes_no_signal_of_the_application) {
  bool is_blocked = false;
  own_thread([&] { is_blocked = blocks(SIGTERM) && blocks(SIGUSR1); }).join();
  EXPECT_TRUE(is_blocked);
  EXPECT_FALSE(blocks(SIGTERM));
}

TEST(OwnThread, that_cannot_begin_leaves_the_callers_signals_as_they_were) {
  pthread_attr_t before;
  pthread_attr_t greedy;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_attr_init(&greedy), 0);
  // Too large for any address space.
  ASSERT_EQ(pthread_attr_setstacksize(&greedy, std::size_t{1} << 60), 0);
  ASSERT_EQ(pthread_setattr_default_np(&greedy), 0);
  EXPECT_THROW(own_thread([] {}).join(), std::system_error);
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_FALSE(blocks(SIGTERM));
}

}  // namespace
}  // namespace tilewright::launch
