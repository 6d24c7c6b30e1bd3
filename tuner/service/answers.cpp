// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/answers.hpp"

namespace tilewright::service {
namespace {

std::size_t size_of(const std::string& asked, const Response& answer) {
  return 2 * asked.size() + answer.body.size() + 512;
}

}  // namespace

std::optional<Response> Answers::find(const std::string& asked, std::uint64_t state) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(asked);
  if (state != state_ || found == places_.end()) return std::nullopt;
  kept_.splice(kept_.begin(), kept_, found->second);
  return found->second->answer;
}

void Answers::keep(const std::string& asked, std::uint64_t state, const Response& answer) {
  const std::lock_guard lock(mutex_);
  if (state > state_) {
    kept_.clear();
    places_.clear();
    bytes_ = 0;
    state_ = state;
  }
  const std::size_t size = size_of(asked, answer);
  if (state < state_ || size > most_bytes_ / 4 || places_.contains(asked)) return;
  kept_.push_front({asked, answer});
  places_.emplace(asked, kept_.begin());
  bytes_ += size;
  while (bytes_ > most_bytes_) {
    bytes_ -= size_of(kept_.back().asked, kept_.back().answer);
    places_.erase(kept_.back().asked);
    kept_.pop_back();
  }
}

}  // namespace tilewright::service
