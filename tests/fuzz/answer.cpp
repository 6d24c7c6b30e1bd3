// SPDX-License-Identifier: Apache-2.0
// Answers of a service, or of an impostor, to `pull` and `publish`: each is understood or an error, and no more is kept
// than was requested.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "cache/base/error.hpp"
#include "tests/fuzz/input.hpp"
#include "tuner/remote/remote_shelf.hpp"

namespace {

using namespace tilewright;

/// Sends the same bytes to each client, then closes the connection.
class Answering {
 public:
  Answering() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::abort();
    }
    url_.host = "127.0.0.1";
    url_.port = ntohs(address.sin_port);
    std::thread([this] { run(); }).detach();
  }
  void answer(std::string_view text) {
    const std::lock_guard lock(mutex_);
    text_ = text;
  }
  [[nodiscard]] const Url& url() const { return url_; }

 private:
  void run() {
    std::array<char, 4096> ignored{};
    for (;;) {
      const int client = ::accept(listener_, nullptr, nullptr);
      std::string text;
      {
        const std::lock_guard lock(mutex_);
        text = text_;
      }
      static_cast<void>(::send(client, text.data(), text.size(), MSG_NOSIGNAL));
      ::shutdown(client, SHUT_WR);
      while (::recv(client, ignored.data(), ignored.size(), 0) > 0) {
      }
      ::close(client);
    }
  }

  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Url url_;
  std::mutex mutex_;
  std::string text_;
};

constexpr std::uintmax_t kMost = 1000;
const std::string kHash(64, 'a');

void ask(HttpClient& client, int what, const fuzz::InputFile& file) {
  RemoteShelf shelf(client);
  switch (what) {
    case 0:
      static_cast<void>(refusal_text(client.ask("GET", "/v1/misses")));
      static_cast<void>(client.ask("HEAD", "/"));
      break;
    case 1:
      static_cast<void>(shelf.manifest("stable"));
      static_cast<void>(shelf.manifest("stable"));
      break;
    case 2:
      file.write("0123456789");
      shelf.put_snapshot(file.path(), kHash);
      break;
    case 3:
      shelf.put_manifest({});
      break;
    default:
      shelf.fetch(kHash, kMost, file.path());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Answering& answering = *new Answering;
  static const fuzz::InputFile kFile("part");
  if (size == 0 || size > 8000) return 0;
  const int what = data[0] % 6;
  answering.answer(fuzz::text_of(data + 1, size - 1));
  // A fetch starts, or resumes.
  kFile.write(what == 5 ? "beginning" : "");
  HttpClient client(answering.url(), {.patience = std::chrono::milliseconds(5000)});
  try {
    ask(client, what, kFile);
  } catch (const Error&) {  // An expected outcome.
  }
  if (what >= 4 && std::filesystem::file_size(kFile.path()) > kMost) std::abort();
  return 0;
}
