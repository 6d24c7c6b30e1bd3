// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/stream.hpp"

#include "cache/driver/driver_table.hpp"

namespace tilewright::cuda {

namespace {

constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDefault = 0;
/// Lets the process's other threads allocate and synchronize while this one captures.
constexpr int kCaptureThreadLocal = 1;
constexpr int kCaptureRelaxed = 2;

}  // namespace

void OwnedStream::Destroy::operator()(Stream stream) const noexcept { table->stream_destroy(stream); }
void OwnedEvent::Destroy::operator()(Event event) const noexcept { table->event_destroy(event); }
void CapturedGraph::Destroy::operator()(GraphExec graph) const noexcept { table->graph_exec_destroy(graph); }

OwnedStream::OwnedStream(const Driver& driver) : driver_(&driver), stream_(nullptr, Destroy{&driver.table()}) {
  Stream stream = nullptr;
  driver.call("creating a stream", driver.table().stream_create, &stream, kStreamNonBlocking);
  stream_.reset(stream);
}

void OwnedStream::synchronize(const std::string& what) const {
  driver_->call(what.c_str(), driver_->table().stream_synchronize, stream_.get());
}

bool OwnedStream::is_done() const {
  const Result status = driver_->table().stream_query(stream_.get());
  if (status == kErrorNotReady) return false;
  driver_->check(status, driver_->table().stream_query.name(), "asking whether the stream is done");
  return true;
}

CaptureRelaxed::CaptureRelaxed(const Driver& driver) : driver_(&driver), mode_(kCaptureRelaxed) {
  driver.call("relaxing the capture mode", driver.table().thread_exchange_capture_mode, &mode_);
}

CaptureRelaxed::~CaptureRelaxed() { driver_->table().thread_exchange_capture_mode(&mode_); }

OwnedEvent::OwnedEvent(const Driver& driver) : driver_(&driver), event_(nullptr, Destroy{&driver.table()}) {
  Event event = nullptr;
  driver.call("creating an event", driver.table().event_create, &event, kEventDefault);
  event_.reset(event);
}

void OwnedEvent::record(Stream stream) const {
  driver_->call("recording an event", driver_->table().event_record, event_.get(), stream);
}

void OwnedEvent::synchronize() const {
  driver_->call("waiting for an event", driver_->table().event_synchronize, event_.get());
}

bool OwnedEvent::is_done() const {
  const Result status = driver_->table().event_query(event_.get());
  if (status == kErrorNotReady) return false;
  driver_->check(status, driver_->table().event_query.name(), "asking whether an event is done");
  return true;
}

double OwnedEvent::nanoseconds_since(const OwnedEvent& start) const {
  float milliseconds = 0;
  driver_->call("reading the time between two events", driver_->table().event_elapsed_time, &milliseconds,
                start.event_.get(), event_.get());
  return static_cast<double>(milliseconds) * 1e6;
}

CapturedGraph::CapturedGraph(const Driver& driver, Stream stream, const std::function<void(Stream)>& enqueue)
    : driver_(&driver), graph_(nullptr, Destroy{&driver.table()}) {
  const DriverTable& table = driver.table();
  const auto destroy = [&table](Graph graph) { table.graph_destroy(graph); };
  std::unique_ptr<CUgraph_st, decltype(destroy)> captured(nullptr, destroy);
  const auto end_capture = [&] {
    Graph graph = nullptr;
    const Result status = table.stream_end_capture(stream, &graph);
    captured.reset(graph);
    return status;
  };

  driver.call("beginning to capture a graph", table.stream_begin_capture, stream, kCaptureThreadLocal);
  try {
    enqueue(stream);
  } catch (...) {
    // A stream left capturing refuses all later work.
    end_capture();
    throw;
  }
  driver.check(end_capture(), table.stream_end_capture.name(), "ending the capture of a graph");
  GraphExec executable = nullptr;
  driver.call("instantiating a graph", table.graph_instantiate, &executable, captured.get(), 0ULL);
  graph_.reset(executable);
}

void CapturedGraph::upload(Stream stream) const {
  driver_->call("uploading a graph", driver_->table().graph_upload, graph_.get(), stream);
}

void CapturedGraph::launch(Stream stream) const {
  driver_->call("launching a graph", driver_->table().graph_launch, graph_.get(), stream);
}

namespace {

using Flag = std::shared_ptr<std::atomic<bool>>;

/// Must not call the driver.
void note_gone(void* pointer) {
  const std::unique_ptr<Flag> flag(static_cast<Flag*>(pointer));
  (*flag)->store(true, std::memory_order_release);
}

}  // namespace

GraphGone watch_graph(const Driver& driver, Graph graph) {
  // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, and CU_GRAPH_USER_OBJECT_MOVE: our one reference becomes the graph's.
  constexpr unsigned kNoSync = 1;
  constexpr unsigned kMove = 1;
  const DriverTable& table = driver.table();
  if (table.user_object_create == nullptr || table.user_object_release == nullptr ||
      table.graph_retain_user_object == nullptr) {
    return nullptr;
  }
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  auto drivers = std::make_unique<Flag>(gone);
  UserObject object = nullptr;
  if (table.user_object_create(&object, drivers.get(), note_gone, 1, kNoSync) != kSuccess) return nullptr;
  static_cast<void>(drivers.release());
  if (table.graph_retain_user_object(graph, object, 1, kMove) == kSuccess) return gone;
  // The release sets the flag, which nobody reads.
  static_cast<void>(table.user_object_release(object, 1));
  return nullptr;
}

}  // namespace tilewright::cuda
