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

/// An op with its dtype and attributes fixed, and the plans of the shapes that it was launched with: what a tw_op is.
/// Any number of threads may use it. Belongs to its launcher.
namespace tilewright::launch {

class Launcher;

class alignas(64) Op {
 public:
  /// Throws UsageError for an op with more dims or arguments than a key can hold.
  Op(Launcher& launcher, OpIdentity identity);

  /// As tw_launch. Throws; a shape that was launched before takes no lock and allocates nothing.
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
  // For the launcher, which holds its lock.
  [[nodiscard]] PlanTable& table() noexcept { return table_; }
  /// The problem, and the alignments, of a key of the table.
  [[nodiscard]] Problem problem_of(const PlanKey& key) const { return problem_of({key.dims.data(), dim_count_}); }
  [[nodiscard]] Alignments alignments_of(std::uint64_t alignment) const;

 private:
  static constexpr std::int32_t kNone = -1;
  /// The value of the argument `scalar`, which is a stride, or the row pitch, of another one, in elements.
  struct Stride {
    std::uint32_t scalar = 0;
    std::uint32_t log2_bytes = 0;
    /// The place of the other argument's bits in a key.
    std::uint32_t shift = 0;
    /// The bucketed dim that its extent is, which comes with the call.
    std::int32_t dim = kNone;
  };
  /// An argument with strides, which are `count` of `strides_` from `first` on.
  struct Strided {
    std::uint32_t arg = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    /// As Stride::dim, of a row.
    std::int32_t dim = kNone;
  };
  /// An output and an input that it may be, by their places in `strided_`.
  struct StridedPair {
    std::size_t output = 0;
    std::size_t input = 0;
  };

  /// Throws DeviceError where there is none.
  [[nodiscard]] const cuda::Driver& driver() const { return driver_ != nullptr ? *driver_ : cuda::Driver::get(); }
  void find_strides();
  /// The place of the dim that an extent of an argument is, where it is bucketed.
  [[nodiscard]] std::int32_t bucketed_extent(const std::string& argument, std::size_t extent) const;
  /// Puts buckets in the place of a call's extents.
  void round_up(PlanKey& key) const noexcept;
  /// The bits of the key that an argument's alignment takes; of a scalar none are used.
  [[nodiscard]] unsigned shift_of(std::size_t arg) const noexcept;
  /// Throws UsageError for a null address or value.
  [[nodiscard, gnu::hot]] std::uint64_t alignment_of(std::span<void* const> args) const;
  /// Throws UsageError where elements would overlap, or where different strides are said of one tensor.
  [[gnu::hot]] void check_strides(const ReadyPlan& plan, std::span<const std::int64_t> dims,
                                  std::span<void* const> args) const;
  [[noreturn, gnu::cold]] void refuse_stride(const Strided& strided, const ShortStride& mistake,
                                             std::span<void* const> args) const;
  [[noreturn, gnu::cold]] void refuse_pair(const StridedPair& pair, std::size_t stride,
                                           std::span<void* const> args) const;
  [[nodiscard]] Problem problem_of(std::span<const std::int64_t> dims) const;
  /// The plan of a shape that was not launched before.
  [[nodiscard, gnu::cold]] const ReadyPlan& resolve(const PlanKey& key, std::span<const std::int64_t> dims);
  /// Throws DeviceError for a launch that failed.
  [[gnu::cold]] void check_launched(const cuda::Driver& driver, int status, std::span<const std::int64_t> dims) const;
  /// Refuses a wrong number of arguments, or the first null one.
  [[noreturn, gnu::cold]] void refuse_args(std::span<void* const> args) const;

  // A launch reads the members down to `table_`: they lie together, for the reason that executable.hpp gives.
  ForkGuard process_;
  const cuda::Driver* driver_ = cuda::Driver::find();
  /// Each launch is a range of its timeline, where there is one.
  const Profiler* profiler_ = Profiler::attached();
  std::uint32_t arg_count_ = 0;
  std::uint32_t dim_count_ = 0;
  /// A bit for each dim that is bucketed.
  std::uint32_t bucketed_ = 0;
  /// A bit for each argument that is a scalar.
  std::uint64_t scalars_ = 0;
  /// That of the last plan that was made: where a launch looks first. In another context it looks twice.
  std::atomic<std::uint64_t> usual_context_ = 0;
  /// In call order.
  std::vector<Stride> strides_;
  std::vector<Strided> strided_;
  PlanTable table_;
  std::vector<StridedPair> pairs_;
  Launcher* launcher_;
  OpIdentity identity_;
  /// The arguments of a call, in its order.
  std::vector<PlannedArg> args_;
};

}  // namespace tilewright::launch
