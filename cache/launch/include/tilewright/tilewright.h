/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TILEWRIGHT_H
#define TILEWRIGHT_TILEWRIGHT_H

#include <stddef.h>
#include <stdint.h>

/* The launch library of Tilewright, for C and through it for every other language. It launches the fastest kernel that
 * a cache knows for a shape, on any shape, without compiler or tuning at run time. C++ programs include
 * <tilewright/launch.hpp>, a thin layer over this header.
 *
 * A launcher reads one cache. Its ops (softmax in bf16, say) launch on streams of the CUDA context that is current on
 * the calling thread. The first launch of a shape reads the cache and loads the kernel. Later launches take no lock,
 * allocate nothing and read no file; only ops with workspace (tw_workspace_bytes) take their stream's lock.
 *
 * Errors: a function that returns int returns TW_OK (0) or one of the codes below. tw_last_error() then says what was
 * being done, to what, and why it failed. Nothing is thrown across this interface. A null pointer that is not allowed
 * is TW_ERROR_USAGE. After a failure, `out` or `json` is null or 0.
 *
 * Processes: a child made by fork cannot use its parent's launchers. A call with one returns TW_ERROR_DEVICE, and
 * tw_close does nothing. The child opens its own.
 *
 * Threads: any number of threads may use one launcher and one op at once, on any streams, contexts and devices,
 * tw_refresh included. Only tw_close must wait until no other call is running.
 *
 * Ownership: a launcher belongs to the caller until tw_close. An op belongs to its launcher. A text returned through
 * `char**` belongs to the caller, who frees it with tw_free. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_launcher tw_launcher;
typedef struct tw_op tw_op;

enum {
  TW_OK = 0,
  TW_ERROR_USAGE = 1,  /* a wrong argument: unknown op, dim < 1, null pointer, wrong number of arguments... */
  TW_ERROR_CACHE = 2,  /* the cache is missing, damaged, of another schema than this library's, or writable by others */
  TW_ERROR_DEVICE = 3, /* no driver, no GPU, no current context, or a failed driver call */
  TW_ERROR_NO_MATCH = 4,  /* the cache has nothing that can serve this shape with these arguments on this GPU */
  TW_ERROR_INTERFACE = 5, /* the op's arguments differ from those that the application was written for */
  TW_ERROR_INTERNAL = 6   /* out of host memory, or a bug of this library */
};

/* The options of tw_open_with. Set them to zero, then `size`, then the fields that differ from the default:
 *   tw_options options = {0};
 *   options.size = sizeof options;
 * Zero is the default of every field. A program built with another version of this header may pass its options here:
 * fields that it lacks are zero, and fields that this library lacks must be zero. */
typedef struct tw_options {
  /* sizeof(tw_options) of the program, which tells the library its fields. */
  size_t size;
  /* The cache file or a bundle (`tilewright export --bundle`); its content tells which. NULL: $TILEWRIGHT_CACHE, else
   * $XDG_CACHE_HOME/tilewright/cache.db, else ~/.cache/tilewright/cache.db. */
  const char* cache;
  /* The device that tw_query and tw_workspace_bytes answer for: a fingerprint (`tilewright list devices`), the name
   * ("NVIDIA H200") of exactly one device of the cache, "cpu", or "cuda:N" of this machine. NULL: the current context's
   * GPU, else cuda:0. Only "cuda:N" and NULL need a GPU. Launches always use the current context's. */
  const char* device;
  /* Not 0: use the cache even if other users can write it. Otherwise such a cache is refused, since its binaries run on
   * the GPU with this program's rights. The environment variable TILEWRIGHT_ALLOW_SHARED_CACHE=1 does the same. */
  int allow_shared_cache;
  /* The file of misses, for `tilewright sweep --misses`. A miss is a shape of a launch or tw_preload without an exact
   * winner for this GPU in cache and fallback; it is written at the shape's first launch. An unusable file fails no
   * launch. "off": no file. NULL: $TILEWRIGHT_MISSES, else $XDG_CACHE_HOME/tilewright/misses, else
   * ~/.cache/tilewright/misses. */
  const char* misses;
  /* Milliseconds between looks for a newer cache by a thread of the launcher, each as by tw_refresh. An unusable new
   * cache leaves the old state in use, and tw_refresh says why. 0: no such thread. */
  int watch_ms;
  /* A second cache or bundle, opened when first needed. It serves what the cache cannot launch on this GPU, shapes that
   * it fits better (docs/untuned.md), and everything while the cache is missing, damaged, of another version or
   * writable by others. tw_query names the file that serves, and why. tw_refresh tries an unusable file again. NULL:
   * the shipped winners (docs/launch.md) if `cache` is NULL, $TILEWRIGHT_CACHE is not set and no snapshot is named, else
   * none. */
  const char* fallback;
  /* Not 0: a thread of the launcher compiles up to 1024 configs that serve untuned shapes better, and serves them from
   * then on; no launch waits. Needs libtilewright-jit.so, NVRTC, and the sources of the ops that the cache was tuned
   * with. Opening fails (TW_ERROR_USAGE) without the library; tw_query reports missing NVRTC or sources. */
  int jit;
  /* For jit: folders of ops, separated by ':', searched before the built-in ones. NULL: none. */
  const char* ops;
  /* "sha256:" and 64 digits: opens only the snapshot with this hash, so that all ranks of a job have the same. It is
   * snapshots/HASH.db beside the cache, where `tilewright pull` keeps it, else the cache itself. The file is read
   * whole. Opening fails (TW_ERROR_CACHE) if neither has the hash, even with a fallback. watch_ms and tw_refresh then
   * do nothing. NULL: $TILEWRIGHT_SNAPSHOT, else none. */
  const char* snapshot;
} tw_options;

