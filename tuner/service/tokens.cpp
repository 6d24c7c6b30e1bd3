// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/tokens.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "cache/base/decode.hpp"
#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/base/json_fields.hpp"
#include "cache/base/sha256.hpp"

namespace tilewright::service {
namespace {

constexpr const char* kPrefix = "tw_";
constexpr std::size_t kDigits = 64;

Token decode_token(const nlohmann::json& json, const std::string& what) {
  JsonObject object(json, what, JsonOf::request);
  Token token{object.text("name"), object.text("sha256"), {}, {}};
  if (!is_hexadecimal(token.sha256, kDigits)) object.fail("'sha256' is not 64 hexadecimal digits in lower case");
  for (const std::string& name : object.texts("scopes")) {
    const std::optional<Scope> scope = scope_from(name);
    if (!scope) object.fail(fmt::format("there is no scope '{}'; the scopes are read, report, submit, publish", name));
    token.scopes.insert(*scope);
  }
  if (object.has("expires_at")) token.expires_at = object.integer("expires_at");
  object.finish();
  return token;
}

std::vector<Token> read_tokens(const std::filesystem::path& file) try {
  if (writable_by_others(file)) {
    throw UsageError(fmt::format("other users may write it, and so add tokens. Type: chmod 600 {}", file.string()));
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UsageError("it cannot be read. Make one: tilewright serve --tokens FILE --new-token NAME");
  const Decoded decoded = decode_json(std::string(std::istreambuf_iterator<char>(stream), {}));
  JsonObject object(*decoded, "tokens", JsonOf::request);
  std::vector<Token> tokens;
  std::size_t index = 0;
  for (const nlohmann::json& each : object.array("tokens"))
    tokens.push_back(decode_token(each, element("tokens", index++)));
  object.finish();
  return tokens;
} catch (const Error& error) {
  throw UsageError(fmt::format("the file of tokens {}: {}", file.string(), error.what()));
}

}  // namespace

Tokens::Tokens(const std::filesystem::path& file, std::function<void(const std::string&)> told)
    : tokens_(
          {file}, [file] { return read_tokens(file); }, "The tokens", std::move(told)) {}

std::optional<Token> Tokens::find(const std::string& secret, std::int64_t now) {
  const std::string hash = sha256_text(secret);
  const std::shared_ptr<const std::vector<Token>> tokens = tokens_.now();
  const Token* found = nullptr;
  for (const Token& each : *tokens) {
    const bool same = CRYPTO_memcmp(each.sha256.data(), hash.data(), kDigits) == 0;
    const bool expired = each.expires_at && *each.expires_at <= now;
    if (same && !expired) found = &each;
  }
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::string add_token(const std::filesystem::path& file, const std::string& name, const std::set<Scope>& scopes,
                      std::optional<std::int64_t> expires_at) {
  std::vector<Token> tokens;
  if (std::filesystem::exists(file)) tokens = read_tokens(file);
  if (std::ranges::find(tokens, name, &Token::name) != tokens.end()) {
    throw UsageError(
        fmt::format("{} has a token '{}': take its lines out of the file first, or name another", file.string(), name));
  }
  std::array<unsigned char, 32> bits{};
  if (RAND_bytes(bits.data(), static_cast<int>(bits.size())) != 1)
    throw Error("cannot make a token: OpenSSL has no random bits");
  std::string secret = kPrefix + hexadecimal(bits);
  tokens.push_back({name, sha256_text(secret), scopes, expires_at});
  nlohmann::ordered_json document;
  for (const Token& each : tokens) {
    nlohmann::ordered_json json{
        {"name", each.name}, {"sha256", each.sha256}, {"scopes", nlohmann::ordered_json::array()}};
    for (const Scope scope : each.scopes) json["scopes"].push_back(name_of(scope));
    if (each.expires_at) json["expires_at"] = *each.expires_at;
    document["tokens"].push_back(std::move(json));
  }
  Draft draft(file);
  {
    const mode_t before = ::umask(0077);
    std::ofstream stream(draft.path(), std::ios::binary);
    ::umask(before);
    stream << document.dump(2) << '\n';
    if (!stream.flush()) {
      throw Error(fmt::format("the file of tokens {} cannot be written: {}", file.string(),
                              why_not_written(file, {errno, std::system_category()})));
    }
  }
  if (const std::error_code error = draft.put_in_place()) {
    throw Error(
        fmt::format("the file of tokens {} cannot be written: {}", file.string(), why_not_written(file, error)));
  }
  return secret;
}

}  // namespace tilewright::service
