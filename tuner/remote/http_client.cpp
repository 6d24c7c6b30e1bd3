// SPDX-License-Identifier: Apache-2.0
#include "tuner/remote/http_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "cache/base/ascii.hpp"
#include "cache/base/decode.hpp"
#include "cache/base/version.hpp"
#include "cache/base/visible.hpp"
#include "tuner/remote/connection.hpp"
#include "tuner/remote/unreachable.hpp"

namespace tilewright {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Parser = http::response_parser<http::buffer_body>;

constexpr std::size_t kMostHeader = std::size_t{16} << 10;
/// For answers without a sink.
constexpr std::size_t kMostBody = std::size_t{8} << 20;

/// A Connection as a SyncReadStream of Beast.
struct Readable {
  Connection* connection;

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    for (auto each = asio::buffer_sequence_begin(buffers); each != asio::buffer_sequence_end(buffers); ++each) {
      const asio::mutable_buffer buffer(*each);
      if (buffer.size() > 0) return connection->read(static_cast<char*>(buffer.data()), buffer.size());
    }
    return 0;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, error_code& error) {
    const std::size_t count = read_some(buffers);
    error = count == 0 && asio::buffer_size(buffers) > 0 ? error_code(asio::error::eof) : error_code();
    return count;
  }
};

std::string proxy_authorization(const Url& proxy) {
  return proxy.user.empty() ? "" : fmt::format("Proxy-Authorization: Basic {}\r\n", base64(proxy.user));
}

}  // namespace

struct HttpClient::Impl {
  Impl(const Url& given, ClientSettings how) : url(given), settings(std::move(how)), proxy(proxy_for(given)) {}

  void connect() {
    const Url& first = proxy ? *proxy : url;
    buffer.clear();
    connection = std::make_unique<Connection>(first.host, first.port,
                                              Connection::Waiting{settings.patience, settings.cancelled});
    if (proxy && proxy->is_tls) connection->start_tls(proxy->host, settings.authorities);
    if (!url.is_tls) return;
    if (proxy) {
      if (proxy->is_tls) throw UsageError("a proxy that itself speaks TLS is not supported: name it with http://");
      connection->write(
          fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n{1}\r\n", url.authority(), proxy_authorization(*proxy)));
      Parser parser;
      parser.skip(true);
      const HttpAnswer answer = read(parser, {});
      if (answer.status / 100 != 2) {
        throw Unreachable(fmt::format("the proxy {} answers {} to CONNECT", proxy->text(), answer.status));
      }
    }
    connection->start_tls(url.host, settings.authorities);
  }

  /// Reads one answer. Throws Unreachable, Error if it is no HTTP or too long, and what `sink` throws.
  HttpAnswer read(Parser& parser, const Sink& sink) {
    Readable stream{connection.get()};
    parser.header_limit(kMostHeader);
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    error_code error;
    http::read_header(stream, buffer, parser, error);

    if (error) fail(error);
    has_begun = true;
    HttpAnswer answer;
    answer.status = static_cast<int>(parser.get().result_int());
    for (const auto& field : parser.get()) {
      answer.headers.emplace(lower({field.name_string().data(), field.name_string().size()}),
                             std::string(field.value().data(), field.value().size()));
    }
    const bool streams = sink && answer.status < 300;
    std::array<char, std::size_t{64} << 10> block;
    while (!parser.is_done()) {
      parser.get().body().data = block.data();
      parser.get().body().size = block.size();
      http::read_some(stream, buffer, parser, error);
      if (error == http::error::need_buffer) error = {};
      if (error) fail(error);
      const std::string_view some(block.data(), block.size() - parser.get().body().size);
      if (streams) {
        sink(answer, some);
      } else if (answer.body.size() + some.size() > kMostBody) {
        throw Error(fmt::format("{} answers more than {} bytes", url.text(), kMostBody));
      } else {
        answer.body += some;
      }
    }
    return answer;
  }

  [[noreturn]] void fail(const error_code& error) const {
    if (error == http::error::end_of_stream || error == http::error::partial_message || error == asio::error::eof) {
      throw Unreachable(fmt::format("{} has ended the connection before its answer", url.text()));
    }
    throw Error(fmt::format("the answer of {} is not HTTP/1.1: {}", url.text(), error.message()));
  }

  const Url url;
  const ClientSettings settings;
  const std::optional<Url> proxy;
  std::unique_ptr<Connection> connection;
  /// Whether an answer's header has arrived.
  bool has_begun = false;
  boost::beast::flat_buffer buffer{kMostHeader + (std::size_t{128} << 10)};
};

HttpClient::HttpClient(const Url& url, ClientSettings settings)
    : impl_(std::make_unique<Impl>(url, std::move(settings))) {
  if (impl_->settings.token.empty() || url.is_tls || is_this_machine(url.host)) return;
  throw UsageError(fmt::format("{}: a token sent without TLS can be read on the way. Write https://", url.text()));
}

HttpClient::~HttpClient() = default;

const Url& HttpClient::url() const noexcept { return impl_->url; }

HttpAnswer HttpClient::ask(const std::string& method, const std::string& path, const Headers& headers,
                           std::string_view body, const Sink& sink) {
  const bool whole_target = impl_->proxy && !impl_->url.is_tls;
  std::string head = fmt::format("{} {}{}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: tilewright/{}\r\n", method,
                                 whole_target ? "http://" + impl_->url.authority() : "", impl_->url.path, path,
                                 impl_->url.authority(), version());
  if (whole_target) head += proxy_authorization(*impl_->proxy);
  if (!impl_->settings.token.empty()) head += fmt::format("Authorization: Bearer {}\r\n", impl_->settings.token);
  for (const auto& [name, value] : headers) head += fmt::format("{}: {}\r\n", name, value);
  if (method != "GET" && method != "HEAD") head += fmt::format("Content-Length: {}\r\n", body.size());
  head += "\r\n";
  // If a kept connection broke, nobody could know whether the service acted on an unrepeatable request.
  const bool is_repeatable =
      method != "POST" || std::ranges::find(headers, "Idempotency-Key", &Headers::value_type::first) != headers.end();
  if (!is_repeatable) impl_->connection.reset();
  for (bool is_old = impl_->connection != nullptr;; is_old = false) {
    try {
      if (!is_old) impl_->connect();
      impl_->has_begun = false;
      impl_->connection->write(head);
      impl_->connection->write(body);
      Parser parser;
      parser.skip(method == "HEAD");
      HttpAnswer answer = impl_->read(parser, sink);
      if (!parser.get().keep_alive()) impl_->connection.reset();
      return answer;
    } catch (const TimedOut&) {
      impl_->connection.reset();
      throw;
    } catch (const Interrupted&) {
      impl_->connection.reset();
      throw;
    } catch (const Unreachable&) {
      impl_->connection.reset();
      // The server may have closed a kept connection: try once more on a new one.
      if (!is_old || impl_->has_begun) throw;
    } catch (...) {
      impl_->connection.reset();
      throw;
    }
  }
}

std::string refusal_text(const HttpAnswer& answer) {
  if (answer.header("content-type") == "application/problem+json") {
    try {
      const Decoded problem = decode_json(answer.body);
      return visible_line(fmt::format("{}. {}", problem->value("detail", ""), problem->value("next", "")));
    } catch (const std::exception&) {  // The status is reported instead.
    }
  }
  return fmt::format("it answers with status {}", answer.status);
}

}  // namespace tilewright