/* Opens a cache; `cache_path` is as `cache` in tw_options. The launcher in `*out` belongs to the caller, who ends it
 * with tw_close. Needs no GPU and no driver. From any thread. TW_ERROR_CACHE if neither the cache nor a fallback can be
 * used. TW_ERROR_USAGE for options of an impossible size or a later version, a device that the cache does not have,
 * watch_ms < 0, and jit if its library cannot be loaded. */
int tw_open(const char* cache_path, tw_launcher** out);
int tw_open_with(const tw_options* options, tw_launcher** out);

/* Closes a launcher: its ops end, and its kernels and the workspaces of the current context are freed. Workspaces of
 * other contexts end with their context. No other call of the launcher or its ops may be running or follow. Its
 * launches must be done on the device, and no captured graph that holds one may be launched again. Waits for a running
 * compile of tw_options.jit. NULL does nothing. */
void tw_close(tw_launcher* launcher);

/* Finds the op that `spec` names: "softmax[dtype=bf16]", "gemm[dtype=bf16,act=gelu]". Omitted attributes take their
 * defaults. The same spec gives the same op, which belongs to the launcher and ends with tw_close.
 * "softmax@INTERFACE[dtype=bf16]", with the 32 digits of tw_op_describe, is TW_ERROR_INTERFACE unless the cache has the
 * op with these dims and arguments. TW_ERROR_USAGE, with the nearest name, for an op, dtype, attribute or value that
 * the cache does not know. From any thread; takes a lock. */
int tw_op_get(tw_launcher* launcher, const char* spec, tw_op** out);

/* Describes the op as JSON: "op", "spec", "interface", "dims" (names in call order), "bucketed" (dims that share one
 * plan for all extents of a bucket; absent if there are none), and "args": each argument's "name", "role" (in, out,
 * inout, scalar), "type" (bf16, f32, i64...) and "bytes" of one element. A tensor also has "shape" (its extents as
 * formulas over the dims, slowest first), "align" (its address is a multiple of so many bytes) and "alias" (the inputs
 * that it may be). If its rows may lie apart it has "pitch" (the scalar with the elements between the starts of two
 * rows) or "strides" (the scalars of all extents but the last). The text belongs to the caller: tw_free. From any
 * thread. */
int tw_op_describe(tw_op* op, char** json);

/* Finds the dims of a call from the extents of its tensors. shapes[i] points at the ranks[i] extents of the i-th
 * argument, slowest first; entries of scalars are not read. If a tensor has more extents than the op defines, its
 * leading ones are multiplied: {batch, rows, cols} is {batch * rows, cols}. `dims` has room for n_dims numbers, the
 * op's number of dims. TW_ERROR_USAGE if tensors disagree, if one has too few extents, if a dim is < 1 or does not
 * follow from them, or if n_args or n_dims is not the op's. From any thread; reads no file. Keep the answer for
 * recurring shapes. */
int tw_op_dims(tw_op* op, const int64_t* const* shapes, const size_t* ranks, size_t n_args, int64_t* dims,
               size_t n_dims);

/* Launches on `cu_stream` (a CUstream or cudaStream_t; NULL: the legacy default stream) of the calling thread's current
 * context, also while the stream captures a graph. `dims` and `args` are in the definition's order. args[i] points at
 * the i-th argument's value, a device address or a scalar of the type in tw_op_describe; it is copied. Asynchronous.
 * The first launch of a shape in a context takes a lock and reads the cache. From any thread. A failed launch has
 * enqueued nothing, unless the driver fails midway through a config. TW_ERROR_USAGE for wrong dims, arguments or
 * strides. If nothing serves: TW_ERROR_NO_MATCH, or TW_ERROR_CACHE or TW_ERROR_DEVICE if a config could not be read or
 * loaded. TW_ERROR_DEVICE without a context or if the driver fails. */
