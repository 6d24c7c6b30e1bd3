// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "cache/driver/cuda.hpp"

/// Owners of a stream, an event and a captured graph. Each is made and destroyed with the same context current.
/// Movable, not copyable; each belongs to one thread at a time. Failed calls throw DeviceError; an expected "not yet"
/// is a value.
namespace tilewright::cuda {

class OwnedStream {
 public:
  /// A non-blocking stream: it does not wait for the legacy default stream.
  explicit OwnedStream(const Driver& driver);
  [[nodiscard]] Stream get() const noexcept { return stream_.get(); }
  /// Throws DeviceError for a failed kernel of this stream; `what` names the work in hand.
  void synchronize(const std::string& what = "waiting for the stream") const;
  /// True if all work enqueued so far is done.
  [[nodiscard]] bool is_done() const;

 private:
  struct Destroy {
    const DriverTable* table;
    void operator()(Stream stream) const noexcept;
  };
  const Driver* driver_;
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

/// While it lives, the calling thread may load kernels and allocate memory during a stream capture, which the driver
/// forbids otherwise. Neither becomes part of the graph. Stays on its thread.
class CaptureRelaxed {
 public:
  explicit CaptureRelaxed(const Driver& driver);
  ~CaptureRelaxed();
  CaptureRelaxed(const CaptureRelaxed&) = delete;
  CaptureRelaxed& operator=(const CaptureRelaxed&) = delete;

 private:
  const Driver* driver_;
  /// The thread's previous mode.
  int mode_;
};

class OwnedEvent {
 public:
  explicit OwnedEvent(const Driver& driver);
  void record(Stream stream) const;
  void synchronize() const;
  [[nodiscard]] bool is_done() const;
  /// Nanoseconds from `start` to this event; both must be recorded and done. The driver's resolution is about 0.5 µs.
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

/// The work that `enqueue` puts on a stream, launched again and again as one piece.
class CapturedGraph {
 public:
  /// Captures on `stream`. If `enqueue` throws, the capture is ended and dropped, and the exception passes on.
  CapturedGraph(const Driver& driver, Stream stream, const std::function<void(Stream)>& enqueue);
  /// Uploads the graph to the device now, so that the first launch is as fast as later ones.
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

/// True once a graph and all its instances and copies are gone, and the work they launched is done.
using GraphGone = std::shared_ptr<const std::atomic<bool>>;

/// A flag that the driver sets when `graph`, which may still be being captured, is gone. Null if the driver cannot
/// tell. The driver shares ownership and sets the flag on a thread of its own, however late: this code must stay
/// loaded.
[[nodiscard]] GraphGone watch_graph(const Driver& driver, Graph graph);

}  // namespace tilewright::cuda
