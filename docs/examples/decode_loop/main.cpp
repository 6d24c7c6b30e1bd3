// SPDX-License-Identifier: Apache-2.0
// Decoding over a paged cache, a CUDA graph a step, by the fastest kernels that the cache of winners knows. Each step
// is checked on the CPU.
//   tilewright-decode-loop [--no-check] [STEPS]        the cache of winners is $TILEWRIGHT_CACHE, else the user's
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cache.hpp"

namespace {

using Values = std::vector<bf16>;

Values random_values(std::int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Values values(static_cast<std::size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return to_bf16(normal(random)); });
  return values;
}

/// What the device is to know of a sequence, on the host: token after token.
struct Sequence {
  std::vector<Values> keys, values;
};

/// The largest error of a sequence's row of `mixed`, in units of what is allowed. Infinite for a NaN.
double error_of(const DecodeSizes& sizes, const Sequence& sequence, const bf16* queries, const bf16* mixed) {
  double worst = 0;
  for (std::int64_t h = 0; h < sizes.heads; ++h) {
    const std::int64_t of_keys = h / (sizes.heads / sizes.key_heads) * sizes.head_size, of_head = h * sizes.head_size;
    std::vector<double> sums(static_cast<std::size_t>(sizes.head_size));
    double sum = 0;
    for (std::size_t token = 0; token < sequence.keys.size(); ++token) {
      double score = 0;
      for (std::int64_t i = 0; i < sizes.head_size; ++i) {
        score += double{to_float(queries[of_head + i])} * double{to_float(sequence.keys[token].data()[of_keys + i])};
      }
      const double weight = std::exp(score / std::sqrt(static_cast<double>(sizes.head_size)));
      sum += weight;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] += weight * double{to_float(sequence.values[token][static_cast<std::size_t>(of_keys) + i])};
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double right = sums[i] / sum, got = to_float(mixed[of_head + static_cast<std::int64_t>(i)]);
      const double error = std::abs(got - right) / (8e-3 + 1.6e-2 * std::abs(right));
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool check = std::erase(words, "--no-check") == 0;
  const long steps = words.empty() ? 40 : std::stol(words[0]);
  const DecodeSizes sizes;
  const auto bytes = static_cast<std::size_t>(sizes.batch * sizes.of_queries()) * sizeof(bf16);
  std::mt19937 random(1);
  gpu_open();
  auto* const queries = static_cast<bf16*>(gpu_allocate(bytes));
  auto* const mixed = static_cast<bf16*>(gpu_allocate(bytes));
  PagedCache cache(sizes);
  std::vector<Sequence> sequences(static_cast<std::size_t>(sizes.batch));
  const auto append = [&](std::int64_t n) {
    Sequence& sequence = sequences[static_cast<std::size_t>(n)];
    sequence.keys.push_back(random_values(sizes.of_keys(), random));
    sequence.values.push_back(random_values(sizes.of_keys(), random));
    cache.append(n, sequence.keys.back().data(), sequence.values.back().data());
  };
  // Prompts of 0, 19 and 38 tokens.
  for (std::int64_t n = 0; n < sizes.batch; ++n) {
    for (std::int64_t token = 0; token < n * 19; ++token) append(n);
  }

  const tilewright::Launcher launcher;
  const DecodeStep step(launcher, sizes, cache, queries, mixed);
  std::cout << sizes.batch << " sequences, attention by " << step.served() << '\n';
  double worst = 0;
  for (long i = 0; i < steps; ++i) {
    for (std::int64_t n = 0; n < sizes.batch; ++n) append(n);
    cache.publish();
    const Values own = random_values(sizes.batch * sizes.of_queries(), random);
    gpu_copy_to(queries, own.data(), bytes);
    step.run();
    Values got(own.size());
    gpu_copy_from(got.data(), mixed, bytes);
    for (std::int64_t n = 0; n < sizes.batch && check; ++n) {
      const std::int64_t row = n * sizes.of_queries();
      worst =
          std::max(worst, error_of(sizes, sequences[static_cast<std::size_t>(n)], own.data() + row, got.data() + row));
    }
  }
  gpu_release(queries);
  gpu_release(mixed);
  if (!check) {
    std::cout << steps << " steps; the results were not checked\n";
    return 0;
  }
  std::cout << steps << " steps, max error " << worst << " of what is allowed, " << (worst <= 1 ? "right" : "WRONG")
            << '\n';
  return worst <= 1 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
