// SPDX-License-Identifier: Apache-2.0
// The C functions: they check arguments and turn exceptions into codes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/base/environment.hpp"
#include "cache/base/version.hpp"
#include "cache/launch/errors.hpp"
#include "cache/launch/include/tilewright/tilewright.h"
#include "cache/launch/launcher.hpp"
#include "cache/launch/pinned_file.hpp"
#include "cache/launch/shipped_winners.hpp"
#include "cache/store/store.hpp"

#define TILEWRIGHT_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace tilewright;

thread_local std::string last_error;

int fail(int code, const char* text) noexcept {
  try {
    last_error = text;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return code;
}

/// The code of the exception being handled; its text becomes the thread's last error.
int code_of_exception() noexcept {
  try {
    throw;
  } catch (const launch::InterfaceError& error) {
    return fail(TW_ERROR_INTERFACE, error.what());
  } catch (const launch::NoMatchError& error) {
    return fail(TW_ERROR_NO_MATCH, error.what());
  } catch (const UsageError& error) {
    return fail(TW_ERROR_USAGE, error.what());
  } catch (const CacheError& error) {
    return fail(TW_ERROR_CACHE, error.what());
  } catch (const DeviceError& error) {
    return fail(TW_ERROR_DEVICE, error.what());
  } catch (const Error& error) {
    // A config that proves illegal only when loaded.
    return fail(TW_ERROR_NO_MATCH, error.what());
  } catch (const std::bad_alloc&) {
    return fail(TW_ERROR_INTERNAL, "no memory");
  } catch (const std::exception& error) {
    return fail(TW_ERROR_INTERNAL, error.what());
  } catch (...) {
    return fail(TW_ERROR_INTERNAL, "an exception of an unknown type");
  }
}

template <class Work>
int guarded(const Work& work) noexcept {
  try {
    work();
    return TW_OK;
  } catch (...) {
    return code_of_exception();
  }
}

[[noreturn, gnu::cold]] void refuse_null(const char* name) { throw UsageError(fmt::format("{} is null", name)); }

template <class Pointer>
Pointer* require(Pointer* pointer, const char* name) {
  if (pointer == nullptr) refuse_null(name);
  return pointer;
}

launch::Launcher& launcher_of(tw_launcher* launcher) {
  return *reinterpret_cast<launch::Launcher*>(require(launcher, "the launcher"));
}

launch::Op& op_of(tw_op* op) { return *reinterpret_cast<launch::Op*>(require(op, "the op")); }

std::span<const std::int64_t> dims_of(const std::int64_t* dims, std::size_t count) {
  if (count > 0) require(dims, "dims");
  return {dims, count};
}

/// A copy that tw_free can free.
char* copy(const std::string& text) {
  char* result = static_cast<char*>(std::malloc(text.size() + 1));
  if (result == nullptr) throw std::bad_alloc();
  std::memcpy(result, text.c_str(), text.size() + 1);
  return result;
}

/// Accepts options of a program built with an earlier header (its missing fields are zero), or with a later one if it
/// sets no field unknown here.
tw_options known_options(const tw_options* given) {
  // Fields are only ever added; those of the first version end here.
  constexpr std::size_t kLeast = offsetof(tw_options, allow_shared_cache) + sizeof(int);
  // Larger than any version; a size that was not set may exceed it.
  constexpr std::size_t kMost = 4096;
  const std::size_t size = require(given, "options")->size;
  if (size < kLeast || size > kMost) {
    throw UsageError(fmt::format("tw_options.size is {}: set it to sizeof(tw_options), here {}", size, sizeof *given));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + std::min(size, sizeof *given), bytes + size, [](unsigned char byte) { return byte != 0; })) {
    throw UsageError(
        fmt::format("tw_options has {} bytes and sets fields beyond the {} bytes that version {} of the library knows: "
                    "the program was built for a later version of it; install that one",
                    size, sizeof *given, version()));
  }
  tw_options options{};
  std::memcpy(&options, given, std::min(size, sizeof options));
  return options;
}

launch::LauncherOptions read_options(const tw_options& options) {
  launch::LauncherOptions result;
  result.cache = options.cache != nullptr ? std::filesystem::path(options.cache) : default_cache_path();
  const char* const pinned = options.snapshot != nullptr ? options.snapshot : std::getenv("TILEWRIGHT_SNAPSHOT");
  if (pinned != nullptr && *pinned != '\0') result.snapshot = launch::hash_of_pin(pinned);
  if (options.fallback != nullptr) {
    result.fallback = options.fallback;
  } else if (options.cache == nullptr && result.snapshot.empty() && !is_named("TILEWRIGHT_CACHE")) {
    result.fallback = launch::shipped_winners();
  }
  result.device = options.device != nullptr ? options.device : "";
  result.misses = options.misses == nullptr                   ? default_misses_path()
                  : std::string_view(options.misses) == "off" ? std::nullopt
                                                              : std::optional<std::filesystem::path>(options.misses);
  if (options.watch_ms < 0) {
    throw UsageError(
        fmt::format("the launcher's option watch_ms is {}: write 0, for never, or more", options.watch_ms));
  }
  result.watch = std::chrono::milliseconds(options.watch_ms);
  result.jit = options.jit != 0;
  result.ops = options.ops != nullptr ? options.ops : "";
  result.allow_shared_cache = options.allow_shared_cache != 0 || is_set("TILEWRIGHT_ALLOW_SHARED_CACHE");
  return result;
}

}  // namespace

