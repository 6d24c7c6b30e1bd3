// SPDX-License-Identifier: Apache-2.0
#include "tuner/snapshot/keys.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "cache/base/descriptor.hpp"
#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/base/file_facts.hpp"
#include "cache/base/sha256.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kMostKeyBytes = std::size_t{1} << 16;

struct FreeBio {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeDigest>;

/// Keeps OpenSSL from prompting for a pass phrase.
int no_pass_phrase(char*, int, int, void*) { return -1; }

std::string read_key_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw UsageError(fmt::format("the key {} cannot be read. `tilewright key FILE` makes one", file.string()));
  std::string text(kMostKeyBytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

UsageError no_key(const fs::path& file, const char* kind) {
  return UsageError(
      fmt::format("{} has no {} Ed25519 key in PEM without a pass phrase. `tilewright key FILE` makes a pair",
                  file.string(), kind));
}

bool is_ed25519(const KeyHandle& key) { return key != nullptr && EVP_PKEY_base_id(key.get()) == EVP_PKEY_ED25519; }

std::string pem_of(const KeyHandle& key, bool is_private) {
  const Bio memory(BIO_new(BIO_s_mem()));
  const int done = is_private
                       ? PEM_write_bio_PKCS8PrivateKey(memory.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr)
                       : PEM_write_bio_PUBKEY(memory.get(), key.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  if (done != 1 || size <= 0) throw Error("OpenSSL cannot write the key");
  return {text, static_cast<std::size_t>(size)};
}

/// The number of PEM blocks that begin in `text`.
std::size_t blocks_of(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  std::size_t count = 0;
  for (std::size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, at + 1)) ++count;
  return count;
}

/// Does not replace an existing file: a lost key cannot be made again.
void write_key(const fs::path& file, const std::string& text, mode_t mode) {
  const Descriptor to(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!to && errno == EEXIST) {
    throw Error(
        fmt::format("the file {} exists, and a lost key cannot be made again: name another file", file.string()));
  }
  if (to && to.write(text) && ::fsync(to.get()) == 0) return;
  const std::error_code error(errno, std::system_category());
  if (to) ::unlink(file.c_str());
  throw Error(fmt::format("the key {} cannot be written: {}", file.string(), why_not_written(file, error)));
}

std::optional<std::array<unsigned char, kSignatureBytes>> bytes_of(std::string_view digits) {
  std::array<unsigned char, kSignatureBytes> bytes{};
  if (digits.size() != 2 * kSignatureBytes) return std::nullopt;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* const at = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, bytes[i], 16);
    if (error != std::errc() || end != at + 2) return std::nullopt;
  }
  return bytes;
}

const unsigned char* bytes_of_text(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

void FreeKey::operator()(evp_pkey_st* key) const noexcept { EVP_PKEY_free(key); }

PrivateKey::PrivateKey(const fs::path& file) {
  const std::string text = read_key_file(file);
  struct stat facts {};
  if (writable_by_others(file) || (::stat(file.c_str(), &facts) == 0 && (facts.st_mode & 077) != 0)) {
    throw UsageError(
        fmt::format("others may read or change the key {}, and so publish in your name. Type: chmod 600 {}",
                    file.string(), file.string()));
  }
  const Bio memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  key_.reset(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_pass_phrase, nullptr));
  if (!is_ed25519(key_)) throw no_key(file, "private");
}

std::string PrivateKey::sign(std::string_view text) const {
  const DigestContext context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> bytes{};
  std::size_t size = bytes.size();
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), bytes.data(), &size, bytes_of_text(text), text.size()) != 1) {
    throw Error("OpenSSL cannot make an Ed25519 signature");
  }
  return hexadecimal(bytes);
}

PublicKeys PrivateKey::public_keys() const {
  EVP_PKEY_up_ref(key_.get());
  PublicKeys keys;
  keys.keys_.emplace_back(key_.get());
  return keys;
}

PublicKeys::PublicKeys(const fs::path& file) {
  const std::string text = read_key_file(file);
  if (writable_by_others(file)) {
    throw UsageError(
        fmt::format("others may change the key {}, and so have their signatures accepted. Type: chmod 644 {}",
                    file.string(), file.string()));
  }
  const Bio memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  while (KeyHandle key{PEM_read_bio_PUBKEY(memory.get(), nullptr, no_pass_phrase, nullptr)}) {
    if (!is_ed25519(key)) throw no_key(file, "public");
    keys_.push_back(std::move(key));
  }
  // The end of the file left an error in OpenSSL's queue, which TLS would read.
  ERR_clear_error();
  if (keys_.empty() || keys_.size() != blocks_of(text)) throw no_key(file, "public");
}

bool PublicKeys::verify(std::string_view text, std::string_view signature) const {
  const auto bytes = bytes_of(signature);
  if (!bytes) return false;
  for (const KeyHandle& key : keys_) {
    const DigestContext context(EVP_MD_CTX_new());
    if (EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1) continue;
    if (EVP_DigestVerify(context.get(), bytes->data(), bytes->size(), bytes_of_text(text), text.size()) == 1)
      return true;
  }
  return false;
}

void make_key_pair(const fs::path& file) {
  const std::unique_ptr<EVP_PKEY_CTX, void (*)(EVP_PKEY_CTX*)> context(EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr),
                                                                       EVP_PKEY_CTX_free);
  EVP_PKEY* made = nullptr;
  if (context == nullptr || EVP_PKEY_keygen_init(context.get()) != 1 || EVP_PKEY_keygen(context.get(), &made) != 1) {
    throw Error("OpenSSL cannot make an Ed25519 key");
  }
  const KeyHandle key(made);
  fs::path open_half = file;
  open_half += ".pub";
  if (fs::exists(open_half)) {
    throw Error(fmt::format("the file {} exists: name another, or move it away", open_half.string()));
  }
  write_key(file, pem_of(key, true), 0600);
  write_key(open_half, pem_of(key, false), 0644);
}

}  // namespace tilewright
