// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tilewright/detail/arguments.hpp"
#include "tilewright/detail/flat_json.hpp"
#include "tilewright/launch_error.hpp"
#include "tilewright/shape.hpp"
#include "tilewright/tilewright.h"

/// Launches the fastest kernel that a cache knows for a shape:
///
///   tilewright::Launcher launcher;                        // opens the cache, needs no compiler
///   auto softmax = launcher.op("softmax[dtype=bf16]");
///   softmax(stream, {rows, cols}, x, y);                  // arguments in the definition's order
///
/// Header-only over the C functions of libtilewright.so, so that program and library may come from different compilers.
/// Failures throw LaunchError. Any number of threads may use one Launcher and its Ops at once. Destroy a Launcher only
/// when no call is running and its launches are done on the device.
namespace tilewright {

struct LaunchOptions {
  /// Empty: $TILEWRIGHT_CACHE, else the user's cache.
  std::string cache = {};
  /// The device that match() answers for; empty: the GPU of the current context. See tw_options in tilewright.h.
  std::string device = {};
  /// Use the cache even if other users can write it.
  bool allow_shared_cache = false;
  /// Milliseconds between calls of refresh() by a thread of the launcher; 0: none.
  int watch_ms = 0;
  /// The file of misses, or "off"; empty: see tw_options.
  std::string misses = {};
  /// The file that serves what the cache cannot; empty: the shipped winners if no cache is named. See tw_options.
  std::string fallback = {};
  /// Compile configs for untuned shapes, on a thread of the launcher. See tw_options.
  bool jit = false;
  /// For jit: folders of ops, separated by ':'. See tw_options.
  std::string ops = {};
  /// "sha256:…": opens this snapshot only; empty: as TILEWRIGHT_SNAPSHOT says. See tw_options.
  std::string snapshot = {};
};

/// The file and the plans that serve. Ranks of a job compare them. See tw_snapshot.
struct ServedSnapshot {
  std::string cache;         ///< the file
  std::string snapshot;      ///< "sha256:…"; empty: see "why" of tw_snapshot
  bool pinned = false;       ///< opened by this hash
  double plans = 0;          ///< the number of the launcher's plans
  std::string plans_digest;  ///< equal on ranks that launched the same shapes and are served alike
};

/// The config that serves a shape, and how well it fits.
struct ServedConfig {
  std::string config;      ///< "onchip{num_warps=4,…}"; empty if nothing serves
  std::string fit;         ///< exact, nearest, default, none
  std::string freshness;   ///< fresh, stale
  std::string device_fit;  ///< same device, same architecture
  std::string match;       ///< the three above in words
  std::string device;      ///< the fingerprint of the device that the answer is for
  std::string cache;       ///< the file that serves
  std::string tuned_for;   ///< the problem of the times below
  double median_ns = 0;    ///< 0 if not timed
  double low_ns = 0;       ///< 95 % interval of the median
  double high_ns = 0;
  double base_ns = 0;        ///< the op's base on the same problem; 0 if unknown
  double bytes = 0;          ///< of this shape: each argument read or written once
  double expected_ns = 0;    ///< at this untuned shape; 0 if the shape was tuned or nothing is known
  double expected_loss = 0;  ///< loss against the fastest config, 0.03 for 3 % slower; 0 likewise
  std::string expected_by;   ///< the source of these two; empty if the shape was tuned
  std::string json;          ///< the whole answer of tw_query

  [[nodiscard]] bool is_served() const noexcept { return !config.empty(); }
};

/// Lookups counted by how well the answer fits; see tw_counts.
struct AnswerCounts {
  std::uint64_t exact = 0, nearest = 0, base_default = 0, none = 0;
  std::uint64_t stale = 0, same_architecture = 0;  ///< among those served
};

namespace detail {

struct Close {
  void operator()(tw_launcher* launcher) const noexcept { tw_close(launcher); }
};
struct Free {
  void operator()(char* text) const noexcept { tw_free(text); }
};
using Text = std::unique_ptr<char, Free>;

}  // namespace detail

/// An op with its dtype and attributes fixed. Cheap to copy; it keeps its launcher open.
class Op {
 public:
  /// Launches on `stream` (CUstream or cudaStream_t). A pointer argument is a device address: a CUdeviceptr, or a
  /// pointer to elements of the argument's size. A scalar is any number that the declared type can hold.
  template <class... Arguments>
  void operator()(void* stream, const Shape& dims, const Arguments&... arguments) const {
    if (sizeof...(Arguments) != types_->size()) {
      throw LaunchError(TW_ERROR_USAGE, "a launch passes " + std::to_string(sizeof...(Arguments)) +
                                            " arguments where the op takes " + std::to_string(types_->size()));
    }
    // One extra slot, so that an op without arguments has an array too.
    detail::Slot slots[sizeof...(Arguments) + 1];
    void* pointers[sizeof...(Arguments) + 1];
    std::size_t i = 0;
    ((pointers[i] = &slots[i], detail::store((*types_)[i], arguments, slots[i]), ++i), ...);
    detail::check(tw_launch(op_, stream, dims.data(), dims.size(), pointers, sizeof...(Arguments)));
  }

