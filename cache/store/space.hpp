// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The bytes of a cache by table and use, and its garbage (cache/store/whole_file.hpp). Values.
namespace tilewright {

struct TableSpace {
  std::string table;
  std::int64_t rows = 0;
  /// Rows whose checksum does not match their values.
  std::int64_t damaged = 0;
  /// Bytes of its pages, and of its indexes' pages.
  std::int64_t bytes = 0, index_bytes = 0;
};

struct OpSpace {
  std::string op;
  std::int64_t problems = 0, trials = 0, winners = 0;
  /// Stored bytes of binaries of kernels that were tried or are spares, and of those that serve.
  std::int64_t binary_bytes = 0, serving_bytes = 0;
};

struct CacheSpace {
  int schema = 0;
  /// Bytes of the file, of its log, and of the file's empty pages.
  std::int64_t file_bytes = 0, log_bytes = 0, free_bytes = 0;
  /// The largest first.
  std::vector<TableSpace> tables;
  std::vector<OpSpace> ops;
  /// Stored bytes of binaries: of kernels that serve, of other kernels, and of learned models.
  std::int64_t serving_bytes = 0, other_bytes = 0, model_bytes = 0;
  /// Seconds since 1970; 0: none.
  std::int64_t first_trial = 0, last_trial = 0;
};

struct GarbagePolicy {
  /// Hashes of the implementations in the sources: their trials stay.
  std::vector<std::string> implementations{};
  /// The past winners of each role that stay, the newest first.
  int past_winners = 8;
  /// Also removes damaged rows, and rows that rest on them. Sweeps fill them again, except pins, misses, past winners,
  /// and campaigns with their jobs.
  bool damaged = false;
  /// Only reports.
  bool dry_run = false;
};

struct Garbage {
  std::string what;
  std::string why;
  std::int64_t rows = 0;
  /// Bytes of the rows' values.
  std::int64_t bytes = 0;
};

}  // namespace tilewright
