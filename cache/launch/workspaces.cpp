// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/workspaces.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/driver/driver_table.hpp"
#include "cache/driver/stream.hpp"

namespace tilewright::launch {

namespace {

/// CU_STREAM_LEGACY, the other name of a null stream.
constexpr std::uintptr_t kLegacyStream = 1;
/// CU_STREAM_PER_THREAD, another stream in each thread.
constexpr std::uintptr_t kPerThreadStream = 2;

/// The calling thread's number, which no other thread has or gets, as it may get an ended thread's id.
std::uint64_t own_thread_number() {
  static std::atomic<std::uint64_t> last = 0;
  thread_local const std::uint64_t kOwn = ++last;
  return kOwn;
}

/// Grows by at least half, so that a slowly growing shape does not leave a buffer at each step.
std::size_t next_size(const std::vector<cuda::Buffer>& buffers, std::size_t needed) {
  const std::size_t last = buffers.empty() ? 0 : buffers.back().bytes();
  return std::max(needed, last + last / 2);
}

bool is_enough(const std::vector<cuda::Buffer>& buffers, std::size_t needed) {
  return needed == 0 || (!buffers.empty() && buffers.back().bytes() >= needed);
}

/// Clears a new buffer on a stream of its own: the caller's may be capturing, and the graph must not hold the clearing.
void clear(const cuda::Driver& driver, const cuda::Buffer& buffer) {
  const cuda::OwnedStream aside(driver);
  driver.call("clearing a workspace", driver.table().memset_d8_async, buffer.address(), static_cast<unsigned char>(0),
              buffer.bytes(), aside.get());
  aside.synchronize("clearing a workspace");
}

}  // namespace

Workspaces::~Workspaces() {
  unsigned long long current = 0;
  const cuda::Driver* driver = cuda::Driver::find();
  if (driver == nullptr || driver->table().ctx_get_id(nullptr, &current) != cuda::kSuccess) current = 0;
  const auto leave_unless_current = [&](std::uint64_t context, Memory* memory) {
    if (memory == nullptr || (current != 0 && context == current)) return;
    for (cuda::Buffer& buffer : memory->scratch) buffer.leave();
    for (cuda::Buffer& buffer : memory->zeroed) buffer.leave();
  };
  for (const auto& [key, memory] : memories_) leave_unless_current(std::get<1>(key), memory.get());
  for (const auto& [context, memory] : spares_) leave_unless_current(context, memory.get());
}

std::unique_ptr<Workspaces::Memory> Workspaces::take_unused(std::uint64_t context) {
  if (const auto spare = spares_.find(context); spare != spares_.end() && spare->second) {
    return std::move(spare->second);
  }
  const auto is_capture = [&](const Key& key) {
    return std::get<0>(key) == Owner::capture && std::get<1>(key) == context;
  };
  for (auto each = memories_.lower_bound({Owner::capture, context, 0, 0});
       each != memories_.end() && is_capture(each->first); ++each) {
    const cuda::GraphGone& gone = each->second->graph_gone;
    if (!gone || !gone->load(std::memory_order_acquire)) continue;
    std::unique_ptr<Memory> memory = std::move(each->second);
    memories_.erase(each);
    memory->graph_gone = nullptr;
    if (memory->cleared_in_stream) memory->zeros_are_spoilt = true;
    return memory;
  }
  return nullptr;
}

Workspaces::Key Workspaces::callers_key(std::uint64_t context, cuda::Stream stream) {
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  return {Owner::caller, context, handle == kLegacyStream ? 0 : handle,
          handle == kPerThreadStream ? own_thread_number() : 0};
}

Workspaces::Memory& Workspaces::memory_at(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto known = memories_.find(key);
  if (known != memories_.end()) return *known->second;
  std::unique_ptr<Memory> memory = std::get<Owner>(key) == Owner::caller ? nullptr : take_unused(std::get<1>(key));
  if (!memory) memory = std::make_unique<Memory>();
  return *memories_.emplace(key, std::move(memory)).first->second;
}

Workspaces::Memory& Workspaces::memory_of_capture(const cuda::Driver& driver, const Key& key, cuda::Graph graph) {
  Memory& memory = memory_at(key);
  const std::lock_guard launching(memory.mutex);
  if (!memory.graph_gone) {
    // Once per graph. If the driver cannot tell, the graph's memory is not reused.
    cuda::GraphGone gone = cuda::watch_graph(driver, graph);
    const std::lock_guard lock(mutex_);
    memory.graph_gone = std::move(gone);
  }
  return memory;
}

void Workspaces::reserve(const cuda::Driver& driver, std::uint64_t context, const ReadyPlan& plan) {
  const std::lock_guard one_at_a_time(reserving_);
  std::unique_ptr<Memory> memory;
  {
    const std::lock_guard lock(mutex_);
    memory = take_unused(context);
  }
  if (!memory) memory = std::make_unique<Memory>();
  // Launches that find no spare meanwhile allocate their own.
  provide(driver, plan, *memory);
  const std::lock_guard lock(mutex_);
  spares_[context] = std::move(memory);
}

Workspaces::Memory& Workspaces::memory_of(const cuda::Driver& driver, std::uint64_t context, cuda::Stream stream) {
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  {
    const std::lock_guard lock(mutex_);
    const auto given = memories_.find(callers_key(context, stream));
    if (given != memories_.end() && given->second->given != 0) return *given->second;
  }
  int is_capturing = 0;
  unsigned long long id = 0;
  cuda::Graph graph = nullptr;
  // The legacy default stream cannot be captured. Asking it while another captures is an error.
  if (handle > kLegacyStream) {
    driver.call("asking whether the stream is capturing", driver.table().stream_get_capture_info, stream, &is_capturing,
                &id, &graph, static_cast<const void**>(nullptr), static_cast<std::size_t*>(nullptr));
  }
  if (is_capturing != 0) return memory_of_capture(driver, {Owner::capture, context, id, handle}, graph);
  driver.call("identifying the stream", driver.table().stream_get_id, stream, &id);
  return memory_at({Owner::stream, context, id, 0});
}

void Workspaces::provide(const cuda::Driver& driver, const ReadyPlan& plan, Memory& memory) {
  if (is_enough(memory.scratch, plan.scratch_bytes) && is_enough(memory.zeroed, plan.zeroed_bytes)) return;
  const cuda::CaptureRelaxed relaxed(driver);
  if (!is_enough(memory.scratch, plan.scratch_bytes)) {
    memory.scratch.emplace_back(driver, next_size(memory.scratch, plan.scratch_bytes), "a workspace");
  }
  if (!is_enough(memory.zeroed, plan.zeroed_bytes)) {
    cuda::Buffer buffer(driver, next_size(memory.zeroed, plan.zeroed_bytes), "a workspace");
    clear(driver, buffer);
    memory.zeroed.push_back(std::move(buffer));
    memory.zeros_are_spoilt = false;
  }
}

Workspaces::Addresses Workspaces::own_addresses(const cuda::Driver& driver, const ReadyPlan& plan, Memory& memory,
                                                cuda::Stream stream) {
  provide(driver, plan, memory);
  if (plan.zeroed_bytes > 0 && memory.zeros_are_spoilt) {
    // In the stream, after the failed launch's work.
    const cuda::Buffer& buffer = memory.zeroed.back();
    driver.call("clearing a workspace", driver.table().memset_d8_async, buffer.address(), static_cast<unsigned char>(0),
                buffer.bytes(), stream);
    memory.zeros_are_spoilt = false;
    memory.cleared_in_stream = true;
  }
  Addresses addresses{};
  for (std::size_t i = 0; i < plan.placements.size(); ++i) {
    const std::vector<cuda::Buffer>& buffers = plan.placements[i].zeroed ? memory.zeroed : memory.scratch;
    if (!buffers.empty()) addresses[i] = buffers.back().address() + plan.placements[i].offset;
  }
  return addresses;
}

Workspaces::Addresses Workspaces::given_addresses(const cuda::Driver& driver, const ReadyPlan& plan,
                                                  const Memory& memory, cuda::Stream stream) {
  const std::size_t needed = plan.scratch_bytes + plan.zeroed_bytes;
  if (memory.given_bytes < needed) {
    throw UsageError(fmt::format("the launch needs {} bytes of workspace; tw_set_workspace gave {} for this stream",
                                 needed, memory.given_bytes));
  }
  // A launch's scratch may overlap another's zeros, so these are cleared each time.
  const cuda::Address scratch = memory.given;
  const cuda::Address zeroed = scratch + plan.scratch_bytes;
  if (plan.zeroed_bytes > 0) {
    driver.call("clearing a workspace", driver.table().memset_d8_async, zeroed, static_cast<unsigned char>(0),
                plan.zeroed_bytes, stream);
  }
  Addresses addresses{};
  for (std::size_t i = 0; i < plan.placements.size(); ++i) {
    addresses[i] = (plan.placements[i].zeroed ? zeroed : scratch) + plan.placements[i].offset;
  }
  return addresses;
}

int Workspaces::launch(const cuda::Driver& driver, std::uint64_t context, const ReadyPlan& plan, cuda::Stream stream,
                       std::span<void* const> args, std::span<const std::int64_t> dims) {
  Memory& memory = memory_of(driver, context, stream);
  const std::lock_guard lock(memory.mutex);
  const Addresses addresses =
      memory.given != 0 ? given_addresses(driver, plan, memory, stream) : own_addresses(driver, plan, memory, stream);
  const int status = plan.executable.launch(stream, args, std::span(addresses).first(plan.placements.size()), dims);
  if (status != cuda::kSuccess && plan.zeroed_bytes > 0) memory.zeros_are_spoilt = true;
  return status;
}

void Workspaces::give(std::uint64_t context, cuda::Stream stream, cuda::Address address, std::size_t bytes) {
  Memory& memory = memory_at(callers_key(context, stream));
  const std::lock_guard launching(memory.mutex);
  memory.given = address;
  memory.given_bytes = bytes;
}

}  // namespace tilewright::launch
