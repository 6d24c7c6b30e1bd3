// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tuner/service/message.hpp"

/// Server-sent events, each with an id, for all listeners. A returning client sends the last id it has (Last-Event-ID)
/// and gets the events it missed, or `reset` if they are no longer kept. For any thread.
namespace tilewright::service {

class EventHub {
 public:
  /// Keeps the newest events for returning clients, up to `most_bytes`. A client that needs more than its stream may
  /// have unsent would be dropped each time it returns.
  explicit EventHub(std::size_t most_bytes);

  void publish(const nlohmann::ordered_json& event);
  /// `last`: the client's Last-Event-ID; if empty, the stream starts with the job under way, as far as it is kept, or
  /// now if there is none.
  [[nodiscard]] Response stream(const std::string& last);
  /// Call it often: after 15 seconds of silence it sends a comment, so that proxies keep the connections open.
  void tick();
  /// Ends the streams of all present and later listeners.
  void end();
  [[nodiscard]] std::size_t listeners() const;

 private:
  using Text = std::shared_ptr<const std::string>;
  void listen(const std::shared_ptr<Stream>& stream, const std::string& last);
  void send(const Text& text);

  const std::size_t most_bytes_;
  /// Random prefix of this process's ids: ids of an earlier process are unknown.
  const std::string boot_;
  mutable std::mutex mutex_;
  /// The id of the first of `kept_`.
  std::uint64_t first_ = 1;
  std::deque<Text> kept_;
  std::size_t kept_bytes_ = 0;
  /// Number of the event that started the job under way.
  std::optional<std::uint64_t> job_;
  std::vector<std::shared_ptr<Stream>> streams_;
  bool ended_ = false;
  std::chrono::steady_clock::time_point sent_ = std::chrono::steady_clock::now();
};

}  // namespace tilewright::service
