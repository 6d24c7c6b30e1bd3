// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/op.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "cache/base/limits.hpp"
#include "cache/driver/driver_table.hpp"
#include "cache/launch/errors.hpp"
#include "cache/launch/launcher.hpp"
#include "cache/model/bucket.hpp"

namespace tilewright::launch {

namespace {

constexpr unsigned kBitsPerTensor = 3;
constexpr std::uint64_t kFullAlignment = 7;
/// Tensors from this shift on share their bits.
constexpr unsigned kLastShift = (64 / kBitsPerTensor - 1) * kBitsPerTensor;
constexpr std::uint64_t kAllAligned = (std::uint64_t{1} << (kLastShift + kBitsPerTensor)) - 1;

/// Lowers the alignment class at `shift` to `bits` if it is higher.
void lower(std::uint64_t& alignment, unsigned shift, std::uint64_t bits) noexcept {
  const std::uint64_t before = alignment >> shift & kFullAlignment;
  if (bits < before) alignment -= (before - bits) << shift;
}

/// The arguments of all calls: dtype and attributes alone decide which are present, so any dims will do.
std::vector<PlannedArg> args_of(const OpIdentity& op) {
  Problem ones{op.spec, {}};
  for (const std::string& dim : op.interface.dims) ones.dims.emplace_back(dim, 1);
  return plan_args(op.interface, ones);
}

/// The address or stride that an argument's value holds.
template <class Word>
Word read(void* value) noexcept {
  Word word = 0;
  std::memcpy(&word, value, sizeof word);
  return word;
}

/// log2 of the largest power of two, at most 128, that divides a number.
std::uint64_t alignment_class(std::uint64_t number) noexcept {
  return static_cast<std::uint64_t>(std::countr_zero(number | std::uint64_t{1} << kFullAlignment));
}

}  // namespace

Op::Op(Launcher& launcher, OpIdentity identity)
    : table_(identity.interface.dims.size()),
      launcher_(&launcher),
      identity_(std::move(identity)),
      args_(args_of(identity_)) {
  const std::size_t dims = identity_.interface.dims.size();
  if (dims > kMostDims || args_.size() > kMostArgs) {
    throw UsageError(fmt::format("{} has {} dims and {} arguments; at most {} and {} can be launched",
                                 identity_.spec.text(), dims, args_.size(), kMostDims, kMostArgs));
  }
  arg_count_ = static_cast<std::uint32_t>(args_.size());
  dim_count_ = static_cast<std::uint32_t>(dims);
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (args_[i].role == ArgRole::scalar) scalars_ |= std::uint64_t{1} << i;
  }
  for (std::size_t i = 0; i < dims; ++i) {
    if (identity_.interface.is_bucketed(identity_.interface.dims[i])) bucketed_ |= std::uint32_t{1} << i;
  }
  find_strides();
}

unsigned Op::shift_of(std::size_t arg) const noexcept {
  const std::uint64_t before = ~scalars_ & ((std::uint64_t{1} << arg) - 1);
  return std::min(static_cast<unsigned>(std::popcount(before)) * kBitsPerTensor, kLastShift);
}

void Op::find_strides() {
  std::vector<std::size_t> place(args_.size());
  for (std::size_t i = 0; i < args_.size(); ++i) {
    const PlannedArg& arg = args_[i];
    if (arg.strides.empty()) continue;
    place[i] = strided_.size();
    strided_.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(strides_.size()),
                        static_cast<std::uint32_t>(arg.strides.size()),
                        bucketed_extent(arg.name, arg.shape.size() - 1)});
    for (std::size_t s = 0; s < arg.strides.size(); ++s) {
      strides_.push_back({static_cast<std::uint32_t>(arg.strides[s].scalar),
                          static_cast<std::uint32_t>(std::countr_zero(size_of(arg.type))), shift_of(i),
                          arg.is_pitched ? kNone : bucketed_extent(arg.name, s)});
    }
  }
  for (const Strided& output : strided_) {
    for (const std::string& name : args_[output.arg].alias) {
      const auto input =
          std::find_if(args_.begin(), args_.end(), [&](const PlannedArg& other) { return other.name == name; });
      if (input != args_.end() && input->strides.size() == output.count) {
        pairs_.push_back({place[output.arg], place[static_cast<std::size_t>(input - args_.begin())]});
      }
    }
  }
}

