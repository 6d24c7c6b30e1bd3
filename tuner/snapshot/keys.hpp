// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;

/// Ed25519 keys in standard PEM files. Publishers have private keys; services and machines that pull have public keys.
/// For any thread.
namespace tilewright {

struct FreeKey {
  void operator()(evp_pkey_st* key) const noexcept;
};
using KeyHandle = std::unique_ptr<evp_pkey_st, FreeKey>;

class PublicKeys;

/// A key that signs.
class PrivateKey {
 public:
  /// Throws UsageError if the file has no Ed25519 private key without pass phrase, or others may read or change it.
  explicit PrivateKey(const std::filesystem::path& file);
  /// 128 hexadecimal digits.
  [[nodiscard]] std::string sign(std::string_view text) const;
  /// The public half.
  [[nodiscard]] PublicKeys public_keys() const;

 private:
  KeyHandle key_;
};

/// Keys that verify.
class PublicKeys {
 public:
  /// The file has one or more PEM blocks; a signature of any key is valid, so that keys can be replaced. Throws
  /// UsageError if the file has other blocks or no key, or others may change it.
  explicit PublicKeys(const std::filesystem::path& file);
  [[nodiscard]] bool verify(std::string_view text, std::string_view signature) const;

 private:
  friend class PrivateKey;
  PublicKeys() = default;

  std::vector<KeyHandle> keys_;
};

/// Makes a key pair: `file`, readable by its user only, and the public `file`.pub. Throws Error if one exists.
void make_key_pair(const std::filesystem::path& file);

}  // namespace tilewright