TILEWRIGHT_EXPORT int tw_open_with(const tw_options* options, tw_launcher** out) {
  return guarded([&] {
    *require(out, "out") = nullptr;
    *out = reinterpret_cast<tw_launcher*>(new launch::Launcher(read_options(known_options(options))));
  });
}

TILEWRIGHT_EXPORT int tw_open(const char* cache_path, tw_launcher** out) {
  tw_options options{};
  options.size = sizeof options;
  options.cache = cache_path;
  return tw_open_with(&options, out);
}

TILEWRIGHT_EXPORT void tw_close(tw_launcher* launcher) {
  auto* opened = reinterpret_cast<launch::Launcher*>(launcher);
  // A launcher inherited by fork belongs to the parent: a child must not touch it.
  if (opened != nullptr && !opened->process().is_foreign()) delete opened;
}

TILEWRIGHT_EXPORT int tw_op_get(tw_launcher* launcher, const char* spec, tw_op** out) {
  return guarded([&] {
    *require(out, "out") = nullptr;
    *out = reinterpret_cast<tw_op*>(&launcher_of(launcher).op(require(spec, "the spec")));
  });
}

TILEWRIGHT_EXPORT int tw_op_describe(tw_op* op, char** json) {
  return guarded([&] {
    *require(json, "json") = nullptr;
    *json = copy(op_of(op).describe());
  });
}

TILEWRIGHT_EXPORT int tw_op_dims(tw_op* op, const int64_t* const* shapes, const size_t* ranks, size_t n_args,
                                 int64_t* dims, size_t n_dims) {
  return guarded([&] {
    const launch::Op& known = op_of(op);
    if (n_args > 0) require(shapes, "shapes");
    if (n_args > 0) require(ranks, "ranks");
    const std::vector<std::int64_t> found = known.dims_of({shapes, n_args}, {ranks, n_args});
    if (n_dims != found.size()) {
      throw UsageError(
          fmt::format("{} has {} dims; there is room for {}", known.identity().spec.text(), found.size(), n_dims));
    }
    std::copy(found.begin(), found.end(), require(dims, "dims"));
  });
}

TILEWRIGHT_EXPORT __attribute__((hot)) int tw_launch(tw_op* op, void* cu_stream, const int64_t* dims, size_t n_dims,
                                                     void* const* args, size_t n_args) {
  return guarded([&] {
    if (n_args > 0) require(args, "args");
    op_of(op).launch(static_cast<cuda::Stream>(cu_stream), dims_of(dims, n_dims), {args, n_args});
  });
}

TILEWRIGHT_EXPORT int tw_query(tw_op* op, const int64_t* dims, size_t n_dims, char** json) {
  return guarded([&] {
    *require(json, "json") = nullptr;
    *json = copy(op_of(op).query(dims_of(dims, n_dims)));
  });
}

TILEWRIGHT_EXPORT int tw_preload(tw_op* op, const int64_t* dims, size_t n_dims) {
  return guarded([&] { op_of(op).preload(dims_of(dims, n_dims)); });
}

TILEWRIGHT_EXPORT int tw_refresh(tw_launcher* launcher) {
  return guarded([&] { launcher_of(launcher).refresh(); });
}

TILEWRIGHT_EXPORT int tw_counts(tw_launcher* launcher, char** json) {
  return guarded([&] {
    *require(json, "json") = nullptr;
    *json = copy(launcher_of(launcher).counts());
  });
}

TILEWRIGHT_EXPORT int tw_snapshot(tw_launcher* launcher, char** json) {
  return guarded([&] {
    *require(json, "json") = nullptr;
    *json = copy(launcher_of(launcher).snapshot());
  });
}

TILEWRIGHT_EXPORT int tw_workspace_bytes(tw_op* op, const int64_t* dims, size_t n_dims, size_t* out) {
  return guarded([&] {
    *require(out, "out") = 0;
    *out = op_of(op).workspace_bytes(dims_of(dims, n_dims));
  });
}

TILEWRIGHT_EXPORT int tw_set_workspace(tw_launcher* launcher, void* cu_stream, void* ptr, size_t bytes) {
  return guarded([&] {
    launcher_of(launcher).set_workspace(static_cast<cuda::Stream>(cu_stream), reinterpret_cast<cuda::Address>(ptr),
                                        bytes);
  });
}

TILEWRIGHT_EXPORT const char* tw_version(void) { return version(); }

TILEWRIGHT_EXPORT void tw_free(void* text) { std::free(text); }

TILEWRIGHT_EXPORT const char* tw_last_error(void) { return last_error.c_str(); }
