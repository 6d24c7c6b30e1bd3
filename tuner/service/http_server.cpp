// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/http_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cache/base/ascii.hpp"
#include "cache/base/error.hpp"
#include "cache/base/version.hpp"
#include "tuner/service/followed.hpp"
#include "tuner/service/problem.hpp"

namespace tilewright::service {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

std::string to_string(boost::beast::string_view view) { return {view.data(), view.size()}; }

Request take(http::request<http::string_body>&& message, std::string peer) {
  Request request;
  request.method = to_string(message.method_string());
  request.target = to_string(message.target());
  for (const auto& field : message) {
    const auto [header, is_first] =
        request.headers.emplace(lower(to_string(field.name_string())), to_string(field.value()));
    if (!is_first) header->second += ", " + to_string(field.value());
  }
  request.body = std::move(message.body());
  request.peer = std::move(peer);
  return request;
}

/// The answer to a request that cannot be read, or nullopt if the client would not read one.
std::optional<Response> answer_to(const error_code& error, const HttpLimits& limits) {
  if (error == http::error::header_limit) {
    return problem(431, fmt::format("the header has more than {} bytes", limits.header_bytes), "Send a shorter one.");
  }
  if (error == http::error::body_limit) {
    return problem(413, fmt::format("the body has more than {} bytes", limits.body_bytes),
                   "Send it in parts, each with an Idempotency-Key of its own.");
  }
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message) {
    return problem(400, fmt::format("this is not an HTTP/1.1 request: {}", error.message()), "Use an HTTP client.");
  }
  return std::nullopt;
}

using TlsContext = std::shared_ptr<asio::ssl::context>;

/// Throws UsageError for files that are not PEM, or a key that does not match.
TlsContext read_tls(const TlsFiles& files) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code error;
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->use_certificate_chain_file(files.certificate.string(), error);
  if (error) {
    throw UsageError(fmt::format("{} has no certificate in PEM ({})", files.certificate.string(), error.message()));
  }
  context->use_private_key_file(files.key.string(), asio::ssl::context::pem, error);
  if (error) {
    throw UsageError(fmt::format("{} has no private key in PEM of the certificate {} ({})", files.key.string(),
                                 files.certificate.string(), error.message()));
  }
  return context;
}

/// A socket, with or without TLS.
class Transport {
 public:
  using executor_type = tcp::socket::executor_type;
  Transport(tcp::socket given, TlsContext context) : socket(std::move(given)), context_(std::move(context)) {
    if (context_) tls_.emplace(socket, *context_);
  }

  [[nodiscard]] executor_type get_executor() { return socket.get_executor(); }
  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    tls_ ? tls_->async_read_some(buffers, std::forward<Handler>(handler))
         : socket.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    tls_ ? tls_->async_write_some(buffers, std::forward<Handler>(handler))
         : socket.async_write_some(buffers, std::forward<Handler>(handler));
  }
  /// Null without TLS.
  [[nodiscard]] asio::ssl::stream<tcp::socket&>* tls() { return tls_ ? &*tls_ : nullptr; }

  tcp::socket socket;

 private:
  TlsContext context_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;
};

class Session;

/// State that a server's sessions share.
struct Shared {
  HttpLimits limits;
  HttpServer::Handler handler;
  bool stopping = false;
  std::set<Session*> sessions{};
  /// Set by stop(); each ending session calls it.
  std::function<void()> left{};
};

