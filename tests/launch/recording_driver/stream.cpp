// SPDX-License-Identifier: Apache-2.0
// Copies, streams, events and graphs of the recording driver: work is done at the call, unless it is captured.
#include <chrono>
#include <cstring>
#include <utility>

#include "tests/launch/recording_driver/state.hpp"

using namespace recording;
// NOLINTBEGIN(readability-identifier-naming): the names are the driver's.

namespace {

/// Whether [address, address + bytes) lies within one allocation.
bool is_device_memory(State& all, Address address, std::size_t bytes) {
  auto next = all.allocations.upper_bound(address);
  if (next == all.allocations.begin()) return false;
  --next;
  return address + bytes <= next->first + next->second.bytes;
}

void* host(Address address) { return reinterpret_cast<void*>(address); }

StreamRecord* record_of(Stream stream) { return reinterpret_cast<StreamRecord*>(stream); }

}  // namespace

RECORDING_API Result cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, Stream stream) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuMemcpyHtoDAsync_v2"); status != success) return status;
  if (!is_device_memory(state(), to, bytes)) return invalid_value;
  return enqueue(state(), stream, [=] { std::memcpy(host(to), from, bytes); });
}
RECORDING_API Result cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  return cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr);
}

RECORDING_API Result cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream stream) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuMemcpyDtoHAsync_v2"); status != success) return status;
  if (!is_device_memory(state(), from, bytes)) return invalid_value;
  return enqueue(state(), stream, [=] { std::memcpy(to, host(from), bytes); });
}
RECORDING_API Result cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  return cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr);
}

RECORDING_API Result cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, Stream stream) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuMemcpyDtoDAsync_v2"); status != success) return status;
  if (!is_device_memory(state(), to, bytes) || !is_device_memory(state(), from, bytes)) return invalid_value;
  return enqueue(state(), stream, [=] { std::memmove(host(to), host(from), bytes); });
}

RECORDING_API Result cuMemsetD8Async(Address to, unsigned char value, std::size_t count, Stream stream) {
  if (state().fast.load(std::memory_order_relaxed)) return success;
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuMemsetD8Async"); status != success) return status;
  if (!is_device_memory(state(), to, count)) return invalid_value;
  return enqueue(state(), stream, [=] { std::memset(host(to), value, count); });
}

RECORDING_API Result cuStreamCreate(Stream* stream, unsigned) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuStreamCreate"); status != success) return status;
  if (state().current() == nullptr) return invalid_context;
  auto* record = new StreamRecord;
  record->id = ++state().last_id;
  state().streams.insert(record);
  *stream = reinterpret_cast<Stream>(record);
  return success;
}

RECORDING_API Result cuStreamDestroy_v2(Stream stream) {
  const std::lock_guard lock(state().mutex);
  if (state().streams.erase(record_of(stream)) == 0) return invalid_handle;
  delete record_of(stream);
  return success;
}

RECORDING_API Result cuStreamSynchronize(Stream) {
  const std::lock_guard lock(state().mutex);
  return state().ordered("cuStreamSynchronize");
}

RECORDING_API Result cuStreamQuery(Stream) {
  const std::lock_guard lock(state().mutex);
  return state().ordered("cuStreamQuery");
}

RECORDING_API Result cuStreamBeginCapture_v2(Stream stream, int) {
  const std::lock_guard lock(state().mutex);
  // The legacy default stream cannot be captured.
  if (stream == nullptr) return stream_capture_unsupported;
  if (record_of(stream)->captured) return invalid_value;
  record_of(stream)->captured = std::make_unique<GraphRecord>();
  record_of(stream)->capture_id = ++state().last_id;
  return success;
}

RECORDING_API Result cuStreamEndCapture(Stream stream, Graph* graph) {
  const std::lock_guard lock(state().mutex);
  if (!record_of(stream)->captured) return invalid_value;
  *graph = reinterpret_cast<Graph>(record_of(stream)->captured.release());
  return state().ordered("cuStreamEndCapture");
}

RECORDING_API Result cuStreamGetCaptureInfo_v2(Stream stream, int* capturing, unsigned long long* id, Graph* graph,
                                               const void**, std::size_t*) {
  const std::lock_guard lock(state().mutex);
  const bool is_capturing = !is_default(stream) && record_of(stream)->captured;
  *capturing = is_capturing ? 1 : 0;
  if (is_capturing) *id = record_of(stream)->capture_id;
  if (is_capturing && graph != nullptr) *graph = reinterpret_cast<Graph>(record_of(stream)->captured.get());
  return success;
}

