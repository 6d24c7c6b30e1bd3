// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "cache/driver/stream.hpp"
#include "tuner/device/device.hpp"

/// A GPU's rounds (docs/measuring.md), timed by events around a captured graph of launches or around groups of
/// launches. Parts of CudaDevice, for its thread.
namespace tilewright {

/// Clears the L2 by writing more than it holds. Allocates its memory on first use.
class CacheFlush {
 public:
  CacheFlush(const cuda::Driver& driver, const DeviceFacts& facts);
  void enqueue(cuda::Stream stream);

 private:
  const cuda::Driver& driver_;
  std::size_t bytes_;
  cuda::Buffer buffer_;
};

/// Enqueues launch `index` of a round.
using EnqueueLaunch = std::function<void(cuda::Stream, int index)>;
/// Enqueues the work before the timed region.
using EnqueueBefore = std::function<void(cuda::Stream)>;

struct GraphShape {
  /// The launches in the timed graph.
  int launches = 1;
  /// The number of launches, the round's last, that run untimed before it. They hide the host's time to launch the
  /// graph, and leave the caches as in the middle of a round. If 0, `before` must do both.
  int lead = 0;
  /// For error messages, such as "timing softmax[…]{…}".
  std::string what;
};

[[nodiscard]] std::unique_ptr<Rounds> graph_rounds(const cuda::Driver& driver, const cuda::OwnedStream& stream,
                                                   const GraphShape& shape, const EnqueueLaunch& launch,
                                                   EnqueueBefore before);

struct LaunchedShape {
  /// A multiple of `together`.
  int launches = 1;
  /// The number of launches between two events.
  int together = 1;
  std::string what;
};

/// Host launches without a graph: `together` of them between two events, and `before` ahead of each group.
[[nodiscard]] std::unique_ptr<Rounds> launched_rounds(const cuda::Driver& driver, const cuda::OwnedStream& stream,
                                                      const LaunchedShape& shape, EnqueueLaunch launch,
                                                      EnqueueBefore before);

}  // namespace tilewright
