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

/// Answers of one state of the cache, by what was asked: asked again, they cost no work. For any thread.
namespace tilewright::service {

class Answers {
 public:
  /// Keeps answers of `most_bytes` at most: those asked for longest ago go first.
  explicit Answers(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Nothing where it was not asked, or in another state.
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
  /// The one asked for last is the first.
  std::list<Kept> kept_;
  std::unordered_map<std::string, std::list<Kept>::iterator> places_;
};

}  // namespace tilewright::service