std::int32_t Op::bucketed_extent(const std::string& argument, std::size_t extent) const {
  const OpInterface& interface = identity_.interface;
  const Formula& formula = std::ranges::find(interface.args, argument, &Argument::name)->shape[extent];
  const auto dim = std::ranges::find(interface.dims, formula.canonical());
  if (dim == interface.dims.end() || !interface.is_bucketed(*dim)) return kNone;
  return static_cast<std::int32_t>(dim - interface.dims.begin());
}

void Op::round_up(PlanKey& key) const noexcept {
  for (std::size_t i = 0; i < dim_count_; ++i) {
    if ((bucketed_ >> i & 1) != 0) key.dims[i] = bucket_of(key.dims[i]);
  }
}

std::uint64_t Op::alignment_of(std::span<void* const> args) const {
  std::uint64_t alignment = kAllAligned;
  unsigned shift = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == nullptr) refuse_args(args);
    if ((scalars_ >> i & 1) != 0) continue;
    const auto address = read<std::uint64_t>(args[i]);
    if (address == 0) refuse_args(args);
    lower(alignment, shift, alignment_class(address));
    if (shift < kLastShift) shift += kBitsPerTensor;
  }
  // A row is aligned as its address and its strides are. All values are non-null here.
  for (const Stride& stride : strides_) {
    lower(alignment, stride.shift, alignment_class(read<std::uint64_t>(args[stride.scalar]) << stride.log2_bytes));
  }
  return alignment;
}

void Op::check_strides(const ReadyPlan& plan, std::span<const std::int64_t> dims, std::span<void* const> args) const {
  const auto extent_of = [&](std::int32_t dim, std::int64_t planned) {
    return dim == kNone ? planned : dims[static_cast<std::size_t>(dim)];
  };
  for (std::size_t i = 0; i < strided_.size(); ++i) {
    const Strided& strided = strided_[i];
    std::array<StrideStep, kMostStrides> steps;
    for (std::size_t s = 0; s < strided.count; ++s) {
      const Stride& stride = strides_[strided.first + s];
      steps[s] = {extent_of(stride.dim, plan.stride_extents[strided.first + s]),
                  read<std::int64_t>(args[stride.scalar])};
    }
    const auto mistake =
        short_stride(std::span(steps).first(strided.count), extent_of(strided.dim, plan.row_elements[i]));
    if (mistake) refuse_stride(strided, *mistake, args);
  }
  for (const StridedPair& pair : pairs_) {
    const Strided &output = strided_[pair.output], &input = strided_[pair.input];
    if (read<std::uint64_t>(args[output.arg]) != read<std::uint64_t>(args[input.arg])) continue;
    for (std::size_t s = 0; s < output.count; ++s) {
      const auto is = read<std::int64_t>(args[strides_[output.first + s].scalar]);
      if (is != read<std::int64_t>(args[strides_[input.first + s].scalar])) refuse_pair(pair, s, args);
    }
  }
}

void Op::refuse_stride(const Strided& strided, const ShortStride& mistake, std::span<void* const> args) const {
  const std::size_t scalar = strides_[strided.first + mistake.index].scalar;
  const PlannedArg& arg = args_[strided.arg];
  throw UsageError(fmt::format("{}: '{}', {} of '{}', is {}, less than {}", identity_.spec.text(), args_[scalar].name,
                               arg.is_pitched ? "the pitch" : "a stride", arg.name, read<std::int64_t>(args[scalar]),
                               mistake.below_row ? fmt::format("a row's {} elements", mistake.least)
                                                 : fmt::format("the {} elements that it steps over", mistake.least)));
}

void Op::refuse_pair(const StridedPair& pair, std::size_t stride, std::span<void* const> args) const {
  const Strided &output = strided_[pair.output], &input = strided_[pair.input];
  const PlannedArg& arg = args_[output.arg];
  throw UsageError(fmt::format(
      "{}: '{}' and '{}' share memory, and their {} are {} and {}; in place they must be equal", identity_.spec.text(),
      arg.name, args_[input.arg].name, arg.is_pitched ? "pitches" : fmt::format("strides at extent {}", stride),
      read<std::int64_t>(args[strides_[output.first + stride].scalar]),
      read<std::int64_t>(args[strides_[input.first + stride].scalar])));
}

