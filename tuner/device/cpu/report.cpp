// SPDX-License-Identifier: Apache-2.0
// The text of an execution's failure.
#include <fmt/format.h>

#include <map>
#include <string_view>
#include <tuple>

#include "tuner/device/cpu/execution.hpp"

namespace tilewright {

std::string_view to_string(EmulatedOutcome::Status status) noexcept {
  using enum EmulatedOutcome::Status;
  switch (status) {
    case ok:
      return "ok";
    case deadlock:
      return "deadlock";
    case timed_out:
      return "timed out";
    case misaligned:
      return "misaligned access";
    case out_of_bounds:
      return "out of bounds";
    case bad_mask:
      return "wrong use of a warp function";
    case bad_barrier:
      return "wrong use of a barrier";
    case unsupported:
      return "not modelled by the emulator";
    case trap:
      return "trap";
    case bad_launch:
      return "impossible launch";
  }
  return "unknown";
}

namespace emulator {
namespace {

EmulatedOutcome::Status status_of(Fault fault) {
  switch (fault) {
    case Fault::kMisaligned:
      return EmulatedOutcome::Status::misaligned;
    case Fault::kBadMask:
      return EmulatedOutcome::Status::bad_mask;
    case Fault::kBadBarrier:
      return EmulatedOutcome::Status::bad_barrier;
    case Fault::kUnsupported:
      return EmulatedOutcome::Status::unsupported;
    case Fault::kOutOfRange:
      return EmulatedOutcome::Status::out_of_bounds;
    case Fault::kTrap:
      return EmulatedOutcome::Status::trap;
  }
  return EmulatedOutcome::Status::trap;
}

/// As " (softmax.cu:41)", without folders; empty if the place is unknown.
std::string place(Site site) {
  if (site.file == nullptr) return {};
  std::string_view file = site.file;
  file.remove_prefix(file.find_last_of('/') + 1);
  return fmt::format(" ({}:{})", file, site.line);
}

std::string thread_name(const Fiber& fiber) {
  return fmt::format("thread ({},{},{})", fiber.index.x, fiber.index.y, fiber.index.z);
}

std::string waited_for(const Fiber& fiber) {
  switch (fiber.waiting) {
    case Waiting::nothing:
      return "not started";
    case Waiting::warp:
      return fmt::format("waiting in a warp function{} for the lanes of mask {:#010x}", place(fiber.site),
                         fiber.waited_number);
    case Waiting::barrier:
      return fmt::format("waiting at {}{}",
                         fiber.waited_number == 0 ? "__syncthreads()" : fmt::format("barrier {}", fiber.waited_number),
                         place(fiber.site));
    case Waiting::mbarrier:
      return fmt::format("waiting on the mbarrier at {} for the end of its phase {}{}", fmt::ptr(fiber.waited_object),
                         fiber.waited_number, place(fiber.site));
    case Waiting::cluster:
      return fmt::format("waiting at the cluster's barrier{}", place(fiber.site));
  }
  return {};
}

/// Formats ascending numbers as "0-31, 40, 64-95".
class Ranges {
 public:
  void add(unsigned number) {
    if (count_++ > 0 && number == last_ + 1) {
      last_ = number;
      return;
    }
    flush();
    first_ = last_ = number;
    open_ = true;
  }
  [[nodiscard]] unsigned count() const { return count_; }
  [[nodiscard]] std::string text() {
    flush();
    return text_;
  }

 private:
  void flush() {
    if (!open_) return;
    if (!text_.empty()) text_ += ", ";
    text_ += first_ == last_ ? fmt::format("{}", first_) : fmt::format("{}-{}", first_, last_);
    open_ = false;
  }
  unsigned first_ = 0;
  unsigned last_ = 0;
  unsigned count_ = 0;
  bool open_ = false;
  std::string text_;
};

}  // namespace

std::string Execution::where(const Block& block) const {
  return fmt::format("kernel {}, block ({},{},{})", entry_.name, block.index.x, block.index.y, block.index.z);
}

std::string Execution::describe_waiting() const {
  std::string text;
  for (const Block& block : blocks_) {
    std::map<std::string, Ranges> groups;
    for (unsigned number = 0; number < block.threads; ++number) {
      const Warp& warp = block.warps[number / kWarpLanes];
      const Fiber& fiber = *warp.lanes[number % kWarpLanes];
      const bool living = (warp.living >> fiber.lane & 1u) != 0;
      const bool late = failure_ && failure_->timed_out && failure_->thread == &fiber;
      const bool can_run = late || ((warp.runnable | warp.later) >> fiber.lane & 1u) != 0;
      groups[!living ? "exited" : can_run ? "able to run" : waited_for(fiber)].add(number);
    }
    if (blocks_.size() > 1) {
      text += fmt::format("\n  block ({},{},{}):", block.index.x, block.index.y, block.index.z);
    }
    for (auto& [what, threads] : groups) {
      text += fmt::format("\n  {} {} {}: {}", threads.count(), threads.count() == 1 ? "thread" : "threads", what,
                          threads.text());
    }
  }
  return text;
}

EmulatedOutcome Execution::describe_deadlock() const {
  return {EmulatedOutcome::Status::deadlock,
          fmt::format("{}: deadlock, no thread can go on:{}", where(blocks_.front()), describe_waiting())};
}

EmulatedOutcome Execution::describe_failure() const {
  const Failure& failure = *failure_;
  if (failure.timed_out) {
    return {
        EmulatedOutcome::Status::timed_out,
        fmt::format("{}: not done after {} ms. A loop may wait for what cannot come: blocks run one after the other, "
                    "and one that waits for a later block never ends. Threads:{}",
                    where(blocks_.front()), launch_.time_limit.count(), describe_waiting())};
  }
  std::string text =
      fmt::format("{}, {}: {}", where(*failure.thread->owner), thread_name(*failure.thread), failure.what);
  if (failure.fault == Fault::kOutOfRange) {
    text += fmt::format(": {}", reinterpret_cast<std::intptr_t>(failure.address));
  } else if (failure.address != nullptr) {
    text += fmt::format(" at address {:#x}", reinterpret_cast<std::uintptr_t>(failure.address));
  }
  return {status_of(failure.fault), text + place(failure.site)};
}

EmulatedOutcome Execution::describe_overrun(const Block& block, std::size_t byte) const {
  return {EmulatedOutcome::Status::out_of_bounds,
          fmt::format("{}: a thread wrote to byte {} of dynamic shared memory, of which the launch gives {} bytes",
                      where(block), byte, block.shared_bytes)};
}

}  // namespace emulator
}  // namespace tilewright
