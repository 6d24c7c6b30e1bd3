// SPDX-License-Identifier: Apache-2.0
#include "tuner/remote/tls.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/remote/unreachable.hpp"

namespace tilewright {
namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const noexcept { SSL_free(session); }
};

/// Trusted certificates of common distributions: a bundled OpenSSL looks in its build machine's folder.
constexpr std::array<const char*, 4> kAuthorities{"/etc/ssl/certs/ca-certificates.crt",
                                                  "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                                  "/etc/ssl/cert.pem"};

std::string why() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason is given" : reason;
}

void trust(SSL_CTX* context, const std::optional<std::filesystem::path>& authorities) {
  if (authorities) {
    if (SSL_CTX_load_verify_locations(context, authorities->c_str(), nullptr) == 1) return;
    throw UsageError(fmt::format("{} has no certificates in PEM ({})", authorities->string(), why()));
  }
  SSL_CTX_set_default_verify_paths(context);
  if (std::getenv("SSL_CERT_FILE") != nullptr || std::getenv("SSL_CERT_DIR") != nullptr) return;
  for (const char* const file : kAuthorities) {
    if (std::filesystem::exists(file)) SSL_CTX_load_verify_locations(context, file, nullptr);
  }
  ERR_clear_error();
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> ignored{};
  return inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

}  // namespace

struct TlsClient::Impl {
  /// Repeats `step` until it has a result, sending what OpenSSL writes and receiving what it waits for.
  template <class Step>
  int run(Step step) {
    for (;;) {
      ERR_clear_error();
      const int result = step();
      const int error = result > 0 ? SSL_ERROR_NONE : SSL_get_error(session.get(), result);
      flush();
      if (result > 0) return result;
      if (error == SSL_ERROR_ZERO_RETURN) return 0;
      if (error != SSL_ERROR_WANT_READ) fail();
      const std::string more = transport.read();
      if (more.empty()) throw Unreachable(fmt::format("{} has ended the connection before the end of TLS", host));
      BIO_write(incoming, more.data(), static_cast<int>(more.size()));
    }
  }

  void flush() {
    std::array<char, 16'384> block{};
    for (int count = 0; (count = BIO_read(outgoing, block.data(), static_cast<int>(block.size()))) > 0;) {
      transport.write({block.data(), static_cast<std::size_t>(count)});
    }
  }

  [[noreturn]] void fail() const {
    const long verdict = SSL_get_verify_result(session.get());
    if (verdict != X509_V_OK) {
      throw Error(fmt::format("the certificate of {} is not trusted: {}. Name its authorities with --ca FILE", host,
                              X509_verify_cert_error_string(verdict)));
    }
    throw Unreachable(fmt::format("TLS with {} has failed: {}", host, why()));
  }

  std::string host;
  TlsTransport transport;
  std::unique_ptr<SSL_CTX, FreeContext> context;
  std::unique_ptr<SSL, FreeSession> session;
  // Owned by the session.
  BIO* incoming = nullptr;
  BIO* outgoing = nullptr;
};

TlsClient::TlsClient(const std::string& host, const std::optional<std::filesystem::path>& authorities,
                     TlsTransport transport)
    : impl_(std::make_unique<Impl>()) {
  impl_->host = host;
  impl_->transport = std::move(transport);
  impl_->context.reset(SSL_CTX_new(TLS_client_method()));
  if (impl_->context == nullptr) throw Error(fmt::format("OpenSSL cannot make a TLS context: {}", why()));
  SSL_CTX_set_min_proto_version(impl_->context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(impl_->context.get(), SSL_VERIFY_PEER, nullptr);
  trust(impl_->context.get(), authorities);
  impl_->session.reset(SSL_new(impl_->context.get()));
  SSL* const session = impl_->session.get();
  impl_->incoming = BIO_new(BIO_s_mem());
  impl_->outgoing = BIO_new(BIO_s_mem());
  SSL_set_bio(session, impl_->incoming, impl_->outgoing);
  const bool named = is_address(host) ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) == 1
                                      : SSL_set1_host(session, host.c_str()) == 1 &&
                                            SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                                                     const_cast<char*>(host.c_str())) == 1;
  if (!named) throw Error(fmt::format("'{}' cannot be the name in a certificate", host));
  if (impl_->run([session] { return SSL_connect(session); }) == 0) impl_->fail();
}

TlsClient::~TlsClient() = default;

std::size_t TlsClient::read(char* to, std::size_t size) {
  const int most = static_cast<int>(std::min(size, std::size_t{1} << 30));
  return static_cast<std::size_t>(impl_->run([&] { return SSL_read(impl_->session.get(), to, most); }));
}

void TlsClient::write(std::string_view bytes) {
  constexpr std::size_t kMost = std::size_t{64} << 10;
  while (!bytes.empty()) {
    const std::string_view some = bytes.substr(0, kMost);
    const int count =
        impl_->run([&] { return SSL_write(impl_->session.get(), some.data(), static_cast<int>(some.size())); });
    if (count == 0) throw Unreachable(fmt::format("{} has ended the connection", impl_->host));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace tilewright