Alignments Op::alignments_of(std::uint64_t alignment) const {
  Alignments result;
  for (std::size_t i = 0; i < args_.size(); ++i) {
    result.push_back(static_cast<unsigned>(alignment >> shift_of(i) & kFullAlignment));
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
  const auto is_address = [&](std::size_t i) { return (scalars_ >> i & 1) == 0; };
  std::size_t at = 0;
  while (args[at] != nullptr && !(is_address(at) && read<std::uint64_t>(args[at]) == 0)) ++at;
  throw UsageError(fmt::format("{}: the {} of the argument '{}' is null", identity_.spec.text(),
                               args[at] == nullptr ? "pointer to the value" : "address", names.at(at)));
}

Problem Op::problem_of(std::span<const std::int64_t> dims) const {
  return make_problem(identity_.spec, identity_.interface, dims);
}

void Op::launch(cuda::Stream stream, std::span<const std::int64_t> dims, std::span<void* const> args) {
  process_.require_own_process();
  if (args.size() != arg_count_) refuse_args(args);
  PlanKey key;
  key.alignment = alignment_of(args);
  // Mistakes of the call are reported before a missing driver, so that calls can be tested without a GPU.
  if (driver_ == nullptr) static_cast<void>(problem_of(dims));
  const cuda::Driver& driver = this->driver();
  const bool is_complete = dims.size() == dim_count_;
  if (is_complete) {
    // A constant bound: with a variable one, the compiler calls a library to copy so few words.
    for (std::size_t i = 0; i < kMostDims; ++i) {
      if (i == dim_count_) break;
      key.dims[i] = dims[i];
    }
    if (bucketed_ != 0) round_up(key);
  }

  // Prefetches the plan of the most likely context while the driver is asked for the current one.
  key.context = usual_context_.load(std::memory_order_relaxed);
  const ReadyPlan* plan = table_.find(key);
  if (plan != nullptr) plan->executable.prefetch();
  if (const std::uint64_t context = current_context(driver); context != key.context) {
    key.context = context;
    plan = table_.find(key);
  }
  if (plan == nullptr || !is_complete) plan = &resolve(key, dims);
  if (!strided_.empty()) check_strides(*plan, dims, args);

  const ProfilerRange range(profiler_, [&] { return problem_of(dims).key(); });
  // Without bucketed dims the plan has the call's dims.
  const std::span<const std::int64_t> of_call = bucketed_ != 0 ? dims : std::span<const std::int64_t>{};
  const int status = plan->placements.empty()
                         ? plan->executable.launch(stream, args, {}, of_call)
                         : launcher_->workspaces().launch(driver, key.context, *plan, stream, args, of_call);
  if (status != cuda::kSuccess) check_launched(driver, status, dims);
}

const ReadyPlan& Op::resolve(const PlanKey& key, std::span<const std::int64_t> dims) {
  const ReadyPlan& plan = launcher_->resolve(*this, key, problem_of(dims), alignments_of(key.alignment));
  usual_context_.store(key.context, std::memory_order_relaxed);
  return plan;
}

void Op::check_launched(const cuda::Driver& driver, int status, std::span<const std::int64_t> dims) const {
  driver.check(status, driver.table().launch_kernel_ex.name(), fmt::format("launching {}", problem_of(dims).key()));
}

void Op::preload(std::span<const std::int64_t> dims) {
  process_.require_own_process();
  static_cast<void>(problem_of(dims));  // refuses wrong dims before they are copied, and before all else
  const cuda::Driver& driver = this->driver();
  PlanKey key;
  key.context = current_context(driver);
  key.alignment = kAllAligned;
  std::copy(dims.begin(), dims.end(), key.dims.begin());
  round_up(key);
  const ReadyPlan* plan = table_.find(key);
  if (plan == nullptr) plan = &resolve(key, dims);
  if (!plan->placements.empty()) launcher_->workspaces().reserve(driver, key.context, *plan);
}

std::size_t Op::workspace_bytes(std::span<const std::int64_t> dims) {
  const Chosen chosen = launcher_->answer(*this, problem_of(dims)).served.chosen;
  if (!chosen.choice) throw NoMatchError(chosen.why);
  return launch::workspace_bytes(chosen.choice->plan);
}

}  // namespace tilewright::launch
