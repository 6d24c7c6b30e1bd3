// SPDX-License-Identifier: Apache-2.0
#include "tuner/device/cuda_rounds.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "cache/driver/driver_table.hpp"

namespace tilewright {
namespace {

class GraphRounds : public Rounds {
 public:
  GraphRounds(const cuda::Driver& driver, const cuda::OwnedStream& stream, const GraphShape& shape,
              const EnqueueLaunch& launch, EnqueueBefore before)
      : stream_(stream),
        launches_(shape.launches),
        what_(shape.what),
        before_(std::move(before)),
        graph_(driver, stream.get(), launches(0, shape.launches, launch)),
        start_(driver),
        end_(driver) {
    if (shape.lead > 0)
      lead_.emplace(driver, stream.get(), launches(shape.launches - shape.lead, shape.launches, launch));
    graph_.upload(stream.get());
    if (lead_) lead_->upload(stream.get());
  }

  double run() override {
    if (before_) before_(stream_.get());
    if (lead_) lead_->launch(stream_.get());
    start_.record(stream_.get());
    graph_.launch(stream_.get());
    end_.record(stream_.get());
    stream_.synchronize(what_);
    return end_.nanoseconds_since(start_) / launches_;
  }

 private:
  // Launches `first` to before `last` in sequence. No edge lets one begin before the previous one ends.
  static std::function<void(cuda::Stream)> launches(int first, int last, const EnqueueLaunch& launch) {
    return [first, last, &launch](cuda::Stream stream) {
      for (int i = first; i < last; ++i) launch(stream, i);
    };
  }

  const cuda::OwnedStream& stream_;
  int launches_;
  std::string what_;
  EnqueueBefore before_;
  cuda::CapturedGraph graph_;
  std::optional<cuda::CapturedGraph> lead_;
  cuda::OwnedEvent start_, end_;
};

class LaunchedRounds : public Rounds {
 public:
  LaunchedRounds(const cuda::Driver& driver, const cuda::OwnedStream& stream, const LaunchedShape& shape,
                 EnqueueLaunch launch, EnqueueBefore before)
      : stream_(stream),
        shape_(shape),
        launch_(std::move(launch)),
        before_(std::move(before)),
        start_(driver),
        end_(driver) {}

  double run() override {
    double total = 0;
    for (int first = 0; first < shape_.launches; first += shape_.together) {
      if (before_) before_(stream_.get());
      start_.record(stream_.get());
      for (int i = 0; i < shape_.together; ++i) launch_(stream_.get(), first + i);
      end_.record(stream_.get());
      stream_.synchronize(shape_.what);
      total += end_.nanoseconds_since(start_);
    }
    return total / shape_.launches;
  }

 private:
  const cuda::OwnedStream& stream_;
  LaunchedShape shape_;
  EnqueueLaunch launch_;
  EnqueueBefore before_;
  cuda::OwnedEvent start_, end_;
};

// The bytes that a flush writes: more than any current L2, and long enough to hide the host's part of the next launch.
constexpr std::int64_t kFlushBytes = std::int64_t{256} << 20;

}  // namespace

CacheFlush::CacheFlush(const cuda::Driver& driver, const DeviceFacts& facts) : driver_(driver) {
  // A small GPU has a small L2 and needs less than the flush of a large one.
  const std::int64_t most = std::max(facts.memory_bytes / 16, 2 * facts.l2_bytes);
  bytes_ = static_cast<std::size_t>(std::clamp(kFlushBytes, 2 * facts.l2_bytes, std::max<std::int64_t>(most, 1)));
}

void CacheFlush::enqueue(cuda::Stream stream) {
  if (!buffer_) buffer_ = cuda::Buffer(driver_, bytes_, "clearing the L2 cache");
  driver_.call("clearing the L2 cache", driver_.table().memset_d8_async, buffer_.address(),
               static_cast<unsigned char>(0), bytes_, stream);
}

std::unique_ptr<Rounds> graph_rounds(const cuda::Driver& driver, const cuda::OwnedStream& stream,
                                     const GraphShape& shape, const EnqueueLaunch& launch, EnqueueBefore before) {
  return std::make_unique<GraphRounds>(driver, stream, shape, launch, std::move(before));
}

std::unique_ptr<Rounds> launched_rounds(const cuda::Driver& driver, const cuda::OwnedStream& stream,
                                        const LaunchedShape& shape, EnqueueLaunch launch, EnqueueBefore before) {
  return std::make_unique<LaunchedRounds>(driver, stream, shape, std::move(launch), std::move(before));
}

}  // namespace tilewright
