// SPDX-License-Identifier: Apache-2.0
// The n-th allocation of a call fails, for each n: the call succeeds or reports missing memory, the repeated call
// succeeds with the same result, and nothing leaks.
#include <gtest/gtest.h>
#include <tilewright/tilewright.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/launch/heap.hpp"
#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using namespace tilewright::testing;

/// Exempts the test's own allocations while it lives.
class Unwatched {
 public:
  Unwatched() : was_(heap.is_watched.exchange(false)) {}
  ~Unwatched() { heap.is_watched = was_; }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;

 private:
  bool was_;
};

class OutOfMemory : public LaunchFixture {
 protected:
  OutOfMemory() {
    heap.exempts = reinterpret_cast<int (*)()>(recording_.symbol("recording_is_busy"));
    static_cast<void>(filled_cache());
  }

  /// A program with a launcher and an op, if it gets that far.
  struct Program {
    tw_launcher* launcher = nullptr;
    tw_op* op = nullptr;
    /// The result of the last call.
    std::string result;
  };
  using Call = std::function<int(Program&)>;

  int open(Program& program) const {
    tw_options options{};
    options.size = sizeof options;
    options.cache = path_.c_str();
    options.misses = misses_.c_str();
    return tw_open_with(&options, &program.launcher);
  }
  static int get(Program& program) { return tw_op_get(program.launcher, "scale[dtype=f16]", &program.op); }
  int open_and_get(Program& program) const {
    const int code = open(program);
    return code == TW_OK ? get(program) : code;
  }
  /// Launches a shape; the result is the launched block.
  int launch(Program& program, std::int64_t rows) const {
    const std::array<std::int64_t, 2> dims{rows, 64};
    std::array<void*, 2> addresses{fake_address(256), fake_address(256)};
    double factor = 1;
    const std::array<void*, 3> args{addresses.data(), addresses.data() + 1, &factor};
    recording_.reset();
    const int code = tw_launch(program.op, nullptr, dims.data(), dims.size(), args.data(), args.size());
    const Unwatched pause;
    if (code == TW_OK) program.result = std::to_string(recording_.launches().at(0).block[0]);
    return code;
  }
  static int text(Program& program, int code, char* json) {
    const Unwatched pause;
    if (code == TW_OK) program.result = json;
    tw_free(json);
    return code;
  }
  void tune(int warps) const {
    SampleCache(path_).add_winner(scale_interface(), "scale[dtype=f16]{rows=16,cols=64}",
                                  "wide{num_warps=" + std::to_string(warps) + ",vec=8,static_dims=1}");
  }

  /// Makes `call` after `prepare`, with each allocation failing in turn.
  void walk(const Call& prepare, const Call& call, const std::function<void()>& between = {},
            const Call& afterwards = {}) {
    const auto attempt = [&](int failing) { return this->attempt(prepare, call, between, afterwards, failing); };
    // The first attempts make the allocations of once per process.
    const std::string expected = attempt(0);
    attempt(1);
    attempt(0);
    const int allocations = heap.allocations;
    ASSERT_GT(allocations, 0);
    std::printf("%d allocations\n", allocations);
    // All allocations, or 50 of them.
    const int most = std::getenv("TILEWRIGHT_TEST_EVERY_ALLOCATION") != nullptr ? allocations : 50;
    for (const bool for_good : {false, true}) {
      heap.for_good = for_good;
      for (int failing = 1; failing <= allocations; failing += std::max(1, allocations / most)) {
        SCOPED_TRACE(std::string(for_good ? "from allocation " : "at allocation ") + std::to_string(failing));
        const int before = heap.living;
        EXPECT_EQ(attempt(failing), expected);
        EXPECT_EQ(heap.living, before) << "blocks that were left behind";
        if (HasFailure()) return;
      }
    }
    heap.for_good = false;
  }

 private:
  /// The call's result, from the second attempt if the first fails.
  std::string attempt(const Call& prepare, const Call& call, const std::function<void()>& between,
                      const Call& afterwards, int failing) const {
    Program program;
    EXPECT_EQ(prepare(program), TW_OK) << tw_last_error();
    if (between) between();
    heap.allocations = 0;
    heap.failing = failing;
    heap.is_watched = true;
    int code = call(program);
    heap.is_watched = false;
    heap.failing = 0;
    if (code != TW_OK) {
      EXPECT_EQ(code, TW_ERROR_INTERNAL) << tw_last_error();
      EXPECT_STREQ(tw_last_error(), "no memory");
      code = call(program);
      EXPECT_EQ(code, TW_OK) << tw_last_error();
    }
    if (afterwards) {
      EXPECT_EQ(afterwards(program), TW_OK) << tw_last_error();
    }
    tw_close(program.launcher);
    recording_.reset();
    return program.result;
  }

  const std::string path_ = cache_path();
  const std::string misses_ = (folder_.path() / "misses").string();
};

TEST_F(OutOfMemory, opens) {
  walk([](Program&) { return TW_OK; }, [this](Program& program) { return open(program); });
}

TEST_F(OutOfMemory, gets_an_op) {
  walk([this](Program& program) { return open(program); }, get);
}

TEST_F(OutOfMemory, launches_the_first_time) {
  walk([this](Program& program) { return open_and_get(program); },
       [this](Program& program) { return launch(program, 8); });
}

TEST_F(OutOfMemory, launches_a_shape_that_was_not_tuned) {
  walk([this](Program& program) { return open_and_get(program); },
       [this](Program& program) { return launch(program, 16); });
}

TEST_F(OutOfMemory, loads_beforehand) {
  const std::array<std::int64_t, 2> dims{8, 64};
  walk([this](Program& program) { return open_and_get(program); },
       [&](Program& program) { return tw_preload(program.op, dims.data(), dims.size()); });
}

TEST_F(OutOfMemory, tells_what_it_would_serve) {
  const std::array<std::int64_t, 2> dims{16, 64};
  walk([this](Program& program) { return open_and_get(program); },
       [&](Program& program) {
         char* json = nullptr;
         const int code = tw_query(program.op, dims.data(), dims.size(), &json);
         return text(program, code, json);
       });
}

TEST_F(OutOfMemory, describes_an_op) {
  walk([this](Program& program) { return open_and_get(program); },
       [](Program& program) {
         char* json = nullptr;
         const int code = tw_op_describe(program.op, &json);
         return text(program, code, json);
       });
}

TEST_F(OutOfMemory, refreshes) {
  walk(
      [this](Program& program) {
        tune(2);
        const int code = open_and_get(program);
        return code == TW_OK ? launch(program, 16) : code;
      },
      [this](Program& program) { return tw_refresh(program.launcher); }, [this] { tune(16); },
      [this](Program& program) { return launch(program, 16); });
}

}  // namespace
}  // namespace tilewright
