// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "tuner/search/strategy.hpp"

namespace tilewright {
namespace {

class Exhaustive final : public Strategy {
 public:
  explicit Exhaustive(std::size_t candidates) : known_(candidates, false) {}

  std::optional<std::size_t> ask() override {
    while (next_ < known_.size() && known_[next_]) ++next_;
    if (next_ == known_.size()) return std::nullopt;
    return next_++;
  }

  void tell(std::size_t candidate, const Trial& /*trial*/) override { known_.at(candidate) = true; }

  [[nodiscard]] std::string name() const override { return "exhaustive"; }

 private:
  std::vector<bool> known_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> exhaustive(std::size_t candidates) { return std::make_unique<Exhaustive>(candidates); }

}  // namespace tilewright
