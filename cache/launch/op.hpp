// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cache/driver/cuda.hpp"
#include "cache/driver/profiler.hpp"
#include "cache/launch/fork_guard.hpp"
#include "cache/launch/plan_table.hpp"
#include "cache/launch/resolver.hpp"
#include "cache/plan/strides.hpp"

/// The implementation of tw_op: an op with its dtype and attributes fixed, and the plans of its launched shapes. Any
/// number of threads may use it. Belongs to its launcher.
namespace tilewright::launch {

class Launcher;

class alignas(64) Op {
 public:
  /// Throws UsageError if the op has more dims or arguments than a launch has room for.
  Op(Launcher& launcher, OpIdentity identity);

  /// As tw_launch, but throws. A known shape allocates nothing and takes no lock, unless its plan has workspaces.
  [[gnu::hot]] void launch(cuda::Stream stream, std::span<const std::int64_t> dims, std::span<void* const> args);
  void preload(std::span<const std::int64_t> dims);
  [[nodiscard]] std::size_t workspace_bytes(std::span<const std::int64_t> dims);
  /// JSON, as tw_query and tw_op_describe give it.
  [[nodiscard]] std::string query(std::span<const std::int64_t> dims);
  [[nodiscard]] std::string describe() const;
  /// As tw_op_dims.
  [[nodiscard]] std::vector<std::int64_t> dims_of(std::span<const std::int64_t* const> shapes,
                                                  std::span<const std::size_t> ranks) const;

  [[nodiscard]] const OpIdentity& identity() const noexcept { return identity_; }
  // For the launcher; it holds its lock.
  [[nodiscard]] PlanTable& table() noexcept { return table_; }
  /// The problem and the alignments of a key.
  [[nodiscard]] Problem problem_of(const PlanKey& key) const { return problem_of({key.dims.data(), dim_count_}); }
  [[nodiscard]] Alignments alignments_of(std::uint64_t alignment) const;

 private:
  static constexpr std::int32_t kNone = -1;
  /// A scalar argument that holds a stride or the row pitch of another argument, in elements.
  struct Stride {
    std::uint32_t scalar = 0;
    std::uint32_t log2_bytes = 0;
    /// The shift of the other argument's bits in a key.
    std::uint32_t shift = 0;
    /// The index of the bucketed dim that gives its extent at each call, or kNone.
    std::int32_t dim = kNone;
  };
  /// An argument with strides: `count` entries of `strides_` from `first` on.
  struct Strided {
    std::uint32_t arg = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    /// As Stride::dim, for the row.
    std::int32_t dim = kNone;
  };
  /// An output and an input that it may alias, as indices into `strided_`.
  struct StridedPair {
    std::size_t output = 0;
    std::size_t input = 0;
  };

  /// Throws DeviceError if there is no driver.
  [[nodiscard]] const cuda::Driver& driver() const { return driver_ != nullptr ? *driver_ : cuda::Driver::get(); }
  void find_strides();
  /// The index of the bucketed dim that is an argument's extent, or kNone.
  [[nodiscard]] std::int32_t bucketed_extent(const std::string& argument, std::size_t extent) const;
  /// Replaces a call's bucketed extents with their buckets.
  void round_up(PlanKey& key) const noexcept;
  /// The shift of an argument's alignment bits in a key; unused for scalars.
  [[nodiscard]] unsigned shift_of(std::size_t arg) const noexcept;
  /// Throws UsageError for a null pointer or address.
  [[nodiscard, gnu::hot]] std::uint64_t alignment_of(std::span<void* const> args) const;
  /// Throws UsageError if elements would overlap, or if one tensor is given two different strides.
  [[gnu::hot]] void check_strides(const ReadyPlan& plan, std::span<const std::int64_t> dims,
                                  std::span<void* const> args) const;
  [[noreturn, gnu::cold]] void refuse_stride(const Strided& strided, const ShortStride& mistake,
                                             std::span<void* const> args) const;
  [[noreturn, gnu::cold]] void refuse_pair(const StridedPair& pair, std::size_t stride,
                                           std::span<void* const> args) const;
  [[nodiscard]] Problem problem_of(std::span<const std::int64_t> dims) const;
  /// The plan of a shape that is not in the table.
  [[nodiscard, gnu::cold]] const ReadyPlan& resolve(const PlanKey& key, std::span<const std::int64_t> dims);
  /// Throws DeviceError: the launch failed with `status`.
  [[gnu::cold]] void check_launched(const cuda::Driver& driver, int status, std::span<const std::int64_t> dims) const;
  /// Throws UsageError for a wrong number of arguments, or for the first null one.
  [[noreturn, gnu::cold]] void refuse_args(std::span<void* const> args) const;

  // A launch reads the members down to `table_`; they lie together as in executable.hpp.
  ForkGuard process_;
  const cuda::Driver* driver_ = cuda::Driver::find();
  /// Each launch is a range on the profiler's timeline; null without a profiler.
  const Profiler* profiler_ = Profiler::attached();
  std::uint32_t arg_count_ = 0;
  std::uint32_t dim_count_ = 0;
  /// One bit per bucketed dim.
  std::uint32_t bucketed_ = 0;
  /// One bit per scalar argument.
  std::uint64_t scalars_ = 0;
  /// The context of the newest plan, looked up first; a launch in another context looks twice.
  std::atomic<std::uint64_t> usual_context_ = 0;
  /// In call order.
  std::vector<Stride> strides_;
  std::vector<Strided> strided_;
  PlanTable table_;
  std::vector<StridedPair> pairs_;
  Launcher* launcher_;
  OpIdentity identity_;
  /// A call's arguments, in its order.
  std::vector<PlannedArg> args_;
};

}  // namespace tilewright::launch
