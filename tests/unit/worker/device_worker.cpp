// SPDX-License-Identifier: Apache-2.0
// The worker process of device_process_test.cpp: a fictional GPU, and what goes wrong with its process, by its name.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "tests/unit/sweep/fake_device.hpp"
#include "tuner/process/worker_process.hpp"
#include "tuner/worker/serve_device.hpp"

namespace {

using namespace tilewright;
using namespace tilewright::testing;

/// True once for each file.
bool first_time(const std::string& path) {
  if (std::ifstream(path).good()) return false;
  std::ofstream(path) << "x";
  return true;
}

std::unique_ptr<Device> open(const std::string& name, const std::string& marker) {
  if (name == "closed") throw DeviceError("there is no such GPU");
  if (name == "dead") std::abort();
  if (name == "doomed" && std::ifstream(marker).good()) throw DeviceError("the GPU has fallen off the bus");
  // What is doomed has a number of its own, since it is one of two.
  auto device = std::make_unique<FakeDevice>(FakeOptions{.index = name == "doomed" ? 1 : 0, .gpu = true});
  FakeDevice* const fake = device.get();
  fake->before_timing = [=] {
    if (name == "doomed" && fake->timed == 2 && first_time(marker)) std::abort();
    if (name == "moody" && fake->timed == 2 && first_time(marker)) std::abort();
    if (name == "stuck" && fake->timed == 2 && first_time(marker)) std::this_thread::sleep_for(std::chrono::hours(1));
  };
  return device;
}

}  // namespace

// device_worker MARKER NAME DEVICE: a restart is asked for the device by the name that it gave itself.
int main(int, char** arguments) {
  end_with(STDIN_FILENO);
  return serve_device([&](std::string*) { return open(arguments[2], arguments[1]); }, STDIN_FILENO);
}
