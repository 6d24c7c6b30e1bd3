// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/service/followed.hpp"
#include "tuner/service/router.hpp"

/// Rights by token. A token is 256 random bits; the file keeps only its SHA-256, so that a reader of the file has no
/// token. The file is JSON, is read again when it changes, and must not be writable by others.
namespace tilewright::service {

struct Token {
  std::string name;
  /// 64 hexadecimal digits.
  std::string sha256;
  std::set<Scope> scopes;
  /// Seconds since 1970; unset: no expiry.
  std::optional<std::int64_t> expires_at{};
};

/// The tokens of a service. For any thread.
class Tokens {
 public:
  /// Throws UsageError if the file cannot be read, is not a token file, or is writable by others.
  /// `told` hears of each change that cannot be read; the tokens read before stay in force.
  explicit Tokens(const std::filesystem::path& file, std::function<void(const std::string&)> told = {});

  /// The token of `secret`, or nullopt if it is unknown or expired. Compares with all tokens in constant time. `now`:
  /// seconds since 1970.
  [[nodiscard]] std::optional<Token> find(const std::string& secret, std::int64_t now);

 private:
  Followed<std::vector<Token>> tokens_;
};

/// Adds a token to the file, which is created if absent, and returns its secret, which is stored nowhere. Throws
/// UsageError if the name is taken or the file is no token file, Error if it cannot be written.
[[nodiscard]] std::string add_token(const std::filesystem::path& file, const std::string& name,
                                    const std::set<Scope>& scopes, std::optional<std::int64_t> expires_at);

}  // namespace tilewright::service