RECORDING_API Result cuStreamGetId(Stream stream, unsigned long long* id) {
  const std::lock_guard lock(state().mutex);
  if (is_default(stream)) {
    thread_local const unsigned long long own = ++state().last_id;
    *id = reinterpret_cast<std::uintptr_t>(stream) == per_thread_stream ? own : 1;
    return success;
  }
  if (!state().streams.contains(record_of(stream))) return invalid_handle;
  if (record_of(stream)->captured) return stream_capture_unsupported;
  *id = record_of(stream)->id;
  return success;
}

RECORDING_API Result cuThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int own = 0;
  std::swap(own, *mode);
  return success;
}

RECORDING_API Result cuEventCreate(Event* event, unsigned) {
  *event = reinterpret_cast<Event>(new EventRecord);
  return success;
}

RECORDING_API Result cuEventDestroy_v2(Event event) {
  delete reinterpret_cast<EventRecord*>(event);
  return success;
}

RECORDING_API Result cuEventRecord(Event event, Stream stream) {
  const std::lock_guard lock(state().mutex);
  return enqueue(state(), stream, [event] {
    reinterpret_cast<EventRecord*>(event)->nanoseconds =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
  });
}

RECORDING_API Result cuEventQuery(Event) {
  const std::lock_guard lock(state().mutex);
  return state().ordered("cuEventQuery");
}

RECORDING_API Result cuEventSynchronize(Event) {
  const std::lock_guard lock(state().mutex);
  return state().ordered("cuEventSynchronize");
}

RECORDING_API Result cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  const std::lock_guard lock(state().mutex);
  const auto* first = reinterpret_cast<EventRecord*>(start);
  const auto* last = reinterpret_cast<EventRecord*>(end);
  if (first->nanoseconds < 0 || last->nanoseconds < 0) return invalid_handle;
  *milliseconds = static_cast<float>(static_cast<double>(last->nanoseconds - first->nanoseconds) / 1e6);
  return success;
}

RECORDING_API Result cuGraphInstantiateWithFlags(GraphExec* executable, Graph graph, unsigned long long) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuGraphInstantiateWithFlags"); status != success) return status;
  *executable = reinterpret_cast<GraphExec>(new GraphRecord(*reinterpret_cast<GraphRecord*>(graph)));
  return success;
}

RECORDING_API Result cuGraphUpload(GraphExec, Stream) { return success; }

RECORDING_API Result cuGraphLaunch(GraphExec graph, Stream) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuGraphLaunch"); status != success) return status;
  for (const auto& work : reinterpret_cast<GraphRecord*>(graph)->work) work();
  return success;
}

RECORDING_API Result cuUserObjectCreate(UserObject* object, void* pointer, void (*destroy)(void*), unsigned references,
                                        unsigned flags) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuUserObjectCreate"); status != success) return status;
  if (destroy == nullptr || references != 1 || flags != 1) return invalid_value;
  *object = reinterpret_cast<UserObject>(new std::shared_ptr<void>(pointer, destroy));
  return success;
}

RECORDING_API Result cuUserObjectRelease(UserObject object, unsigned) {
  delete reinterpret_cast<std::shared_ptr<void>*>(object);
  return success;
}

/// Takes over the caller's only reference.
RECORDING_API Result cuGraphRetainUserObject(Graph graph, UserObject object, unsigned references, unsigned flags) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuGraphRetainUserObject"); status != success) return status;
  if (graph == nullptr || references != 1 || flags != 1) return invalid_value;
  const std::unique_ptr<std::shared_ptr<void>> owned(reinterpret_cast<std::shared_ptr<void>*>(object));
  reinterpret_cast<GraphRecord*>(graph)->user_objects.push_back(*owned);
  return success;
}

RECORDING_API Result cuGraphDestroy(Graph graph) {
  delete reinterpret_cast<GraphRecord*>(graph);
  return success;
}

RECORDING_API Result cuGraphExecDestroy(GraphExec graph) {
  delete reinterpret_cast<GraphRecord*>(graph);
  return success;
}
// NOLINTEND(readability-identifier-naming)
