// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/base/descriptor.hpp"
#include "cache/base/error.hpp"

/// One end of a socket to another process. A message is a JSON object as CBOR, preceded by its length: binaries travel
/// as bytes, and NaN is kept. One thread at each end. A kernel may have overwritten the other process's memory, so
/// received messages are bounded and checked.
namespace tilewright {

using Message = nlohmann::json;

/// Bytes as a part of a message.
[[nodiscard]] Message to_message(std::span<const std::byte> bytes);
[[nodiscard]] std::vector<std::byte> bytes_from(const Message& message);

/// A message lacks a member, or has one of the wrong type.
class GarbledMessage : public Error {
 public:
  using Error::Error;
};

/// Runs `read`, which decodes a message. Turns exceptions of nlohmann's and optional's accessors into GarbledMessage.
template <class Read>
auto understand(Read read) {
  try {
    return read();
  } catch (const Message::exception& bad) {
    throw GarbledMessage(std::string("its process sent an invalid message: ") + bad.what());
  } catch (const std::bad_optional_access&) {
    throw GarbledMessage("its process sent an invalid message: an unknown word");
  }
}

class Channel {
 public:
  using Clock = std::chrono::steady_clock;

  /// Owns the socket.
  explicit Channel(int socket) : socket_(socket) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Sends, waiting without limit. Returns false if the other end is closed.
  [[nodiscard]] bool send(const Message& message) const;

  /// The outcome of sending or receiving.
  enum class Received : std::uint8_t {
    message,      ///< it was transferred
    end,          ///< the other end is closed
    late,         ///< the deadline passed
    interrupted,  ///< `interrupted` returned true
    garbled,      ///< not a message; no more can be received
  };
  /// Sends to a process that may be busy. A failed message may have been sent in part: nothing can be sent after it.
  /// `interrupted` (may be empty) is asked twenty times a second.
  [[nodiscard]] Received send(const Message& message, std::optional<Clock::time_point> deadline,
                              const std::function<bool()>& interrupted = {}) const;
  [[nodiscard]] Received receive(Message& message, std::optional<Clock::time_point> deadline = std::nullopt,
                                 const std::function<bool()>& interrupted = {}) const;

 private:
  [[nodiscard]] Received send(const void* bytes, std::size_t count, std::optional<Clock::time_point> deadline,
                              const std::function<bool()>& interrupted) const;
  /// Waits until poll() reports `events`.
  [[nodiscard]] Received await(short events, std::optional<Clock::time_point> deadline,
                               const std::function<bool()>& interrupted) const;
  [[nodiscard]] Received receive(void* bytes, std::size_t count, std::optional<Clock::time_point> deadline,
                                 const std::function<bool()>& interrupted) const;

  Descriptor socket_;
};

}  // namespace tilewright
