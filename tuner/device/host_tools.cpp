// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <vector>

#include "tuner/device/tensor_tools.hpp"

namespace tilewright {

static_assert(utility_type(DType::f32) == utility::kF32 && utility_type(DType::bf16) == utility::kBf16 &&
                  utility_type(DType::f64) == utility::kF64 && utility_type(DType::i64) == utility::kI64 &&
                  utility_type(DType::u8) == utility::kU8,
              "elements.cuh numbers the types as DType does");

namespace {

// The number of elements handled at a time.
constexpr std::int64_t kToolPiece = std::int64_t{1} << 16;

class HostTools : public TensorTools {
 public:
  explicit HostTools(Device& device) : device_(device) {}

  void fill_random(Address to, DType type, std::int64_t count, const RandomFill& fill) override {
    std::vector<std::byte> piece;
    const auto size = static_cast<std::int64_t>(size_of(type));
    for (std::int64_t first = 0; first < count; first += kToolPiece) {
      const std::int64_t here = std::min(kToolPiece, count - first);
      piece.resize(static_cast<std::size_t>(here * size));
      for (std::int64_t i = 0; i < here; ++i) {
        utility::write_element(piece.data(), utility_type(type), i, fill.value(first + i));
      }
      device_.upload(to + static_cast<Address>(first * size), piece);
    }
  }

  std::optional<std::int64_t> fill_by_program(Address to, DType type, const ProgramFill& fill) override {
    std::vector<std::byte> tensor = download_strided(to, size_of(type), fill.words, 1);
    std::optional<std::int64_t> first;
    for (std::int64_t i = 0; i < fill.elements; ++i) {
      const bool exists = utility::fill_element(tensor.data(), utility_type(type), fill.words.data(), i, fill.scale);
      if (!exists && !first) first = i;
    }
    device_.upload(to, tensor);
    return first;
  }

  void round_elements(Address to, DType type, Address from, const std::vector<utility::i64>& words,
                      std::int64_t elements) override {
    const std::vector<std::byte> doubles = download_strided(from, sizeof(double), words, 1);
    std::vector<std::byte> tensor = download_strided(to, size_of(type), words, 2);
    const auto* const values = reinterpret_cast<const double*>(doubles.data());
    for (std::int64_t i = 0; i < elements; ++i) {
      utility::round_element(tensor.data(), utility_type(type), values, words.data(), i);
    }
    device_.upload(to, tensor);
  }

  void widen(Address to, Address from, DType type, std::int64_t count) override {
    std::vector<double> wide;
    for_pieces(from, size_of(type), count,
               [&](const std::vector<std::byte>& piece, std::int64_t first, std::int64_t here) {
                 wide.resize(static_cast<std::size_t>(here));
                 for (std::int64_t i = 0; i < here; ++i) {
                   wide[static_cast<std::size_t>(i)] = utility::read_element(piece.data(), utility_type(type), i);
                 }
                 device_.upload(to + static_cast<Address>(first) * sizeof(double),
                                std::as_bytes(std::span<const double>(wide)));
               });
  }

  void fill_gaps(Address to, const Gaps& gaps, std::int64_t size, utility::u64 word) override {
    const auto bytes = std::as_bytes(std::span(&word, 1));
    std::vector<std::byte> gap;
    gaps.visit([&](std::int64_t begin, std::int64_t end) {
      gap.clear();
      for (std::int64_t at = begin * size; at < end * size; ++at)
        gap.push_back(bytes[static_cast<std::size_t>(at % 8)]);
      device_.upload(to + static_cast<Address>(begin * size), gap);
    });
  }

  utility::WordTally tally_words(Address words, std::int64_t count) override {
    utility::WordTally tally{0, 0};
    for_pieces(words, sizeof(utility::u64), count,
               [&](const std::vector<std::byte>& piece, std::int64_t first, std::int64_t here) {
                 const auto* const values = reinterpret_cast<const utility::u64*>(piece.data());
                 for (std::int64_t i = 0; i < here; ++i) utility::add_word(tally, values[i], first + i);
               });
    return tally;
  }

  utility::Difference compare(Address result, DType type, Address reference, std::int64_t count,
                              const utility::Bounds& bounds) override {
    utility::Difference difference = utility::no_difference();
    std::vector<double> expected;
    for_pieces(result, size_of(type), count,
               [&](const std::vector<std::byte>& piece, std::int64_t first, std::int64_t here) {
                 expected.resize(static_cast<std::size_t>(here));
                 device_.download(std::as_writable_bytes(std::span<double>(expected)),
                                  reference + static_cast<Address>(first) * sizeof(double));
                 const utility::Type element = utility_type(type);
                 for (std::int64_t i = 0; i < here; ++i) {
                   utility::add_element(difference, utility::read_element(piece.data(), element, i),
                                        expected[static_cast<std::size_t>(i)],
                                        utility::is_poison(piece.data(), element, i), bounds, first + i);
                 }
               });
    return difference;
  }

 private:
  // A tensor with its gaps. `words` holds the rank, the extents, and then lists of strides, of which number `list`,
  // counted from 1, applies.
  std::vector<std::byte> download_strided(Address from, std::size_t size, const std::vector<utility::i64>& words,
                                          std::size_t list) {
    const auto rank = static_cast<std::size_t>(words[0]);
    std::int64_t span = 1;
    for (std::size_t i = 1; i <= rank; ++i) span += (words[i] - 1) * words[list * rank + i];
    std::vector<std::byte> tensor(static_cast<std::size_t>(span) * size);
    device_.download(tensor, from);
    return tensor;
  }

  // Calls `work(bytes, first element, element count)` for each piece of a tensor.
  template <class Work>
  void for_pieces(Address from, std::size_t size, std::int64_t count, const Work& work) {
    std::vector<std::byte> piece;
    for (std::int64_t first = 0; first < count; first += kToolPiece) {
      const std::int64_t here = std::min(kToolPiece, count - first);
      piece.resize(static_cast<std::size_t>(here) * size);
      device_.download(piece, from + static_cast<Address>(first) * size);
      work(piece, first, here);
    }
  }

  Device& device_;
};

}  // namespace

float RandomFill::factor() const noexcept { return static_cast<float>(scale * utility::unit(fill)); }

float RandomFill::value(std::int64_t index) const noexcept {
  return static_cast<float>(utility::random_integer(fill, key, index)) * factor();
}

std::unique_ptr<TensorTools> make_host_tools(Device& device) { return std::make_unique<HostTools>(device); }

Device::Device() = default;
Device::~Device() = default;

TensorTools& Device::tools() {
  if (!host_tools_) host_tools_ = make_host_tools(*this);
  return *host_tools_;
}

}  // namespace tilewright