int tw_launch(tw_op* op, void* cu_stream, const int64_t* dims, size_t n_dims, void* const* args, size_t n_args);

/* Describes the config that serves this shape with fully aligned arguments, as a flat JSON object: "config", how well
 * it fits ("fit", "freshness", "device_fit"), its times and their source, or "why" nothing serves. docs/launch.md lists
 * the fields ("The answer of a query"). Needs no GPU if the options name a device. The text belongs to the caller:
 * tw_free. From any thread; takes a lock. TW_ERROR_USAGE for wrong dims or an unknown device, TW_ERROR_DEVICE if no
 * device is named and the machine has none. */
int tw_query(tw_op* op, const int64_t* dims, size_t n_dims, char** json);

/* Loads the kernel of this shape with fully aligned arguments into the current context, so that its first launch is as
 * quick as later ones. Allocates workspace, if the op needs any, for one more stream or captured graph. From any
 * thread; takes a lock. Fails as tw_launch does. */
int tw_preload(tw_op* op, const int64_t* dims, size_t n_dims);

/* Looks up all launched and preloaded shapes again if the cache's winners have changed, a sweep into it has ended, or
 * another file has taken its place. The calling thread looks up one shape after the other, about a millisecond each.
 * Launches continue: each is served wholly by the old or wholly by the new answer. Only a shape's first launch may wait
 * for one such look-up. Loaded kernels stay loaded until tw_close. A shape that nothing serves any more fails at its
 * next launch. Without this call only new shapes are looked up. From any thread, with any context current or none; one
 * refresh at a time. TW_ERROR_CACHE if the new file cannot be used: the old state stays in use. */
int tw_refresh(tw_launcher* launcher);

/* Counts the lookups since the launcher was opened by how well the answer fits: a flat JSON object with "exact",
 * "nearest", "default" and "none". "stale" and "same_architecture" (tuned on another GPU of this architecture) count
 * among the first three. A shape counts at its first launch or tw_preload in a context and at an alignment, and again
 * when a refresh looks it up. $TILEWRIGHT_LOG (a file, or "stderr") gets a line for each. The text belongs to the
 * caller: tw_free. From any thread; takes a lock. */
int tw_counts(tw_launcher* launcher, char** json);

/* Tells ranks of a job whether they are served alike, as a flat JSON object: "cache" (the file), "snapshot" ("sha256:"
 * and its hash; null, with "why", if tuners write the file or it has changed since it was read), "pinned" (opened by
 * this hash), "plans" (the number of plans in all contexts) and "plans_digest" (32 digits over the config and binary of
 * each plan: equal if the same shapes were launched, in any order, and are served alike). The first call reads the
 * whole file. The text belongs to the caller: tw_free. From any thread; takes a lock. */
int tw_snapshot(tw_launcher* launcher, char** json);

/* The bytes of workspace that launches of this shape need on a stream, for tw_set_workspace; 0 for most ops. Answers
 * for the device of tw_query, and fails as it does; TW_ERROR_NO_MATCH if nothing serves. From any thread. */
int tw_workspace_bytes(tw_op* op, const int64_t* dims, size_t n_dims, size_t* out);

/* Uses `bytes` at the device address `ptr` (aligned to 256) as workspace for launches on `cu_stream` of the current
 * context, captured graphs included; a launch that needs more fails. CU_STREAM_PER_THREAD is the calling thread's. The
 * caller owns the memory and keeps it while those launches and graphs live. `ptr` NULL: the launcher's own memory
 * again. Call so before destroying the stream, since a later stream may get its handle. Without this call each stream
 * and each captured graph gets workspace when first needed, until tw_close; two executables of one graph share it and
 * must not run at once. From any thread, while launches go on. TW_ERROR_USAGE for a misaligned address,
 * TW_ERROR_DEVICE without a context. */
int tw_set_workspace(tw_launcher* launcher, void* cu_stream, void* ptr, size_t bytes);

/* The library's version, "0.2.0". Valid as long as the library is loaded. */
const char* tw_version(void);

/* Frees text that this library returned. NULL does nothing. From any thread. */
void tw_free(void* text);

/* The error text of the calling thread's last failed call; "" if none failed. Valid until the thread's next failed
 * call; the library owns it. */
const char* tw_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
