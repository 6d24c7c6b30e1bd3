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

/// Rights by token. A token is 256 random bits, of which the file keeps the SHA-256 alone: a reader of the file has no
/// token. The file is JSON, is read again when it changes, and belongs to its user.
namespace tilewright::service {

struct Token {
  std::string name;
  /// Hexadecimal digits.
  std::string sha256;
  std::set<Scope> scopes;
  /// Seconds since 1970; nothing: never.
  std::optional<std::int64_t> expires_at{};
};

/// The tokens of a service. Any thread may call.
class Tokens {
 public:
  /// Throws UsageError for a file that cannot be read, is none of tokens, or that others may write.
  /// `told` hears of each change of it that cannot be read.
  explicit Tokens(const std::filesystem::path& file, std::function<void(const std::string&)> told = {});

  /// The token that `secret` is, unless it is unknown or expired: one answer for both, after the same comparisons. A
  /// file that has become unreadable, or is gone, leaves what was read, and that is told.
  [[nodiscard]] std::optional<Token> find(const std::string& secret, std::int64_t now);

 private:
  Followed<std::vector<Token>> tokens_;
};

/// Adds a token to the file, which is made where there is none, and returns its text, which is kept nowhere. Throws
/// UsageError where there is one of that name.
[[nodiscard]] std::string add_token(const std::filesystem::path& file, const std::string& name,
                                    const std::set<Scope>& scopes, std::optional<std::int64_t> expires_at);

}  // namespace tilewright::service
