// SPDX-License-Identifier: Apache-2.0
// write_sample_cache FILE: makes a cache with `scale`, `strided`, `packed`, `ragged` and `reduce`, for tests in other
// languages.
// write_sample_cache FILE COUNT: makes a cache with COUNT winners of `scale`, for tests that measure their own memory.
// write_sample_cache FILE PROBLEM CONFIG: adds a winner of `scale`, as a tuner in another process does.
#include <filesystem>
#include <iostream>
#include <string>

#include "tests/launch/sample_cache.hpp"

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 4) {
    std::cerr << "write_sample_cache FILE [COUNT | PROBLEM CONFIG]\n";
    return 2;
  }
  const std::filesystem::path path = argv[1];
  if (argc == 4) {
    tilewright::testing::SampleCache(path).add_winner(tilewright::testing::scale_interface(), argv[2], argv[3]);
    return 0;
  }
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
  tilewright::testing::SampleCache cache(path);
  if (argc == 3) {
    cache.add_many(std::stoi(argv[2]), 64 << 10);
    return 0;
  }
  cache.add_scale();
  cache.add_strided();
  cache.add_packed();
  cache.add_ragged();
  cache.add_reduce();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "write_sample_cache: " << error.what() << '\n';
  return 1;
}