/// A connection: reads requests and sends their answers, one at a time. Its pending handlers own it.
class Session : public std::enable_shared_from_this<Session>, public Stream {
 public:
  Session(tcp::socket socket, TlsContext tls, std::shared_ptr<Shared> shared)
      : socket_(std::move(socket), std::move(tls)), timer_(socket_.get_executor()), shared_(std::move(shared)) {
    error_code ignored;
    peer_ = socket_.socket.remote_endpoint(ignored).address().to_string();
    socket_.socket.set_option(tcp::no_delay(true), ignored);
    shared_->sessions.insert(this);
  }
  ~Session() override {
    shared_->sessions.erase(this);
    if (shared_->left) shared_->left();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Does the TLS handshake, if any, then start().
  void begin() {
    if (socket_.tls() == nullptr) return start();
    expire_in(shared_->limits.request_time);
    socket_.tls()->async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](error_code error) {
      if (error) return self->close();
      self->start();
    });
  }
  /// Waits for the first byte of the next request.
  void start() {
    if (shared_->stopping) return close();
    if (buffer_.size() > 0) return read_header();
    state_ = State::idle;
    expire_in(shared_->limits.idle_time);
    socket_.async_read_some(buffer_.prepare(kBlock), [self = shared_from_this()](error_code error, std::size_t count) {
      if (error) return self->close();
      self->buffer_.commit(count);
      self->read_header();
    });
  }

  /// The server stops: closes idle connections and streams; requests under way still get their answers.
  void drain() {
    if (state_ == State::idle) close();
    if (state_ == State::streaming) end_stream();
  }

  bool write(std::shared_ptr<const std::string> text) override {
    if (gone_) return false;
    asio::post(socket_.get_executor(),
               [self = shared_from_this(), text = std::move(text)]() mutable { self->queue(std::move(text)); });
    return true;
  }
  void end() override {
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->end_stream(); });
  }

 private:
  enum class State : std::uint8_t { idle, reading, answering, streaming, closing };
  static constexpr std::size_t kBlock = std::size_t{4} << 10;
  static constexpr std::size_t kFileBlock = std::size_t{256} << 10;

  void read_header() {
    state_ = State::reading;
    expire_in(shared_->limits.request_time);
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_->limits.header_bytes));
    parser_->body_limit(shared_->limits.body_bytes);
    http::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
      if (error) return self->refuse(error);
      self->version_ = self->parser_->get().version();
      if (boost::beast::iequals(self->parser_->get()[http::field::expect], "100-continue")) return self->go_on();
      self->read_body();
    });
  }

  /// Answers "Expect: 100-continue": the client sends its body only then.
  void go_on() {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(socket_, asio::buffer(kContinue.data(), kContinue.size()),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (error) return self->close();
                        self->read_body();
                      });
  }

  void read_body() {
    http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
      if (error) return self->refuse(error);
      self->timer_.cancel();
      self->state_ = State::answering;
      self->keep_alive_ = self->parser_->get().keep_alive();
      self->is_head_ = self->parser_->get().method() == http::verb::head;
      Request request = take(self->parser_->release(), self->peer_);
      self->shared_->handler(std::move(request), [self](Response response) {
        asio::post(self->socket_.get_executor(),
                   [self, response = std::move(response)]() mutable { self->answer(std::move(response)); });
      });
    });
  }

  void refuse(const error_code& error) {
    keep_alive_ = false;
    is_head_ = false;
    if (late_) {
      return answer(problem(408, "the request did not end in time", "Send it whole, or in smaller parts."));
    }
    std::optional<Response> response = answer_to(error, shared_->limits);
    if (!response) return close();
    answer(std::move(*response));
  }

  void answer(Response response) {
    if (state_ == State::closing) return;
    state_ = State::answering;
    late_ = false;
    const bool streams = static_cast<bool>(response.stream);
    if (shared_->stopping || streams) keep_alive_ = false;
    head_ = {static_cast<http::status>(response.status), version_};
    head_.reason(response.status < 400 ? "" : title_of(response.status));
    head_.set(http::field::server, std::string("tilewright/") + version());
    if (!response.type.empty()) head_.set(http::field::content_type, response.type);
    head_.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.headers) head_.set(name, value);
    head_.keep_alive(keep_alive_);
    if (!streams && response.status != 304) head_.content_length(response.size());
    body_ = is_head_ ? "" : std::move(response.body);
    file_ = is_head_ ? FileBody{} : std::move(response.file);
    stream_ = std::move(response.stream);
    serializer_.emplace(head_);
    expire_in(shared_->limits.write_time);
    http::async_write_header(socket_, *serializer_, [self = shared_from_this()](error_code error, std::size_t) {
      if (error) return self->close();
      if (self->stream_ && !self->is_head_) return self->start_stream();
      self->write_body();
    });
  }

  /// Sends a file block by block, each with its own write_time.
  void write_body() {
    if (file_.file && file_.bytes > 0) {
      body_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kFileBlock, file_.bytes)));
      if (!file_.file->read(body_.data(), static_cast<std::streamsize>(body_.size()))) return close();
      file_.bytes -= body_.size();
      expire_in(shared_->limits.write_time);
    }
    asio::async_write(socket_, asio::buffer(body_), [self = shared_from_this()](error_code failure, std::size_t) {
      if (failure) return self->close();
      if (self->file_.file && self->file_.bytes > 0) return self->write_body();
      self->file_ = {};
      if (self->keep_alive_ && !self->shared_->stopping) return self->start();
      self->linger();
    });
  }

  // A stream: texts wait in a queue, and a pending read detects that the client disconnects.
  void start_stream() {
    state_ = State::streaming;
    timer_.cancel();
    watch();
    if (shared_->stopping) return end_stream();
    std::exchange(stream_, nullptr)(shared_from_this());
  }
  void watch() {
    socket_.async_read_some(asio::buffer(ignored_), [self = shared_from_this()](error_code error, std::size_t) {
      if (error) return self->close();
      self->watch();
    });
  }
  void queue(std::shared_ptr<const std::string> text) {
    if (state_ != State::streaming || ending_) return;
    queued_bytes_ += text->size();
    if (queued_bytes_ > shared_->limits.stream_bytes) return close();
    queue_.push_back(std::move(text));
    if (queue_.size() == 1) write_queue();
  }
  void write_queue() {
    expire_in(shared_->limits.write_time);
    asio::async_write(socket_, asio::buffer(*queue_.front()),
                      [self = shared_from_this()](error_code error, std::size_t count) {
                        if (error) return self->close();
                        self->timer_.cancel();
                        self->queued_bytes_ -= count;
                        self->queue_.pop_front();
                        if (!self->queue_.empty()) return self->write_queue();
                        if (self->ending_) self->close();
                      });
  }
  void end_stream() {
    ending_ = true;
    if (queue_.empty()) close();
  }

  /// Closes once the client has stopped sending: after an immediate close it might not get the answer.
  void linger() {
    if (shared_->stopping) return close();
    expire_in(std::chrono::seconds(1));
    const auto send_no_more = [self = shared_from_this()](error_code) {
      error_code ignored;
      self->socket_.socket.shutdown(tcp::socket::shutdown_send, ignored);
      self->discard(std::size_t{16} << 20);
    };
    socket_.tls() != nullptr ? socket_.tls()->async_shutdown(send_no_more) : send_no_more({});
  }
  void discard(std::size_t most) {
    socket_.socket.async_read_some(asio::buffer(ignored_),
                                   [self = shared_from_this(), most](error_code error, std::size_t n) {
                                     if (error || n >= most) return self->close();
                                     self->discard(most - n);
                                   });
  }

  void expire_in(std::chrono::milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([weak = weak_from_this()](error_code error) {
      const std::shared_ptr<Session> self = weak.lock();
      if (error || !self || self->timer_.expiry() > std::chrono::steady_clock::now()) return;
      if (self->state_ != State::reading) return self->close();
      // The cancelled read fails, and refuse() answers 408.
      self->late_ = true;
      error_code ignored;
      self->socket_.socket.cancel(ignored);
    });
  }

  void close() {
    if (state_ == State::closing) return;
    state_ = State::closing;
    gone_ = true;
    timer_.cancel();
    error_code ignored;
    socket_.socket.close(ignored);
  }

  Transport socket_;
  asio::steady_timer timer_;
  std::shared_ptr<Shared> shared_;
  std::string peer_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::empty_body> head_;
  std::optional<http::response_serializer<http::empty_body>> serializer_;
  std::string body_;
  FileBody file_;
  std::function<void(std::shared_ptr<Stream>)> stream_;
  std::deque<std::shared_ptr<const std::string>> queue_;
  std::size_t queued_bytes_ = 0;
  std::array<char, 512> ignored_{};
  unsigned version_ = 11;
  State state_ = State::idle;
  bool keep_alive_ = false, is_head_ = false, late_ = false, ending_ = false;
  std::atomic<bool> gone_ = false;
};

