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

/// Server-sent events: each with an id, sent to all that listen. Who comes back says the last it has (Last-Event-ID)
/// and gets what it missed, or `reset` where that is known no more. For any thread.
namespace tilewright::service {

class EventHub {
 public:
  /// The newest so many can be had again.
  explicit EventHub(std::size_t most = 4096);

  void publish(const nlohmann::ordered_json& event);
  /// `last`: as the client sends it; empty: from the beginning of the job under way, or from now on.
  [[nodiscard]] Response stream(const std::string& last);
  /// To be called often: a comment every 15 seconds keeps proxies from closing what is silent.
  void tick();
  /// Ends all listeners, and those that come later.
  void end();
  [[nodiscard]] std::size_t listeners() const;

 private:
  using Text = std::shared_ptr<const std::string>;
  void listen(const std::shared_ptr<Stream>& stream, const std::string& last);
  void send(const Text& text);

  const std::size_t most_;
  /// The mark of this process: ids of an earlier one mean nothing.
  const std::string boot_;
  mutable std::mutex mutex_;
  /// The id of the first of `kept_`.
  std::uint64_t first_ = 1;
  std::deque<Text> kept_;
  /// The event that the job under way began with; nothing: there is none.
  std::optional<std::uint64_t> job_;
  std::vector<std::shared_ptr<Stream>> streams_;
  bool ended_ = false;
  std::chrono::steady_clock::time_point sent_ = std::chrono::steady_clock::now();
};

}  // namespace tilewright::service
