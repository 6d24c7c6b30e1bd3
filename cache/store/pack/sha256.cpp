// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/sha256.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>
#include <span>

#include "cache/base/error.hpp"
#include "cache/base/sha256.hpp"

namespace tilewright {

namespace fs = std::filesystem;

std::string sha256_of(const fs::path& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw Error(fmt::format("cannot read {0}. See whether it exists and may be read (ls -l {0})", file.string()));
  bool ok = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  std::array<char, std::size_t{1} << 16> block{};
  while (ok && (stream.read(block.data(), block.size()), stream.gcount() > 0)) {
    ok = EVP_DigestUpdate(context.get(), block.data(), static_cast<std::size_t>(stream.gcount())) == 1;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (!ok || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) {
    throw Error(fmt::format("cannot work out the SHA-256 of {}", file.string()));
  }
  return hexadecimal(std::span(digest).first(size));
}

}  // namespace tilewright
