// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/worker_process.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "cache/base/sanitizers.hpp"
#include "tuner/process/process.hpp"
#include "tuner/process/subprocess.hpp"

namespace tilewright {
namespace {

using std::chrono::milliseconds;

std::array<int, 2> sockets() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return ends;
}

TEST(Channel, brings_messages_of_any_length_in_their_order) {
  const auto ends = sockets();
  const Channel one(ends[0]);
  const Channel other(ends[1]);
  std::jthread sender([&] {
    for (std::size_t length = 1; length < (1U << 22); length *= 7)
      EXPECT_TRUE(one.send({{"x", std::string(length, 'x')}}));
  });
  Message message;
  for (std::size_t length = 1; length < (1U << 22); length *= 7) {
    ASSERT_EQ(other.receive(message), Channel::Received::message);
    EXPECT_EQ(message.at("x").get<std::string>().size(), length);
  }
}

TEST(Channel, tells_an_end_a_deadline_and_an_interrupt_apart) {
  const auto ends = sockets();
  const Channel one(ends[0]);
  Message message;
  EXPECT_EQ(one.receive(message, Channel::Clock::now() + milliseconds(20)), Channel::Received::late);
  EXPECT_EQ(one.receive(message, std::nullopt, [] { return true; }), Channel::Received::interrupted);
  int asked = 0;
  EXPECT_EQ(one.receive(message, Channel::Clock::now() + std::chrono::hours(1), [&] { return ++asked > 2; }),
            Channel::Received::interrupted);
  ::close(ends[1]);
  EXPECT_EQ(one.receive(message), Channel::Received::end);
  EXPECT_FALSE(one.send("nobody hears this"));
}

TEST(WorkerProcess, says_how_it_came_to_its_end) {
  WorkerProcess exits({"sh", "-c", "exit 3"});
  EXPECT_EQ(exits.end(), "exit code 3");
  WorkerProcess killed({"sleep", "1000"});
  killed.kill();
  EXPECT_EQ(killed.end(), "signal 9 (Killed)");
}

TEST(WorkerProcess, is_killed_where_it_does_not_end_by_itself) {
  pid_t process = 0;
  {
    const WorkerProcess deaf({"sleep", "1000"});
    process = deaf.process();
  }
  EXPECT_NE(::kill(process, 0), 0);
}

TEST(WorkerProcess, that_does_not_go_is_not_waited_for_after_an_interrupt) {
  WorkerProcess deaf({"sleep", "1000"});
  EXPECT_EQ(deaf.end([] { return true; }), "no end yet");
  deaf.kill();
  EXPECT_EQ(deaf.end(), "signal 9 (Killed)");
}

TEST(Channel, gives_up_sending_to_who_does_not_listen) {
  const auto ends = sockets();
  const Channel one(ends[0]);
  const Channel other(ends[1]);
  const Message large(std::string(std::size_t{8} << 20, 'x'));
  EXPECT_EQ(one.send(large, Channel::Clock::now() + milliseconds(20)), Channel::Received::late);
  EXPECT_EQ(one.send(large, std::nullopt, [] { return true; }), Channel::Received::interrupted);
}

TEST(EndWith, ends_a_busy_process_with_its_parent) {
  const auto ends = sockets();
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::close(ends[0]);
    end_with(ends[1]);
    for (;;) ::pause();
  }
  ::close(ends[1]);
  int status = 0;
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_EQ(::waitpid(child, &status, WNOHANG), 0) << "it works as long as its parent listens";
  ::close(ends[0]);
  EXPECT_EQ(::waitpid(child, &status, 0), child);
}

TEST(EndWith, lets_a_process_that_is_done_close_its_own_end) {
  constexpr int kDone = 7;
  const auto ends = sockets();
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::close(ends[0]);
    end_with(ends[1]);
    ::close(ends[1]);
    std::this_thread::sleep_for(milliseconds(30));
    ::_exit(kDone);
  }
  ::close(ends[1]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), kDone);
  ::close(ends[0]);
}

TEST(StartProcess, keeps_nobody_from_stopping_on_ctrl_z) {
  constexpr int kTries = 60;
  int stops = 0;
  for (int i = 0; i < kTries; ++i) {
    const pid_t starter = ::fork();
    if (starter == 0) {
      // Exceptions must not reach gtest, which would then run in both processes.
      try {
        ::setpgid(0, 0);
        for (;;) (void)wait_for_process(start_process({"true"}, {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}));
      } catch (...) {
      }
      ::_exit(1);
    }
    ::setpgid(starter, starter);
    // A start takes about half a millisecond: the stops fall at different moments of it.
    std::this_thread::sleep_for(std::chrono::microseconds(5000 + 97 * i));
    ::kill(-starter, SIGTSTP);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    int status = 0;
    bool changed = false;
    while (!changed && std::chrono::steady_clock::now() < deadline) {
      changed = ::waitpid(starter, &status, WNOHANG | WUNTRACED) == starter;
      if (!changed) std::this_thread::sleep_for(milliseconds(1));
    }
    const bool stopped = changed && WIFSTOPPED(status);
    if (stopped) ++stops;
    if (stopped || !changed) {  // otherwise it has ended, and its id may be reused
      ::kill(starter, SIGKILL);
      ::waitpid(starter, &status, 0);
    }
    if (!stopped) break;
  }
  EXPECT_EQ(stops, kTries) << "stops that the parent heard of within five seconds";
}

TEST(ProcessLimits, bound_memory_and_processor_time_of_all_that_is_started) {
  const std::string spin = "while :; do :; done";
  const auto busy = run_subprocess({"sh", "-c", "sh -c '" + spin + "'; exit 9"}, std::chrono::seconds(30), {},
                                   {.processor = std::chrono::seconds(1)});
  EXPECT_FALSE(busy.timed_out);
  EXPECT_NE(busy.exit_code, 0);
  if (kAddressSanitizer || kThreadSanitizer) return;
  const auto large = run_subprocess({"sh", "-c", "head -c 300000000 /dev/zero | tail -c 299999999 > /dev/null"},
                                    std::chrono::seconds(30), {}, {.memory_bytes = std::size_t{100} << 20});
  EXPECT_NE(large.exit_code, 0) << large.output;
}

TEST(ProcessLimits, are_had_by_this_very_program_when_it_starts_itself) {
  const auto listed = run_subprocess({this_program(), "--gtest_list_tests"}, std::chrono::seconds(30), {},
                                     {.processor = std::chrono::seconds(20)});
  EXPECT_EQ(listed.exit_code, 0) << listed.output;
  EXPECT_NE(listed.output.find("ProcessLimits."), std::string::npos) << listed.output;
}

TEST(RunSubprocess, ends_with_an_interrupt) {
  int asked = 0;
  const auto result = run_subprocess({"sleep", "1000"}, std::chrono::hours(1), {}, {}, [&] { return ++asked > 3; });
  EXPECT_TRUE(result.timed_out);
}

}  // namespace
}  // namespace tilewright
