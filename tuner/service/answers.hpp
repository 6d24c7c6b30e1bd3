// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "tuner/service/message.hpp"

/// Answers for one state of the cache, by request target: a repeated request costs no work. For any thread.
namespace tilewright::service {

class Answers {
 public:
  /// Keeps at most `most_bytes`; evicts the least recently used answers first.
  explicit Answers(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// The kept answer, or nullopt if `asked` was not answered in this state.
  [[nodiscard]] std::optional<Response> find(const std::string& asked, std::uint64_t state);
  void keep(const std::string& asked, std::uint64_t state, const Response& answer);

 private:
  struct Kept {
    std::string asked;
    Response answer;
  };

  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::uint64_t state_ = 0;
  std::size_t bytes_ = 0;
  /// Most recently used first.
  std::list<Kept> kept_;
  std::unordered_map<std::string, std::list<Kept>::iterator> places_;
};

}  // namespace tilewright::service