  /// The config that serves this shape; see tw_query.
  [[nodiscard]] ServedConfig match(const Shape& dims) const {
    char* json = nullptr;
    detail::check(tw_query(op_, dims.data(), dims.size(), &json));
    const detail::Text owned(json);
    const detail::FlatJson fields(json);
    return {.config = fields.text("config"),
            .fit = fields.text("fit"),
            .freshness = fields.text("freshness"),
            .device_fit = fields.text("device_fit"),
            .match = fields.text("match"),
            .device = fields.text("device"),
            .cache = fields.text("cache"),
            .tuned_for = fields.text("tuned_for"),
            .median_ns = fields.number("median_ns"),
            .low_ns = fields.number("low_ns"),
            .high_ns = fields.number("high_ns"),
            .base_ns = fields.number("base_ns"),
            .bytes = fields.number("bytes"),
            .expected_ns = fields.number("expected_ns"),
            .expected_loss = fields.number("expected_loss"),
            .expected_by = fields.text("expected_by"),
            .json = json};
  }

  /// Makes this shape's first launch in the current context as quick as later ones.
  void preload(const Shape& dims) const { detail::check(tw_preload(op_, dims.data(), dims.size())); }
  /// The workspace that this shape needs on a stream; see tw_workspace_bytes.
  [[nodiscard]] std::size_t workspace_bytes(const Shape& dims) const {
    std::size_t bytes = 0;
    detail::check(tw_workspace_bytes(op_, dims.data(), dims.size(), &bytes));
    return bytes;
  }
  /// Dims and arguments as JSON; see tw_op_describe.
  [[nodiscard]] std::string describe() const {
    char* json = nullptr;
    detail::check(tw_op_describe(op_, &json));
    return detail::Text(json).get();
  }

 private:
  friend class Launcher;
  Op(std::shared_ptr<tw_launcher> launcher, const std::string& spec) : launcher_(std::move(launcher)) {
    detail::check(tw_op_get(launcher_.get(), spec.c_str(), &op_));
    types_ = detail::argument_types(describe());
  }

  std::shared_ptr<tw_launcher> launcher_;
  tw_op* op_ = nullptr;
  std::shared_ptr<const std::vector<detail::ArgumentType>> types_;
};

/// An open cache. Cheap to copy; it is closed with its last copy and Op.
class Launcher {
 public:
  /// Opens the default cache.
  Launcher() : Launcher(LaunchOptions{}) {}
  /// Opens a cache; empty: the default one. A template, so that `Launcher({.cache = "a.db"})` means options alone.
  template <std::convertible_to<std::string> Text>
  explicit Launcher(const Text& cache) : Launcher(LaunchOptions{.cache = cache}) {}
  explicit Launcher(const LaunchOptions& options) {
    tw_options c_options{};
    c_options.size = sizeof c_options;
    c_options.cache = options.cache.empty() ? nullptr : options.cache.c_str();
    c_options.device = options.device.empty() ? nullptr : options.device.c_str();
    c_options.allow_shared_cache = options.allow_shared_cache ? 1 : 0;
    c_options.watch_ms = options.watch_ms;
    c_options.misses = options.misses.empty() ? nullptr : options.misses.c_str();
    c_options.fallback = options.fallback.empty() ? nullptr : options.fallback.c_str();
    c_options.jit = options.jit ? 1 : 0;
    c_options.ops = options.ops.empty() ? nullptr : options.ops.c_str();
    c_options.snapshot = options.snapshot.empty() ? nullptr : options.snapshot.c_str();
    tw_launcher* opened = nullptr;
    detail::check(tw_open_with(&c_options, &opened));
    launcher_ = std::shared_ptr<tw_launcher>(opened, detail::Close{});
  }

  /// "softmax[dtype=bf16]". "softmax@INTERFACE[dtype=bf16]" throws if the cache has no softmax with that interface.
  [[nodiscard]] Op op(const std::string& spec) const { return Op(launcher_, spec); }

  /// Loads the kernels of these shapes into the current context: their first launches are as quick as later ones and
  /// can be captured without a pause.
  void preload(const std::string& spec, const std::vector<Shape>& shapes) const {
    const Op preloaded = op(spec);
    for (const Shape& shape : shapes) preloaded.preload(shape);
  }

  /// Takes up a newer cache while launches continue. On failure the old state stays in use.
  void refresh() const { detail::check(tw_refresh(launcher_.get())); }

  /// The file that serves, and a digest of its plans so far. The first call reads the whole file.
  [[nodiscard]] ServedSnapshot snapshot() const {
    char* json = nullptr;
    detail::check(tw_snapshot(launcher_.get(), &json));
    const detail::Text owned(json);
    const detail::FlatJson fields(json);
    return {.cache = fields.text("cache"),
            .snapshot = fields.text("snapshot"),
            .pinned = fields.text("pinned") == "true",
            .plans = fields.number("plans"),
            .plans_digest = fields.text("plans_digest")};
  }

  /// Gives launches on `stream` the caller's memory; null: the launcher's own again. See tw_set_workspace.
  void set_workspace(void* stream, void* memory, std::size_t bytes) const {
    detail::check(tw_set_workspace(launcher_.get(), stream, memory, bytes));
  }

  /// Counts lookups since the launcher was opened; see tw_counts.
  [[nodiscard]] AnswerCounts counts() const {
    char* json = nullptr;
    detail::check(tw_counts(launcher_.get(), &json));
    const detail::Text owned(json);
    const detail::FlatJson fields(json);
    const auto count = [&](const char* name) { return static_cast<std::uint64_t>(fields.number(name)); };
    return {.exact = count("exact"),
            .nearest = count("nearest"),
            .base_default = count("default"),
            .none = count("none"),
            .stale = count("stale"),
            .same_architecture = count("same_architecture")};
  }

  /// The launcher for the C functions, owned by this object.
  [[nodiscard]] tw_launcher* get() const noexcept { return launcher_.get(); }

 private:
  std::shared_ptr<tw_launcher> launcher_;
};

}  // namespace tilewright
