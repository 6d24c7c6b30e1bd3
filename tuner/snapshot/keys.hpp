// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;

/// Ed25519 keys, as PEM files that other programs read, too. Who publishes has the private one; services and machines
/// that pull have public ones. For any thread.
namespace tilewright {

struct FreeKey {
  void operator()(evp_pkey_st* key) const noexcept;
};
using KeyHandle = std::unique_ptr<evp_pkey_st, FreeKey>;

class PublicKeys;

/// Signs.
class PrivateKey {
 public:
  /// Throws UsageError for a file that is no such key, or that others may read or change.
  explicit PrivateKey(const std::filesystem::path& file);
  /// 128 hexadecimal digits.
  [[nodiscard]] std::string sign(std::string_view text) const;
  /// Its other half.
  [[nodiscard]] PublicKeys public_keys() const;

 private:
  KeyHandle key_;
};

/// Verifies.
class PublicKeys {
 public:
  /// One PEM block or several, of which any may have signed: so a key is replaced. Throws UsageError for a file that
  /// has none, or that others may change.
  explicit PublicKeys(const std::filesystem::path& file);
  [[nodiscard]] bool verify(std::string_view text, std::string_view signature) const;

 private:
  friend class PrivateKey;
  PublicKeys() = default;

  std::vector<KeyHandle> keys_;
};

/// Makes a pair: `file`, which only its user can read, and the public `file`.pub. Throws Error where one is there.
void make_key_pair(const std::filesystem::path& file);

}  // namespace tilewright
