// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tuner/definition/definition.hpp"
#include "tuner/definition/samples.hpp"
#include "tuner/device/device.hpp"
#include "tuner/device/tensor_tools.hpp"
#include "tuner/verify/layout.hpp"

/// The arguments of a problem in device memory: inputs as the definition's sample says, poisoned outputs, guard zones
/// around both. Verify and bench use the same ones. They follow from the seed. Random inputs are made again when
/// needed; of all other inputs a copy is kept.
namespace tilewright {

/// One tensor with its guard zones: `[guard | tensor | guard]`, guards of a fixed byte. An output that stands in the
/// place of an input has no buffer of its own.
struct GuardedTensor {
  std::unique_ptr<DeviceBuffer> buffer;
  Address address = 0;
  std::size_t bytes = 0;
  TensorLayout layout;
};

/// One argument set, in the plan's order. Belongs to the device's thread.
class ArgumentSet {
 public:
  /// At least so many bytes of guard on each side.
  static constexpr std::size_t kGuardBytes = 4096;

  /// `misalign_elements` puts every tensor that many elements past a 256-byte boundary for good; `in_place` puts each
  /// output that may alias an input there, with the same strides.
  struct Options {
    std::uint64_t seed = 1;
    int misalign_elements = 0;
    bool in_place = false;
    /// Sets all bits of what lies between the rows of inputs, too (NaN), where there is random data otherwise.
    bool poison_gaps = false;
    /// Bytes by argument, of which its strides are multiples and of no power of two more; empty: as the samples say.
    std::vector<std::size_t> stride_alignments = {};
    /// The binary of the op's reference, for inputs that other ops make.
    const CompileResult* reference = nullptr;
  };
  /// Allocates and fills. Throws DeviceError when memory does not suffice, DefinitionError for the sample of a stride
  /// with which elements overlap and for formulas without a value, UsageError without a reference that is needed.
  ArgumentSet(Device& device, const OpDefinition& definition, const Problem& problem, Options options);

  [[nodiscard]] const std::vector<PlannedArg>& args() const noexcept { return args_; }
  /// Values for a launch; workspaces are the caller's.
  [[nodiscard]] const std::vector<std::uint64_t>& values() const noexcept { return values_; }
  /// Bytes of all tensors, gaps included.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Moves each tensor to an address with the alignment that `args` ask of it and no more, below 256 bytes: a config
  /// that needs more than it claims does not pass. Where Options::misalign_elements is set, they stay where that says.
  void place(const std::vector<PlannedArg>& args);
  /// Throws UsageError where an address, or a stride of the sample, is no multiple of what `args` need.
  void require_alignment(const std::vector<PlannedArg>& args) const;
  /// Fills outputs with NaN patterns, restores inout arguments and in-place inputs, with NaN patterns in their gaps.
  void poison_outputs();
  /// Empty when all guards and all pure inputs are as they were; else what was written, in words. Inputs count from the
  /// first call of poison_outputs on.
  [[nodiscard]] std::string damage() const;
  /// Makes guards and inputs again what they were.
  void repair();
  /// The bytes of one tensor now, gaps included.
  [[nodiscard]] std::vector<std::byte> read(std::size_t arg) const;
  [[nodiscard]] const GuardedTensor& tensor(std::size_t arg) const { return tensors_.at(arg); }
  [[nodiscard]] const TensorLayout& layout(std::size_t arg) const { return tensors_.at(arg).layout; }
  /// Each output that stands in the place of an input: "y = x"; empty where none does.
  [[nodiscard]] std::string in_place() const;
  /// The filling of a random input or inout tensor.
  [[nodiscard]] const RandomFill& fill_of(std::size_t arg) const { return fills_.at(arg); }

 private:
  void find_places();
  void lay_out(const OpDefinition& definition, const Problem& problem);
  void allocate(std::size_t arg, std::size_t shift);
  /// So many bytes past a 256-byte boundary, with its guards and its first contents.
  void put(std::size_t arg, std::size_t shift);
  void fill_guards(std::size_t arg);
  /// The first time, or again.
  void fill_input(std::size_t arg);
  void fill_random(std::size_t arg);
  void fill_gaps(std::size_t arg);
  /// By formulas or as whole numbers, where the sample says so.
  void fill_by_sample(std::size_t arg, const Sample& sample, const OpDefinition& definition, const Problem& problem);
  void fill_by_formula(std::size_t arg, const Sample& sample, SampleScope& scope);
  void make_inputs(const OpDefinition& definition, const Problem& problem);
  void keep(std::size_t arg);
  [[nodiscard]] bool is_pure_input(std::size_t arg) const;
  [[nodiscard]] utility::WordTally tally(std::size_t arg) const;
  [[nodiscard]] std::string guard_damage(std::size_t arg) const;
  [[nodiscard]] std::string input_damage(std::size_t arg) const;

  Device& device_;
  Options options_;
  std::vector<PlannedArg> args_;
  std::vector<std::uint64_t> values_;
  std::vector<GuardedTensor> tensors_;
  std::vector<RandomFill> fills_;
  /// Of inputs that are not random, what they hold.
  std::vector<std::unique_ptr<DeviceBuffer>> kept_;
  /// Of an output in the place of an input, that input.
  std::vector<std::optional<std::size_t>> places_;
  /// Inputs that an output stands in the place of.
  std::vector<bool> overwritten_;
  /// Of pure inputs with their guards; empty until they are watched.
  std::vector<std::uint64_t> sums_;
  std::size_t bytes_ = 0;
};

/// The steps from an element to its neighbour along each extent, in elements.
[[nodiscard]] std::vector<std::int64_t> element_strides(const PlannedArg& arg, const TensorLayout& layout);

/// Sets all bits of what lies between the elements of a tensor at `address`, each of `size` bytes.
void poison_gaps(TensorTools& tools, Address address, const TensorLayout& layout, std::int64_t size);

/// "y[3][17]": an element by its index in row-major order.
[[nodiscard]] std::string element_name(const PlannedArg& arg, std::int64_t index);

}  // namespace tilewright
