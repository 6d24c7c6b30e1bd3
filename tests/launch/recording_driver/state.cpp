// SPDX-License-Identifier: Apache-2.0
#include "tests/launch/recording_driver/state.hpp"

#include <cstdlib>
#include <cstring>

namespace recording {

namespace {

thread_local ContextRecord* current_context = nullptr;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

State::State() : log_file(environment("TILEWRIGHT_RECORDING_LOG")) {
  Device device;
  if (const std::string text = environment("TILEWRIGHT_RECORDING_DEVICE"); !text.empty()) {
    const std::size_t last = text.rfind(':');
    const std::size_t middle = text.rfind(':', last - 1);
    device.name = text.substr(0, middle);
    device.compute_capability = std::atoi(text.c_str() + middle + 1);
    device.sm_count = std::atoi(text.c_str() + last + 1);
  }
  const std::string count = environment("TILEWRIGHT_RECORDING_DEVICES");
  devices.assign(count.empty() ? 1 : static_cast<std::size_t>(std::atoi(count.c_str())), device);
  if (const std::string text = environment("TILEWRIGHT_RECORDING_FAIL"); !text.empty()) {
    const std::size_t colon = text.find(':');
    failures[text.substr(0, colon)] = {std::atoi(text.c_str() + colon + 1), 0, 1 << 30};
  }
}

State& state() {
  static State& all = *new State;
  return all;
}

Result State::ordered(const char* api) {
  ++calls[api];
  released.wait(mutex, [&] { return !held.contains(api); });
  const auto found = failures.find(api);
  if (found == failures.end() || found->second.times == 0) return success;
  if (found->second.skip > 0) {
    --found->second.skip;
    return success;
  }
  --found->second.times;
  return found->second.status;
}

void State::end_primary(int device) {
  const auto found = primary.find(device);
  if (found == primary.end()) return;
  found->second->destroyed = true;
  std::erase_if(allocations, [&](const auto& each) {
    if (each.second.context != found->second->id) return false;
    ended.insert({each.first, each.second.bytes});
    return true;
  });
  primary.erase(found);
}

ContextRecord* State::current() {
  return current_context != nullptr && !current_context->destroyed ? current_context : nullptr;
}

void set_current(ContextRecord* context) { current_context = context; }

bool is_default(Stream stream) { return reinterpret_cast<std::uintptr_t>(stream) <= per_thread_stream; }

Result enqueue(State& all, Stream stream, std::function<void()> work) {
  if (all.current() == nullptr) return invalid_context;
  if (!is_default(stream)) {
    auto* record = reinterpret_cast<StreamRecord*>(stream);
    if (!all.streams.contains(record)) return invalid_handle;
    if (record->captured) {
      record->captured->work.push_back(std::move(work));
      return success;
    }
  }
  work();
  return success;
}

}  // namespace recording

using recording::state;

RECORDING_API size_t recording_launch_count() {
  const std::lock_guard lock(state().mutex);
  return state().launches.size();
}

RECORDING_API int recording_launch(size_t index, recording_launch_record* out) {
  const std::lock_guard lock(state().mutex);
  if (index >= state().launches.size()) return 1;
  *out = state().launches[index];
  return 0;
}

RECORDING_API void recording_reset() {
  const std::lock_guard lock(state().mutex);
  state().launches.clear();
  state().failures.clear();
  state().calls.clear();
}

RECORDING_API void recording_fail(const char* api, int status, int skip, int times) {
  const std::lock_guard lock(state().mutex);
  state().failures[api] = {status, skip, times};
}

RECORDING_API void recording_hold(const char* api, int hold) {
  const std::lock_guard lock(state().mutex);
  if (hold != 0) {
    state().held.insert(api);
  } else {
    state().held.erase(api);
  }
  state().released.notify_all();
}

RECORDING_API size_t recording_calls(const char* api) {
  const std::lock_guard lock(state().mutex);
  return state().calls[api];
}

RECORDING_API size_t recording_live_allocations() {
  const std::lock_guard lock(state().mutex);
  return state().allocations.size();
}

RECORDING_API size_t recording_live_libraries() {
  const std::lock_guard lock(state().mutex);
  return state().libraries.size();
}

RECORDING_API void recording_set_fast(int fast) { state().fast.store(fast, std::memory_order_relaxed); }

RECORDING_API void recording_reset_context(int device) {
  const std::lock_guard lock(state().mutex);
  state().end_primary(device);
}

RECORDING_API int recording_is_busy() { return state().mutex.is_held() ? 1 : 0; }

RECORDING_API void recording_set_throttle_reasons(unsigned long long reasons) {
  const std::lock_guard lock(state().mutex);
  state().throttle_reasons = reasons;
}