/// Each connection needs a descriptor, and shells commonly limit a program to 1,024.
void allow_descriptors(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

struct HttpServer::Impl {
  Impl(const std::string& address, std::uint16_t port, const HttpLimits& limits, const std::optional<TlsFiles>& files,
       Handler handler, std::function<void(const std::string&)> told)
      : acceptor(context), ticker(context), shared(std::make_shared<Shared>(Shared{limits, std::move(handler)})) {
    if (files) {
      tls.emplace(
          std::vector{files->certificate, files->key}, [files] { return read_tls(*files); }, "The certificate and key",
          std::move(told));
    }
    const tcp::endpoint endpoint(asio::ip::make_address(address), port);
    protocol = endpoint.protocol();
    try {
      acceptor.open(protocol);
      ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
      acceptor.set_option(tcp::acceptor::reuse_address(true));
      acceptor.bind(endpoint);
      acceptor.listen();
      acceptor.non_blocking(true);
      bound_port = acceptor.local_endpoint().port();
    } catch (const boost::system::system_error& error) {
      throw Error(fmt::format("cannot listen on {} port {}: {}. Name another with --port, or end what listens there",
                              address, port, error.code().message()));
    }
    allow_descriptors(limits.connections + 256);
  }

  void accept() {
    if (accepting || shared->stopping || shared->sessions.size() >= shared->limits.connections) return;
    accepting = true;
    acceptor.async_wait(tcp::acceptor::wait_read, [this](error_code error) {
      accepting = false;
      if (error || shared->stopping) return;
      // SOCK_CLOEXEC: in a child process the connection would outlive this one.
      const int descriptor = ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
      // Without free descriptors the next tick accepts again.
      if (descriptor < 0 && errno != EAGAIN && errno != ECONNABORTED) return;
      if (descriptor >= 0) {
        // Workers and streams may drop the last reference, but only this thread may destroy a session.
        const auto end_here = [this](Session* session) {
          asio::post(context, [owner = std::unique_ptr<Session>(session)] {});
        };
        auto session =
            std::make_unique<Session>(tcp::socket(context, protocol, descriptor), tls ? *tls->now() : nullptr, shared);
        std::shared_ptr<Session>(session.release(), end_here)->begin();
      }
      accept();
    });
  }

  void tick(const std::function<void()>& work) {
    ticker.expires_after(std::chrono::milliseconds(100));
    ticker.async_wait([this, work](error_code error) {
      if (error) return;
      work();
      accept();
      tick(work);
    });
  }

  void stop(std::chrono::milliseconds grace) {
    if (std::exchange(shared->stopping, true)) return;
    error_code ignored;
    acceptor.close(ignored);
    // A session that ends erases itself from the set.
    const std::set<Session*> sessions = shared->sessions;
    for (Session* session : sessions) session->drain();
    shared->left = [this] {
      if (shared->sessions.empty()) context.stop();
    };
    shared->left();
    deadline.emplace(context, grace);
    deadline->async_wait([this](error_code error) {
      if (!error) context.stop();
    });
  }

  std::optional<Followed<TlsContext>> tls;
  asio::io_context context{1};
  tcp::acceptor acceptor;
  asio::steady_timer ticker;
  std::optional<asio::steady_timer> deadline;
  std::shared_ptr<Shared> shared;
  tcp protocol = tcp::v4();
  std::uint16_t bound_port = 0;
  bool accepting = false;
};

HttpServer::HttpServer(const std::string& address, std::uint16_t port, const HttpLimits& limits,
                       const std::optional<TlsFiles>& tls, Handler handler,
                       std::function<void(const std::string&)> told)
    : impl_(std::make_unique<Impl>(address, port, limits, tls, std::move(handler), std::move(told))) {}

HttpServer::~HttpServer() { impl_->shared->left = nullptr; }

std::uint16_t HttpServer::port() const noexcept { return impl_->bound_port; }

void HttpServer::run(const std::function<void()>& tick) {
  impl_->accept();
  impl_->tick(tick);
  impl_->context.run();
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  asio::post(impl_->context, [this, grace] { impl_->stop(grace); });
}

bool is_loopback(const std::string& address) {
  error_code error;
  const asio::ip::address parsed = asio::ip::make_address(address, error);
  if (error)
    throw UsageError(fmt::format(
        "--bind {}: this is not an IP address; write 127.0.0.1, ::1 or 0.0.0.0, and the port as --port", address));
  return parsed.is_loopback();
}

}  // namespace tilewright::service
