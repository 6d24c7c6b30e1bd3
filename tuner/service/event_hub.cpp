// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/event_hub.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

namespace tilewright::service {
namespace {

/// The number in "BOOT-17", or nullopt for an id of another process.
std::optional<std::uint64_t> number_of(const std::string& id, const std::string& boot) {
  if (!id.starts_with(boot + "-")) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = id.data() + id.size();
  const auto [read, error] = std::from_chars(id.data() + boot.size() + 1, end, number);
  if (error != std::errc() || read != end) return std::nullopt;
  return number;
}

}  // namespace

EventHub::EventHub(std::size_t most_bytes)
    : most_bytes_(most_bytes), boot_(fmt::format("{:08x}", std::random_device()())) {}

void EventHub::publish(const nlohmann::ordered_json& event) {
  const std::lock_guard lock(mutex_);
  const std::string kind = event.value("event", "message");
  if (kind == "job_started") job_ = first_ + kept_.size();
  const std::string data = event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const auto text = std::make_shared<const std::string>(
      fmt::format("id: {}-{}\nevent: {}\ndata: {}\n\n", boot_, first_ + kept_.size(), kind, data));
  kept_.push_back(text);
  kept_bytes_ += text->size();
  while (kept_bytes_ > most_bytes_) {
    kept_bytes_ -= kept_.front()->size();
    kept_.pop_front();
    ++first_;
  }
  if (kind == "job_done") job_.reset();
  send(text);
}

void EventHub::send(const Text& text) {
  std::erase_if(streams_, [&](const std::shared_ptr<Stream>& each) { return !each->write(text); });
  sent_ = std::chrono::steady_clock::now();
}

Response EventHub::stream(const std::string& last) {
  Response response;
  response.type = "text/event-stream";
  response.headers.emplace_back("Cache-Control", "no-store");
  response.stream = [this, last](const std::shared_ptr<Stream>& stream) { listen(stream, last); };
  return response;
}

void EventHub::listen(const std::shared_ptr<Stream>& stream, const std::string& last) {
  const std::lock_guard lock(mutex_);
  if (ended_) return stream->end();
  std::string missed = "retry: 2000\n\n";
  const auto add_from = [&](std::uint64_t number) {
    for (std::uint64_t i = number; i < first_ + kept_.size(); ++i) missed += *kept_[i - first_];
  };
  if (last.empty()) {
    if (job_) add_from(std::max(*job_, first_));
  } else {
    const std::optional<std::uint64_t> number = number_of(last, boot_);
    const std::uint64_t next = first_ + kept_.size();
    if (!number || *number + 1 < first_ || *number >= next) {
      missed += fmt::format("id: {}-{}\nevent: reset\ndata: {{}}\n\n", boot_, next - 1);
    } else {
      add_from(*number + 1);
    }
  }
  if (stream->write(std::make_shared<const std::string>(std::move(missed)))) streams_.push_back(stream);
}

void EventHub::tick() {
  const std::lock_guard lock(mutex_);
  if (std::chrono::steady_clock::now() - sent_ < std::chrono::seconds(15)) return;
  send(std::make_shared<const std::string>(": nothing new\n\n"));
}

void EventHub::end() {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Stream>& each : streams_) each->end();
  streams_.clear();
  ended_ = true;
}

std::size_t EventHub::listeners() const {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

}  // namespace tilewright::service
