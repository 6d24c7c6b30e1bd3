// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cache/base/dtype.hpp"
#include "kernels/utility/elements.cuh"
#include "kernels/utility/program.cuh"
#include "tuner/device/device.hpp"
#include "tuner/device/gaps.hpp"

/// Work on whole tensors around a measurement, in place: random inputs, sums that show whether something was written,
/// comparison with a reference. A Device owns its tools (Device::tools()), for its thread. They compute the same bits
/// on all devices, because kernels/utility/elements.cuh is their one source.
namespace tilewright {

/// A random fill of a tensor: element i depends only on `key` and i.
struct RandomFill {
  utility::Fill fill = utility::kNormal;
  /// The deviation of a normal fill, the bound of a uniform one.
  double scale = 1.0;
  std::uint64_t key = 0;

  /// The element's value before rounding to its type.
  [[nodiscard]] float value(std::int64_t index) const noexcept;
  [[nodiscard]] float factor() const noexcept;
};

/// A fill by programs over the indices of `elements` elements, in row-major order.
struct ProgramFill {
  /// In the form of utility::fill_element.
  std::vector<utility::i64> words;
  std::int64_t elements = 0;
  double scale = 1.0;
};

class TensorTools {
 public:
  virtual ~TensorTools() = default;
  virtual void fill_random(Address to, DType type, std::int64_t count, const RandomFill& fill) = 0;
  /// Writes the elements for which the program's condition is true. Returns the index of the first element without a
  /// value, or with one that the type does not hold; nullopt if there is none.
  [[nodiscard]] virtual std::optional<std::int64_t> fill_by_program(Address to, DType type,
                                                                    const ProgramFill& fill) = 0;
  /// Rounds `elements` doubles at `from` to f32 and then to `type`. `words` is in the form of utility::round_element.
  virtual void round_elements(Address to, DType type, Address from, const std::vector<utility::i64>& words,
                              std::int64_t elements) = 0;
  /// Writes the values of the `count` elements at `from` as doubles.
  virtual void widen(Address to, Address from, DType type, std::int64_t count) = 0;
  /// Fills the gaps between elements of `size` bytes with repeated copies of `word`, aligned to `to`.
  virtual void fill_gaps(Address to, const Gaps& gaps, std::int64_t size, utility::u64 word) = 0;
  /// Sets all bits of the gaps.
  void poison_gaps(Address to, const Gaps& gaps, std::int64_t size) { fill_gaps(to, gaps, size, utility::kPoison); }
  /// Tallies `count` 8-byte words.
  [[nodiscard]] virtual utility::WordTally tally_words(Address words, std::int64_t count) = 0;
  /// Compares `count` elements with the doubles at `reference`.
  [[nodiscard]] virtual utility::Difference compare(Address result, DType type, Address reference, std::int64_t count,
                                                    const utility::Bounds& bounds) = 0;
};

/// Tools on the host, piece by piece through the device's upload and download. Correct for all devices, fast if the
/// device's memory is the host's. `device` must outlive them.
[[nodiscard]] std::unique_ptr<TensorTools> make_host_tools(Device& device);

/// Tools that run the kernels of kernels/utility, which the device's compiler compiles in this call. Throws what
/// compiling and loading throw. `device` must outlive them.
[[nodiscard]] std::unique_ptr<TensorTools> make_kernel_tools(Device& device);

/// The type's number in kernels/utility.
[[nodiscard]] constexpr utility::Type utility_type(DType type) noexcept { return static_cast<utility::Type>(type); }

}  // namespace tilewright
