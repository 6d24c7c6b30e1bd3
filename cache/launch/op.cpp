// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/op.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "cache/driver/driver_table.hpp"
#include "cache/launch/errors.hpp"
#include "cache/launch/launcher.hpp"

namespace tilewright::launch {

namespace {

constexpr unsigned kBitsPerArg = 3;
constexpr std::uint64_t kFullAlignment = 7;
constexpr std::size_t kMostArgs = 64 / kBitsPerArg;

/// The arguments of every call: which there are depends on dtype and attributes alone, so any dims will do.
std::vector<PlannedArg> args_of(const OpIdentity& op) {
  const std::vector<std::int64_t> ones(op.interface.dims.size(), 1);
  return plan_args(op.interface, make_problem(op.spec, op.interface, ones));
}

}  // namespace

Op::Op(Launcher& launcher, OpIdentity identity)
    : launcher_(&launcher), identity_(std::move(identity)), args_(args_of(identity_)) {
  const std::size_t dims = identity_.interface.dims.size();
  if (dims > PlanKey::kMostDims || args_.size() > kMostArgs) {
    throw UsageError(fmt::format("{} has {} dims and {} arguments; at most {} and {} can be launched",
                                 identity_.spec.text(), dims, args_.size(), PlanKey::kMostDims, kMostArgs));
  }
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (args_[i].role == ArgRole::scalar) scalars_ |= std::uint32_t{1} << i;
  }
  forget();
}

void Op::forget() {
  tables_.push_back(std::make_unique<PlanTable>(identity_.interface.dims.size()));
  table_.store(tables_.back().get(), std::memory_order_release);
}

std::uint64_t Op::alignment_of(std::span<void* const> args) const {
  std::uint64_t alignment = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == nullptr) refuse_args(args);
    std::uint64_t bits = kFullAlignment;
    if ((scalars_ >> i & 1) == 0) {
      std::uint64_t address = 0;
      std::memcpy(&address, args[i], sizeof address);
      if (address == 0) refuse_args(args);
      bits = static_cast<std::uint64_t>(std::countr_zero(address | std::uint64_t{1} << kFullAlignment));
    }
    alignment |= bits << (kBitsPerArg * i);
  }
  return alignment;
}

Alignments Op::alignments_of(std::uint64_t alignment) const {
  Alignments result;
  for (std::size_t i = 0; i < args_.size(); ++i) {
    result.push_back(static_cast<unsigned>(alignment >> (kBitsPerArg * i) & kFullAlignment));
  }
  return result;
}

void Op::refuse_args(std::span<void* const> args) const {
  std::vector<std::string> names;
  for (const PlannedArg& arg : args_) names.push_back(arg.name);
  if (args.size() != args_.size()) {
    throw UsageError(fmt::format("{} takes {} arguments ({}); the launch passes {}", identity_.spec.text(),
                                 names.size(), fmt::join(names, ", "), args.size()));
  }
  const auto null_value = std::find(args.begin(), args.end(), nullptr);
  const bool is_value = null_value != args.end();
  const std::size_t index =
      static_cast<std::size_t>((is_value ? null_value
                                         : std::find_if(args.begin(), args.end(),
                                                        [](void* value) {
                                                          static constexpr std::uint64_t kNull = 0;
                                                          return std::memcmp(value, &kNull, sizeof kNull) == 0;
                                                        })) -
                               args.begin());
  throw UsageError(fmt::format("{}: the {} of the argument '{}' is null", identity_.spec.text(),
                               is_value ? "pointer to the value" : "address", names.at(index)));
}

Problem Op::problem_of(std::span<const std::int64_t> dims) const {
  return make_problem(identity_.spec, identity_.interface, dims);
}

void Op::launch(cuda::Stream stream, std::span<const std::int64_t> dims, std::span<void* const> args) {
  if (args.size() != args_.size()) refuse_args(args);
  const cuda::Driver& driver = cuda::Driver::get();
  PlanKey key;
  key.context = current_context(driver);
  key.alignment = alignment_of(args);
  const bool is_complete = dims.size() == identity_.interface.dims.size();
  if (is_complete) std::copy(dims.begin(), dims.end(), key.dims.begin());

  const ReadyPlan* plan = is_complete ? table_.load(std::memory_order_acquire)->find(key) : nullptr;
  if (plan == nullptr) plan = &launcher_->resolve(*this, key, problem_of(dims), alignments_of(key.alignment));

  const int status = plan->placements.empty()
                         ? plan->executable.launch(stream, args, {})
                         : launcher_->workspaces().launch(driver, key.context, *plan, stream, args);
  if (status != cuda::kSuccess) {
    driver.check(status, driver.table().launch_kernel_ex.name(), fmt::format("launching {}", problem_of(dims).key()));
  }
}

void Op::preload(std::span<const std::int64_t> dims) {
  const cuda::Driver& driver = cuda::Driver::get();
  PlanKey key;
  key.context = current_context(driver);
  for (std::size_t i = 0; i < args_.size(); ++i) key.alignment |= kFullAlignment << (kBitsPerArg * i);
  const Problem problem = problem_of(dims);
  std::copy(dims.begin(), dims.end(), key.dims.begin());
  if (table_.load(std::memory_order_acquire)->find(key) == nullptr) {
    launcher_->resolve(*this, key, problem, alignments_of(key.alignment));
  }
}

std::size_t Op::workspace_bytes(std::span<const std::int64_t> dims) {
  const Launcher::Answer answer = launcher_->answer(*this, problem_of(dims));
  if (!answer.chosen.choice) throw NoMatchError(answer.chosen.why);
  return launch::workspace_bytes(answer.chosen.choice->plan);
}

}  // namespace tilewright::launch
