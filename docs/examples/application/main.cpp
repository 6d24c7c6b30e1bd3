// SPDX-License-Identifier: Apache-2.0
// An application that computes a softmax with the fastest kernel the cache knows, and checks it on the CPU.
//   tilewright-example [--no-check] [ROWS COLS]        the cache is $TILEWRIGHT_CACHE, else the user's
#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <tilewright/launch.hpp>
#include <vector>

#include "gpu.h"
#include "reference.hpp"

int main(int argc, char** argv) try {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool check = std::erase(words, "--no-check") == 0;
  const std::size_t rows = words.size() == 2 ? std::stoul(words[0]) : 4096;
  const std::size_t cols = words.size() == 2 ? std::stoul(words[1]) : 4096;
  std::vector<bf16> x(rows * cols);
  std::vector<bf16> y(rows * cols);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::generate(x.begin(), x.end(), [&] { return to_bf16(normal(random)); });
  gpu_open();
  auto* device_x = static_cast<bf16*>(gpu_allocate(x.size() * sizeof(bf16)));
  auto* device_y = static_cast<bf16*>(gpu_allocate(y.size() * sizeof(bf16)));
  gpu_copy_to(device_x, x.data(), x.size() * sizeof(bf16));

  tilewright::Launcher launcher;
  const auto softmax = launcher.op("softmax[dtype=bf16]");
  const auto served = softmax.match({rows, cols});
  std::cout << "softmax of " << rows << " x " << cols << " in bf16 on " << served.device << '\n'
            << "served: " << served.config << " (" << served.match << "), " << served.median_ns / 1000
            << " us when tuned for " << served.tuned_for << '\n';
  softmax(nullptr, {rows, cols}, device_x, device_y);

  gpu_copy_from(y.data(), device_y, y.size() * sizeof(bf16));
  gpu_release(device_x);
  gpu_release(device_y);
  if (!check) {
    std::cout << "launched; the result was not checked\n";
    return 0;
  }
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); i += cols) {
    worst = std::max(worst, row_error(std::span(x).subspan(i, cols), std::span(y).subspan(i, cols)));
  }
  std::cout << "max error: " << worst << " of what is allowed, " << (worst <= 1 ? "right" : "WRONG") << '\n';
  return worst <= 1 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
