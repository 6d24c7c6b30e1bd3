// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cache/base/descriptor.hpp"
#include "cache/base/error.hpp"

/// One end of a conversation with another process, over a socket. A message is a JSON object in CBOR form, its length
/// ahead of it: binaries travel as bytes, numbers that are none (NaN) as they are. One thread at each end. The other
/// process may have been overrun by a kernel: what it sends is bounded and judged.
namespace tilewright {

using Message = nlohmann::json;

/// A message lacks what is due, or has it of another kind.
class GarbledMessage : public Error {
 public:
  using Error::Error;
};

/// Runs `read`, which takes a message apart with nlohmann's accessors or with optional's: what they throw becomes
/// GarbledMessage.
template <class Read>
auto understand(Read read) {
  try {
    return read();
  } catch (const Message::exception& bad) {
    throw GarbledMessage(std::string("its process sent what cannot be understood: ") + bad.what());
  } catch (const std::bad_optional_access&) {
    throw GarbledMessage("its process sent what cannot be understood: an unknown word");
  }
}

class Channel {
 public:
  using Clock = std::chrono::steady_clock;

  /// Owns the socket.
  explicit Channel(int socket) : socket_(socket) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// False when the other end is gone.
  [[nodiscard]] bool send(const Message& message) const;

  /// The fate of a message, either way.
  enum class Received : std::uint8_t {
    message,      ///< it has passed
    end,          ///< the other end is gone
    late,         ///< the deadline came first
    interrupted,  ///< so did the interrupt
    garbled,      ///< it was no message; nothing can be received after it
  };
  /// Sends to one that may be too busy to listen. A message that did not pass may have done so in part: nothing can be
  /// sent after it. `interrupted` (may be empty) is asked twenty times a second.
  [[nodiscard]] Received send(const Message& message, std::optional<Clock::time_point> deadline,
                              const std::function<bool()>& interrupted = {}) const;
  /// Waits for a message.
  [[nodiscard]] Received receive(Message& message, std::optional<Clock::time_point> deadline = std::nullopt,
                                 const std::function<bool()>& interrupted = {}) const;

 private:
  [[nodiscard]] Received send(const void* bytes, std::size_t count, std::optional<Clock::time_point> deadline,
                              const std::function<bool()>& interrupted) const;
  /// Waits until the socket is ready for `events`.
  [[nodiscard]] Received await(short events, std::optional<Clock::time_point> deadline,
                               const std::function<bool()>& interrupted) const;
  [[nodiscard]] Received receive(void* bytes, std::size_t count, std::optional<Clock::time_point> deadline,
                                 const std::function<bool()>& interrupted) const;

  Descriptor socket_;
};

}  // namespace tilewright
