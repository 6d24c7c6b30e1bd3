// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "cache/driver/stream.hpp"
#include "tuner/device/device.hpp"

/// A GPU's rounds (docs/measuring.md), timed by events around a captured graph of launches, or around single launches.
/// Pieces of CudaDevice; they belong to its thread.
namespace tilewright {

/// Clears the L2 by writing more than it holds. Its memory is taken at the first use.
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
/// Enqueues what comes before the timed region.
using EnqueueBefore = std::function<void(cuda::Stream)>;

struct GraphShape {
  /// In the timed graph.
  int launches = 1;
  /// The last so many launches of a round, run untimed before it: they hide the time that the host needs to launch the
  /// graph, and leave the caches as the middle of a round finds them. With 0, `before` must do that.
  int lead = 0;
  /// For error texts: "timing softmax[…]{…}".
  std::string what;
};

[[nodiscard]] std::unique_ptr<Rounds> graph_rounds(const cuda::Driver& driver, const cuda::OwnedStream& stream,
                                                   const GraphShape& shape, const EnqueueLaunch& launch,
                                                   EnqueueBefore before);

struct LaunchedShape {
  /// A multiple of `together`.
  int launches = 1;
  /// Between two events.
  int together = 1;
  std::string what;
};

/// Launches by the host, without a graph: so many together between two events, `before` ahead of each such group.
[[nodiscard]] std::unique_ptr<Rounds> launched_rounds(const cuda::Driver& driver, const cuda::OwnedStream& stream,
                                                      const LaunchedShape& shape, EnqueueLaunch launch,
                                                      EnqueueBefore before);

}  // namespace tilewright
