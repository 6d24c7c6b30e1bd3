// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "cache/driver/cuda.hpp"

/// Owners of a stream, an event and a captured graph, for the context current when they are made; all of them are
/// destroyed with that context current. Movable, not copyable; each belongs to one thread at a time. Failed calls throw
/// DeviceError; what the driver answers as an expected "not yet" is a value.
namespace tilewright::cuda {

class OwnedStream {
 public:
  /// Does not wait for the legacy default stream.
  explicit OwnedStream(const Driver& driver);
  [[nodiscard]] Stream get() const noexcept { return stream_.get(); }
  /// Throws what a kernel on this stream did wrong, with `what` as the thing that was being done.
  void synchronize(const std::string& what = "waiting for the stream") const;
  /// True when everything enqueued so far is done.
  [[nodiscard]] bool is_done() const;

 private:
  struct Destroy {
    const DriverTable* table;
    void operator()(Stream stream) const noexcept;
  };
  const Driver* driver_;
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

/// While it lives, the calling thread may load kernels and allocate memory although a stream is capturing a graph,
/// which the driver forbids otherwise: neither becomes part of the graph. Stays on its thread.
class CaptureRelaxed {
 public:
  explicit CaptureRelaxed(const Driver& driver);
  ~CaptureRelaxed();
  CaptureRelaxed(const CaptureRelaxed&) = delete;
  CaptureRelaxed& operator=(const CaptureRelaxed&) = delete;

 private:
  const Driver* driver_;
  /// The thread's mode before.
  int mode_;
};

class OwnedEvent {
 public:
  explicit OwnedEvent(const Driver& driver);
  void record(Stream stream) const;
  void synchronize() const;
  [[nodiscard]] bool is_done() const;
  /// Nanoseconds from `start` to this event, both recorded and done; the driver's resolution is about 0.5 µs.
  [[nodiscard]] double nanoseconds_since(const OwnedEvent& start) const;
  [[nodiscard]] Event get() const noexcept { return event_.get(); }

 private:
  struct Destroy {
    const DriverTable* table;
    void operator()(Event event) const noexcept;
  };
  const Driver* driver_;
  std::unique_ptr<CUevent_st, Destroy> event_;
};

/// The work that `enqueue` put on a stream, ready to be launched again and again as one piece.
class CapturedGraph {
 public:
  /// Captures on `stream`. When `enqueue` throws, the capture is ended and dropped, and its exception goes on.
  CapturedGraph(const Driver& driver, Stream stream, const std::function<void(Stream)>& enqueue);
  /// Moves the graph to the device now, so that the first launch is as fast as the others.
  void upload(Stream stream) const;
  void launch(Stream stream) const;

 private:
  struct Destroy {
    const DriverTable* table;
    void operator()(GraphExec graph) const noexcept;
  };
  const Driver* driver_;
  std::unique_ptr<CUgraphExec_st, Destroy> graph_;
};

/// True once a graph is gone, with all that was instantiated or copied of it, and what these launched is done.
using GraphGone = std::shared_ptr<const std::atomic<bool>>;

/// A flag that the driver sets when a graph, which may still be being captured, is gone. Null where the driver cannot
/// tell. The driver keeps a share of it and sets it by a thread of its own, however late: the code that does so must
/// stay loaded.
[[nodiscard]] GraphGone watch_graph(const Driver& driver, Graph graph);

}  // namespace tilewright::cuda
