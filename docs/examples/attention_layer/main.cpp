// SPDX-License-Identifier: Apache-2.0
// An attention layer by the fastest kernels that the cache knows, checked on the CPU.
//   tilewright-attention-layer [--no-check] [BATCH TOKENS]        the cache is $TILEWRIGHT_CACHE, else the user's
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../application/gpu.h"
#include "layer.hpp"

namespace {

using Values = std::vector<bf16>;

Values random_values(std::int64_t count, float scale, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0F, scale);
  Values values(static_cast<std::size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return to_bf16(normal(random)); });
  return values;
}

bf16* on_device(const Values& values) {
  auto* const memory = static_cast<bf16*>(gpu_allocate(values.size() * sizeof(bf16)));
  gpu_copy_to(memory, values.data(), values.size() * sizeof(bf16));
  return memory;
}
bf16* on_device(std::int64_t count) {
  return static_cast<bf16*>(gpu_allocate(static_cast<std::size_t>(count) * sizeof(bf16)));
}

double dot(const bf16* a, const bf16* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += double{to_float(a[i])} * double{to_float(b[i])};
  return sum;
}

/// A row of x times the transpose of weights, rounded as the layer rounds it.
Values product(const bf16* x, const Values& weights, std::int64_t width, std::int64_t columns) {
  Values row(static_cast<std::size_t>(columns));
  for (std::int64_t i = 0; i < columns; ++i) {
    row[static_cast<std::size_t>(i)] = to_bf16(static_cast<float>(dot(x, weights.data() + i * width, width)));
  }
  return row;
}

/// The last token's row of y, of the last batch.
Values expected_row(const LayerSizes& sizes, const Values& x, const Values& w_qkv, const Values& w_out) {
  const std::int64_t head = sizes.head_size;
  std::vector<Values> qkv;
  for (std::int64_t token = sizes.rows() - sizes.tokens; token < sizes.rows(); ++token) {
    qkv.push_back(product(x.data() + token * sizes.model(), w_qkv, sizes.model(), sizes.packed()));
  }
  Values mixed;
  for (std::int64_t h = 0; h < sizes.heads; ++h) {
    const std::int64_t of_key = (sizes.heads + h / (sizes.heads / sizes.key_heads)) * head;
    std::vector<double> sums(static_cast<std::size_t>(head));
    double sum = 0;
    for (const Values& other : qkv) {
      const double score = dot(qkv.back().data() + h * head, other.data() + of_key, head);
      const double weight = std::exp(score / std::sqrt(static_cast<double>(head)));
      sum += weight;
      const bf16* const value = other.data() + of_key + sizes.key_heads * head;
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * double{to_float(value[i])};
    }
    for (const double each : sums) mixed.push_back(to_bf16(static_cast<float>(each / sum)));
  }
  return product(mixed.data(), w_out, sizes.model(), sizes.model());
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool check = std::erase(words, "--no-check") == 0;
  LayerSizes sizes;
  if (words.size() == 2) {
    sizes.batch = std::stol(words[0]);
    sizes.tokens = std::stol(words[1]);
  }
  std::mt19937 random(1);
  const float weight = 1.0F / std::sqrt(static_cast<float>(sizes.model()));
  const Values x = random_values(sizes.rows() * sizes.model(), 1.0F, random);
  const Values w_qkv = random_values(sizes.packed() * sizes.model(), weight, random);
  const Values w_out = random_values(sizes.model() * sizes.model(), weight, random);
  gpu_open();
  const LayerMemory memory{on_device(x),
                           on_device(w_qkv),
                           on_device(w_out),
                           on_device(sizes.rows() * sizes.packed()),
                           on_device(sizes.rows() * sizes.model()),
                           on_device(sizes.rows() * sizes.model())};

  const tilewright::Launcher launcher;
  const AttentionLayer layer(launcher);
  std::cout << sizes.batch << " x " << sizes.tokens << " tokens, attention by " << layer.served(sizes) << '\n';
  layer.forward(nullptr, sizes, memory);

  Values row(static_cast<std::size_t>(sizes.model()));
  gpu_copy_from(row.data(), memory.y + (sizes.rows() - 1) * sizes.model(), row.size() * sizeof(bf16));
  for (bf16* each : {memory.x, memory.w_qkv, memory.w_out, memory.qkv, memory.mixed, memory.y}) gpu_release(each);
  if (!check) {
    std::cout << "launched; the result was not checked\n";
    return 0;
  }
  const Values expected = expected_row(sizes, x, w_qkv, w_out);
  double worst = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double error = std::abs(double{to_float(row[i])} - double{to_float(expected[i])});
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  constexpr double kAllowed = 2e-2;
  std::cout << "max error of the last token: " << worst << ", " << (worst <= kAllowed ? "right" : "WRONG") << '\n';
  return worst <= kAllowed ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
