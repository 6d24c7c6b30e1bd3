// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tuner/search/observations.hpp"
#include "tuner/search/shuffle.hpp"

namespace tilewright {
namespace {

/// A whole look at each candidate, in a fixed order.
class InOrder final : public Strategy {
 public:
  InOrder(std::string name, const SearchSpace& space, std::vector<std::size_t> order)
      : name_(std::move(name)), space_(space), observations_(space), order_(std::move(order)) {}

  [[nodiscard]] std::vector<Look> ask(std::size_t most) const override {
    return whole_looks(order_, observations_, space_, most);
  }
  void tell(std::size_t candidate, const Trial& trial) override { observations_.tell(candidate, trial); }
  [[nodiscard]] std::size_t still_to_try() const override { return observations_.count_unknown(); }
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  std::string name_;
  const SearchSpace& space_;
  Observations observations_;
  std::vector<std::size_t> order_;
};

}  // namespace

std::unique_ptr<Strategy> exhaustive(const SearchSpace& space) {
  std::vector<std::size_t> order(space.candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return std::make_unique<InOrder>("exhaustive", space, std::move(order));
}

std::unique_ptr<Strategy> random_order(const SearchSpace& space) {
  return std::make_unique<InOrder>("random", space, shuffled(space.candidates.size(), space.seed));
}

}  // namespace tilewright
