// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tilewright/launch.hpp>
#include <vector>

#include "../application/gpu.h"
#include "../application/reference.hpp"

/// What is the same for a whole run of decoding.
struct DecodeSizes {
  std::int64_t batch = 3, heads = 8, key_heads = 2, head_size = 64, page = 16, max_pages = 8, pages = 24;

  /// Elements of a token's keys, or values; of its queries.
  [[nodiscard]] std::int64_t of_keys() const { return key_heads * head_size; }
  [[nodiscard]] std::int64_t of_queries() const { return heads * head_size; }
};

/// Keys and values of growing sequences in pages of a pool on the device, with the table and the lengths that tell
/// where they are. A sequence takes a page of the pool when it needs one, and any page will do. One thread.
class PagedCache {
 public:
  explicit PagedCache(const DecodeSizes& sizes)
      : sizes_(sizes),
        lengths_(static_cast<std::size_t>(sizes.batch)),
        table_(static_cast<std::size_t>(sizes.batch * sizes.max_pages)) {
    const auto bytes = static_cast<std::size_t>(sizes.pages * sizes.page * sizes.of_keys()) * sizeof(bf16);
    keys = static_cast<bf16*>(gpu_allocate(bytes));
    values = static_cast<bf16*>(gpu_allocate(bytes));
    table = static_cast<std::int32_t*>(gpu_allocate(table_.size() * sizeof(std::int32_t)));
    lengths = static_cast<std::int32_t*>(gpu_allocate(lengths_.size() * sizeof(std::int32_t)));
    for (std::int64_t i = 0; i < sizes.pages; ++i) free_.push_back(static_cast<std::int32_t>(i * 7 % sizes.pages));
  }
  PagedCache(const PagedCache&) = delete;
  PagedCache& operator=(const PagedCache&) = delete;
  ~PagedCache() {
    for (void* memory : {static_cast<void*>(keys), static_cast<void*>(values), static_cast<void*>(table),
                         static_cast<void*>(lengths)}) {
      gpu_release(memory);
    }
  }

  /// Puts a token behind a sequence's last one. An engine does so by a kernel of the step's graph.
  void append(std::int64_t sequence, const bf16* key, const bf16* value) {
    std::int32_t& length = lengths_.at(static_cast<std::size_t>(sequence));
    if (length == sizes_.page * sizes_.max_pages) throw std::runtime_error("a sequence has no room for a token");
    std::int32_t& page = table_[static_cast<std::size_t>(sequence * sizes_.max_pages + length / sizes_.page)];
    if (length % sizes_.page == 0) {
      if (free_.empty()) throw std::runtime_error("the pool has no page left");
      page = free_.back();
      free_.pop_back();
    }
    const std::int64_t at = (page * sizes_.page + length % sizes_.page) * sizes_.of_keys();
    const auto bytes = static_cast<std::size_t>(sizes_.of_keys()) * sizeof(bf16);
    gpu_copy_to(keys + at, key, bytes);
    gpu_copy_to(values + at, value, bytes);
    ++length;
  }
  /// Tells the device of tokens that were appended.
  void publish() const {
    gpu_copy_to(table, table_.data(), table_.size() * sizeof(std::int32_t));
    gpu_copy_to(lengths, lengths_.data(), lengths_.size() * sizeof(std::int32_t));
  }

  // On the device: [pages, page, key_heads, head_size] twice, [batch, max_pages], [batch].
  bf16 *keys, *values;
  std::int32_t *table, *lengths;

 private:
  DecodeSizes sizes_;
  std::vector<std::int32_t> lengths_, table_, free_;
};

/// The attention of a step as a CUDA graph: what changes from step to step lies on the device, so that the same graph
/// serves all of them.
class DecodeStep {
 public:
  DecodeStep(const tilewright::Launcher& launcher, const DecodeSizes& sizes, const PagedCache& cache,
             const bf16* queries, bf16* mixed)
      : attention_(launcher.op("attention_paged[dtype=bf16]")), dims_{sizes.batch,     sizes.heads,
                                                                      sizes.key_heads, 1,
                                                                      sizes.max_pages, sizes.page,
                                                                      sizes.head_size, sizes.pages} {
    const std::int64_t head = sizes.head_size, token = sizes.of_keys(), page = sizes.page * token,
                       row = sizes.of_queries();
    const float scale = 1.0F / std::sqrt(static_cast<float>(head));
    attention_.preload(dims_);  // nothing is loaded or allocated while the graph is captured
    gpu_begin_capture(stream_);
    attention_(stream_, dims_, queries, cache.keys, cache.values, cache.table, cache.lengths, mixed, scale,  //
               row, row, head,                        // of queries
               page, token, head, page, token, head,  // of both pools
               row, row, head);
    graph_ = gpu_end_capture(stream_);
  }

  void run() const { gpu_run(graph_, stream_); }

  /// What computes it.
  [[nodiscard]] std::string served() const {
    const auto found = attention_.match(dims_);
    return found.config + " (" + found.match + ")";
  }

 private:
  tilewright::Op attention_;
  tilewright::Shape dims_;
  void* stream_ = gpu_create_stream();
  void* graph_ = nullptr;
};
