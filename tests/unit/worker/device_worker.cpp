// SPDX-License-Identifier: Apache-2.0
// The worker process of device_process_test.cpp: a fictional GPU, whose name selects the fault of its process.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "tests/unit/sweep/fake_device.hpp"
#include "tuner/process/worker_process.hpp"
#include "tuner/worker/serve_device.hpp"

namespace {

using namespace tilewright;
using namespace tilewright::testing;

/// True on the first call for each file.
bool first_time(const std::string& path) {
  if (std::ifstream(path).good()) return false;
  std::ofstream(path) << "x";
  return true;
}

/// The device's part of "cuda:0=gpu,cuda:1=closed", else the whole text. "auto" is cuda:0.
std::string behaviour(const std::string& names, const std::string& device) {
  const std::string key = (device == "auto" ? "cuda:0" : device) + "=";
  const std::size_t at = names.find(key);
  if (at == std::string::npos) return names;
  const std::size_t begin = at + key.size();
  return names.substr(begin, names.find(',', begin) - begin);
}

int index_of(const std::string& device) { return device.starts_with("cuda:") ? std::stoi(device.substr(5)) : 0; }

/// The sight of one of several devices.
std::optional<DeviceSight> see(const std::string& names, const std::string& device) {
  if (behaviour(names, device) == names) return std::nullopt;
  const FakeDevice fake({.index = index_of(device), .gpu = true});
  return DeviceSight{fake.facts(), fake.gpu_uuid(), static_cast<int>(std::count(names.begin(), names.end(), '='))};
}

/// Sends garbage, as a process whose memory a kernel has overwritten.
void garble(const std::string& name) {
  const Channel channel(::dup(STDIN_FILENO));
  const auto send = [](const auto& bytes) { (void)::send(STDIN_FILENO, &bytes, sizeof bytes, MSG_NOSIGNAL); };
  if (name == "garbage") send(std::array<char, 24>{8, 0, 0, 0, 0, 0, 0, 0, 'g', 'a', 'r', 'b', 'a', 'g', 'e', '!'});
  if (name == "huge") send(std::uint64_t{1} << 62U);
  if (name == "list") (void)channel.send(Message::array({1}));
  if (name == "strange") (void)channel.send({{"status", Message::array()}});
  if (name == "unheard") (void)channel.send({{"status", "unheard of"}});
  if (name == "lost") (void)channel.send({{"lost", "perhaps"}});
}

std::unique_ptr<Device> open(const std::string& name, const std::string& marker, int index) {
  while (name == "slow" && !std::ifstream(marker).good()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (name == "hung") std::this_thread::sleep_for(std::chrono::hours(1));
  if (name == "closed") throw DeviceError("there is no such GPU");
  if (name == "dead") std::abort();
  if (name == "shot" && first_time(marker)) std::abort();
  if (name == "doomed" && std::ifstream(marker).good()) throw DeviceError("the GPU has fallen off the bus");
  // "doomed" has its own index, since it is one of two devices.
  auto device = std::make_unique<FakeDevice>(FakeOptions{.index = name == "doomed" ? 1 : index, .gpu = true});
  FakeDevice* const fake = device.get();
  fake->before_crash = [=] {
    if (name == "full") throw Error("writing a file failed: No space left on device");
    if (name == "poor") throw std::bad_alloc();
    garble(name);
  };
  fake->before_timing = [=] {
    if (name == "doomed" && fake->timed == 2 && first_time(marker)) std::abort();
    if (name == "moody" && fake->timed == 2 && first_time(marker)) std::abort();
    if (name == "stuck" && fake->timed == 2 && first_time(marker)) std::this_thread::sleep_for(std::chrono::hours(1));
  };
  return device;
}

}  // namespace

// device_worker MARKER NAME DEVICE: a restart opens the device by the name that it reported.
int main(int, char** arguments) {
  end_with(STDIN_FILENO);
  const std::string names = arguments[2];
  const std::string device = arguments[3];
  const auto open_it = [&](std::string*) {
    const std::string name = behaviour(names, device);
    return open(name, arguments[1], name == names ? 0 : index_of(device));
  };
  return serve_device(open_it, STDIN_FILENO, [&] { return see(names, device); });
}
