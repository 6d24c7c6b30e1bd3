// SPDX-License-Identifier: Apache-2.0
// TLS of the service and of its clients.
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>

#include "cache/store/pack/sha256.hpp"
#include "tests/service/fixture.hpp"
#include "tests/service/program_service.hpp"
#include "tuner/remote/http_client.hpp"
#include "tuner/service/tokens.hpp"
#include "tuner/snapshot/keys.hpp"

namespace tilewright::testing {
namespace {

/// Makes a self-signed certificate of 127.0.0.1 and its key, in one file.
void make_certificate(const std::filesystem::path& file, const char* name = "IP:127.0.0.1") {
  EVP_PKEY* made = nullptr;
  EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nullptr);
  EVP_PKEY_keygen_init(context);
  EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1);
  EVP_PKEY_keygen(context, &made);
  EVP_PKEY_CTX_free(context);
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(made, EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86'400);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  X509V3_CTX extensions;
  X509V3_set_ctx(&extensions, certificate.get(), certificate.get(), nullptr, nullptr, 0);
  X509_EXTENSION* const alternative = X509V3_EXT_conf_nid(nullptr, &extensions, NID_subject_alt_name, name);
  X509_add_ext(certificate.get(), alternative, -1);
  X509_EXTENSION_free(alternative);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "w"), std::fclose);
  PEM_write_X509(stream.get(), certificate.get());
  PEM_write_PrivateKey(stream.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
}

using HttpClientOf = tilewright::HttpClient;
using HttpAnswerOf = tilewright::HttpAnswer;

class Tls : public ServiceTest {
 protected:
  Tls() {
    make_certificate(pem());
    settings.tls = service::TlsFiles{pem(), pem()};
  }
  [[nodiscard]] std::filesystem::path pem() const { return folder / "tls.pem"; }
  [[nodiscard]] HttpAnswerOf ask_with(std::uint16_t port, const ClientSettings& how = {},
                                      const char* host = "127.0.0.1") const {
    HttpClientOf client(parse_url(fmt::format("https://{}:{}", host, port)), how);
    return client.ask("GET", "/healthz");
  }
};

TEST_F(Tls, requests_are_answered_one_after_the_other_and_large_ones) {
  make_key_pair(folder / "key");
  settings.publishers = folder / "key.pub";
  const RunningService service(settings);
  HttpClientOf client(parse_url(fmt::format("https://127.0.0.1:{}", service.port())), {.authorities = pem()});
  EXPECT_EQ(client.ask("GET", "/healthz").status, 200);
  EXPECT_EQ(client.ask("GET", "/v1/devices").status, 200);
  const std::string text(std::size_t{1} << 20, 'x');
  std::ofstream(folder / "file") << text;
  const std::string path = "/v1/blobs/" + sha256_of(folder / "file");
  EXPECT_EQ(client.ask("PUT", path + "?bytes=1048576", {{"Content-Type", "application/octet-stream"}}, text).status,
            201);
  EXPECT_TRUE(client.ask("GET", path).body == text);
  EXPECT_EQ(client.ask("HEAD", path).header("content-length"), "1048576");
}

TEST_F(Tls, who_sends_too_much_gets_the_answer_and_no_broken_connection) {
  const RunningService service(settings);
  HttpClientOf client(parse_url(fmt::format("https://127.0.0.1:{}", service.port())), {.authorities = pem()});
  const std::string text(std::size_t{8} << 20, 'x');
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client.ask("POST", "/v1/misses", {{"Content-Type", "application/json"}}, text).status, 413);
  }
}

TEST_F(Tls, a_certificate_that_is_not_trusted_or_is_of_another_host_is_refused) {
  const RunningService service(settings);
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(ask_with(service.port())); }), "is not trusted"));
  EXPECT_TRUE(
      contains(error_of([&] { static_cast<void>(ask_with(service.port(), {.authorities = pem()}, "localhost")); }),
               "is not trusted"));
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(ask_with(service.port(), {.authorities = folder / "none"})); }),
                       "no certificates in PEM"));
  EXPECT_EQ(ask_with(service.port(), {.authorities = pem()}).status, 200);
}

TEST_F(Tls, who_speaks_none_is_not_answered_and_holds_nobody_up) {
  settings.limits.request_time = std::chrono::milliseconds(300);
  const RunningService service(settings);
  const HttpClient plain(service.port());
  plain.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(plain.is_closed_within(std::chrono::seconds(10)));
  const HttpClient silent(service.port());
  EXPECT_TRUE(silent.is_closed_within(std::chrono::seconds(10)));
  EXPECT_EQ(ask_with(service.port(), {.authorities = pem()}).status, 200);
}

TEST_F(Tls, a_new_certificate_counts_without_a_restart_and_a_broken_one_never) {
  const RunningService service(settings);
  EXPECT_EQ(ask_with(service.port(), {.authorities = pem()}).status, 200);
  std::filesystem::copy_file(pem(), folder / "old.pem");
  { std::ofstream(pem()) << "no certificate"; }
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(ask_with(service.port(), {.authorities = folder / "old.pem"}).status, 200);
  const auto is_told = [](const nlohmann::json& event) {
    return event["event"] == "error" && contains(event["text"], "has no certificate in PEM") &&
           contains(event["text"], "stay in force");
  };
  EXPECT_EQ(std::ranges::count_if(service.events(), is_told), 1);
  make_certificate(pem());
  EXPECT_TRUE(comes(
      [&] { return error_of([&] { static_cast<void>(ask_with(service.port(), {.authorities = pem()})); }).empty(); }));
}

TEST_F(Tls, other_addresses_may_be_listened_on_with_tokens) {
  static_cast<void>(service::add_token(folder / "tokens.json", "a", {service::Scope::read}, {}));
  settings.tokens = folder / "tokens.json";
  settings.bind = "0.0.0.0";
  settings.port = 0;
  EXPECT_EQ(error_of([&] { const service::Service made(settings, [](const nlohmann::ordered_json&) {}); }), "");
  settings.tls = service::TlsFiles{folder / "none", folder / "none"};
  EXPECT_TRUE(contains(error_of([&] { const service::Service made(settings, [](const nlohmann::ordered_json&) {}); }),
                       "no certificate in PEM"));
  settings.tls = service::TlsFiles{pem(), folder / "tokens.json"};
  EXPECT_TRUE(contains(error_of([&] { const service::Service made(settings, [](const nlohmann::ordered_json&) {}); }),
                       "no private key in PEM"));
}

TEST_F(Tls, snapshots_are_published_and_pulled_with_a_token) {
  EXPECT_EQ(run({"key", (folder / "key").string()}).code, 0);
  std::ofstream(folder / "token") << service::add_token(folder / "tokens.json", "ci",
                                                        {service::Scope::read, service::Scope::publish}, {});
  settings.tokens = folder / "tokens.json";
  settings.publishers = folder / "key.pub";
  const RunningService service(settings);
  const std::string url = fmt::format("https://127.0.0.1:{}", service.port());
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--token-file", (folder / "token").string(), "--ca", pem().string()});
    return run(words);
  };
  const Outcome published = with({"publish", url, "--key", (folder / "key").string(), "--cache", cache()});
  EXPECT_EQ(published.code, 0) << published.err;
  EXPECT_EQ(with({"promote", url, "--key", (folder / "key").string()}).code, 0);
  const Outcome pulled = with({"pull", url, "--to", (folder / "pulled").string(), "--publishers",
                               (folder / "key.pub").string(), "--misses", "off"});
  EXPECT_EQ(pulled.code, 0) << pulled.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "pulled" / "stable.db"));
}

}  // namespace
}  // namespace tilewright::testing
