// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "tuner/sweep/builder.hpp"
#include "tuner/sweep/sweep.hpp"
#include "tuner/sweep/sweep_lock.hpp"

/// The state shared by all devices of a sweep. Guarded by `lock`, except `stopped`.
namespace tilewright {

struct SweepContext {
  /// All must outlive it. Compile threads also call `should_stop` while the builder lives.
  SweepContext(const SweepRequest& sweep_request, Catalogue& sweep_catalogue, Store& sweep_store,
               SweepListener& sweep_listener, std::function<bool()> should_stop)
      : request(sweep_request),
        catalogue(sweep_catalogue),
        store(sweep_store),
        listener(sweep_listener),
        stopped(std::move(should_stop)),
        builder(store, *request.compiler, catalogue.builtin_dir(), request.jobs, stopped, &lock) {}
  SweepContext(const SweepContext&) = delete;
  SweepContext& operator=(const SweepContext&) = delete;

  const SweepRequest& request;
  Catalogue& catalogue;
  Store& store;
  SweepListener& listener;
  /// Interrupted, or broken for all devices. Any thread may call it.
  std::function<bool()> stopped;
  SweepLock lock;
  Builder builder;
  SweepSummary summary;
  /// When the first device was free to measure.
  std::optional<std::chrono::steady_clock::time_point> start;
};

}  // namespace tilewright
