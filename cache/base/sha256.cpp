// SPDX-License-Identifier: Apache-2.0
#include "cache/base/sha256.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

constexpr std::array<std::uint32_t, 64> kRoundConstants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr std::size_t kBlock = 64;

class Sha256 {
 public:
  void add(std::string_view bytes) {
    length_ += bytes.size();
    while (!bytes.empty()) {
      if (filled_ == 0 && bytes.size() >= kBlock) {
        mix(bytes.data());
        bytes.remove_prefix(kBlock);
        continue;
      }
      const std::size_t count = std::min(kBlock - filled_, bytes.size());
      std::memcpy(block_.data() + filled_, bytes.data(), count);
      filled_ += count;
      bytes.remove_prefix(count);
      if (filled_ == kBlock) {
        mix(block_.data());
        filled_ = 0;
      }
    }
  }

  [[nodiscard]] std::string digits() && {
    const std::uint64_t bits = length_ * 8;
    add("\x80");
    while (filled_ != kBlock - sizeof bits) add(std::string_view("\0", 1));
    std::array<char, sizeof bits> length{};
    for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i) & 0xff);
    add({length.data(), length.size()});
    return fmt::format("{:08x}", fmt::join(state_, ""));
  }

 private:
  void mix(const char* bytes) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, bytes + 4 * i, sizeof word);
      w[i] = std::endian::native == std::endian::little ? __builtin_bswap32(word) : word;
    }
    for (std::size_t i = 16; i < w.size(); ++i) {
      const std::uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                                kRoundConstants[i] + w[i];
      const std::uint32_t two = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + one;
      d = c;
      c = b;
      b = a;
      a = one + two;
    }
    const std::array<std::uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < mixed.size(); ++i) state_[i] += mixed[i];
  }

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<char, kBlock> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

}  // namespace

std::string sha256_text(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return std::move(hash).digits();
}

std::string sha256_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Sha256 hash;
  std::string block(std::size_t{1} << 20, '\0');
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) || stream.gcount() > 0) {
    hash.add(std::string_view(block).substr(0, static_cast<std::size_t>(stream.gcount())));
  }
  if (!stream.is_open() || stream.bad())
    throw CacheError(fmt::format("the file {0} cannot be read (ls -l {0})", file.string()));
  return std::move(hash).digits();
}

std::optional<std::string> sha256_named(std::string_view name) {
  constexpr std::string_view kPrefix = "sha256:";
  if (!name.starts_with(kPrefix) || !is_hexadecimal(name.substr(kPrefix.size()), 64)) return std::nullopt;
  return std::string(name.substr(kPrefix.size()));
}

std::string hexadecimal(std::span<const unsigned char> bytes) { return fmt::format("{:02x}", fmt::join(bytes, "")); }

bool is_hexadecimal(std::string_view text, std::size_t digits) noexcept {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace tilewright
