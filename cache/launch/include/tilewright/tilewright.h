/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TILEWRIGHT_H
#define TILEWRIGHT_TILEWRIGHT_H

#include <stddef.h>
#include <stdint.h>

/* The launch library of Tilewright, for C and through it for every other language. It launches the fastest kernel that
 * a cache knows for a shape, on any shape, without compiler or tuning at run time. C++ programs include
 * <tilewright/launch.hpp>, a thin layer over this header.
 *
 * A launcher reads one cache. An op of it (softmax in bf16, say) launches on streams of the CUDA context that is
 * current on the calling thread. The first launch of a shape reads the cache and loads the kernel. A later one takes no
 * lock, allocates nothing and reads no file; only ops with workspace (tw_workspace_bytes) take a lock of their
 * stream's.
 *
 * Errors: a function that returns int returns TW_OK (0) or one of the codes below; tw_last_error() then says what was
 * being done, to what, and why it failed. Nothing is thrown across this interface. A null pointer where none is allowed
 * is TW_ERROR_USAGE. After a failure, `out` or `json` is null or 0.
 *
 * Processes: a child made by fork has no launcher. There a call with a launcher of its parent is TW_ERROR_DEVICE, and
 * tw_close does nothing. The child opens its own.
 *
 * Threads: any number of threads may use one launcher and one op at the same time, on any streams, contexts and
 * devices, tw_refresh included. Only tw_close must wait until no other call is running.
 *
 * Ownership: a launcher belongs to the caller until tw_close. An op belongs to its launcher. Text that is returned
 * through `char**` belongs to the caller, who gives it to tw_free. */

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
  TW_ERROR_INTERFACE = 5, /* the op's arguments are not the ones that the application was written for */
  TW_ERROR_INTERNAL = 6   /* out of host memory, or a mistake of this library */
};

/* The options of tw_open_with. Set them to zero, then `size`, then the fields that differ from the default:
 *   tw_options options = {0};
 *   options.size = sizeof options;
 * Zero is the default of every field. A program that was built with another version of this header may pass its options
 * here: fields that it lacks are zero, and fields that this library lacks must be zero. */
typedef struct tw_options {
  /* sizeof(tw_options) of the program: tells the library which fields it has. */
  size_t size;
  /* The cache file, or a bundle (`tilewright export --bundle`): the file tells which. NULL: $TILEWRIGHT_CACHE, else
   * $XDG_CACHE_HOME/tilewright/cache.db, else ~/.cache/tilewright/cache.db. */
  const char* cache;
  /* The device that tw_query and tw_workspace_bytes answer for: a fingerprint as `tilewright list devices` prints it,
   * its name ("NVIDIA H200") where that names one device of the cache, "cpu", or "cuda:N" for a GPU of this machine. It
   * needs no GPU here. NULL: the GPU of the current context, else cuda:0. Launches always use the current context's. */
  const char* device;
  /* Not 0: use the cache even where other users can write it. Its binaries run on the GPU with this program's rights,
   * so such a cache is refused otherwise. The environment variable TILEWRIGHT_ALLOW_SHARED_CACHE=1 does the same. */
  int allow_shared_cache;
  /* The file of misses, for `tilewright sweep --misses`. A miss is a shape of a launch or tw_preload without an exact
   * winner for this GPU in cache and fallback; it is written at the shape's first launch. A file that cannot be used
   * fails no launch. "off": none. NULL: $TILEWRIGHT_MISSES, else $XDG_CACHE_HOME/tilewright/misses, else
   * ~/.cache/tilewright/misses. */
  const char* misses;
  /* Milliseconds between looks for a newer cache: a thread of the launcher then does as tw_refresh. A cache that cannot
   * be used leaves the old state, and tw_refresh says why. 0: tw_refresh alone. */
  int watch_ms;
  /* A second cache or bundle, opened at its first need. It serves what the cache cannot launch on this GPU, shapes that
   * it fits better (docs/untuned.md), and everything while the cache is missing, damaged, of another version or
   * writable by others. tw_query names the file that serves, and why. tw_refresh tries an unusable file again. NULL:
   * the shipped winners (docs/launch.md) if `cache` is NULL and $TILEWRIGHT_CACHE is not set, else none. */
  const char* fallback;
  /* Not 0: a thread of the launcher compiles configs that would serve untuned shapes better, at most 1024, and serves
   * them from then on; no launch waits. Needs libtilewright-jit.so, NVRTC, and the sources of the ops that the cache
   * was tuned with. Opening fails (TW_ERROR_USAGE) without the library; tw_query reports missing NVRTC and sources. */
  int jit;
  /* For jit: folders of ops, separated by ':', searched before the built-in ones. NULL: none. */
  const char* ops;
  /* "sha256:" and 64 digits: opens the snapshot with this hash and no other, so that all ranks of a job have the same.
   * It is snapshots/HASH.db beside the cache, where `tilewright pull` keeps it, else the cache itself. The file is read
   * whole; opening fails (TW_ERROR_CACHE) where none has the hash, also with a fallback. Nothing newer is taken up:
   * watch_ms and tw_refresh do nothing. NULL: $TILEWRIGHT_SNAPSHOT, else none. */
  const char* snapshot;
} tw_options;

/* Opens a cache. `cache_path` is as in tw_options. The launcher in `*out` belongs to the caller, who ends it with
 * tw_close. Needs no GPU and no driver. From any thread. TW_ERROR_CACHE when neither the cache nor a fallback can be
 * used. TW_ERROR_USAGE for options of an impossible size or of a later version, for a device that the cache does not
 * have, for watch_ms < 0, and for jit where its library cannot be loaded. */
int tw_open(const char* cache_path, tw_launcher** out);
int tw_open_with(const tw_options* options, tw_launcher** out);

/* Closes a launcher: its ops end with it, loaded kernels are freed, and so are the workspaces of the current context
 * (those of another end with that context). No other call of the launcher or its ops may be running or come later. All
 * launches that use them must be done on the device, and no captured graph that holds one may be launched again. Waits
 * for a compile of tw_options.jit that is under way. NULL does nothing. */
void tw_close(tw_launcher* launcher);

/* Finds the op that `spec` names: "softmax[dtype=bf16]", "gemm[dtype=bf16,act=gelu]". Omitted attributes take their
 * defaults. The same spec gives the same op, which belongs to the launcher and ends with tw_close.
 * "softmax@INTERFACE[dtype=bf16]", with the 32 digits that tw_op_describe gives, is refused (TW_ERROR_INTERFACE) unless
 * the op's dims and arguments are those that the application was written for. TW_ERROR_USAGE for an op, dtype,
 * attribute or value that the cache does not know, with the nearest name. From any thread; takes a lock. */
int tw_op_get(tw_launcher* launcher, const char* spec, tw_op** out);

/* Describes the op as JSON: "op", "spec", "interface", "dims" (names in call order), "bucketed" (dims of which one plan
 * serves all extents of a bucket, if there are any), and "args": each argument's "name", "role" (in, out, inout,
 * scalar), "type" (bf16, f32, i64...) and "bytes" of one element. A tensor also has "shape" (its extents as formulas
 * over the dims, slowest first), "align" (its address is a multiple of so many bytes) and "alias" (the inputs that it
 * may be). If its rows may lie apart it has "pitch", the name of the scalar with the elements from one row's start to
 * the next's, or "strides", the names for each extent but the last. The text belongs to the caller: tw_free. From any
 * thread. */
int tw_op_describe(tw_op* op, char** json);

/* Finds the dims of a call from the extents of its tensors: shapes[i] points at the ranks[i] extents of the i-th
 * argument, slowest first; those of scalars are not read. A tensor with more extents than the op gives it has its
 * leading ones multiplied: {batch, rows, cols} is {batch * rows, cols}. `dims` takes n_dims numbers, as many as the op
 * has. TW_ERROR_USAGE when tensors disagree, when one has too few extents, when a dim is < 1 or does not follow from
 * them, and when n_args or n_dims is not the op's. From any thread; reads no file. Keep the answer for shapes that
 * recur. */
int tw_op_dims(tw_op* op, const int64_t* const* shapes, const size_t* ranks, size_t n_args, int64_t* dims,
               size_t n_dims);

/* Launches on `cu_stream` (a CUstream or cudaStream_t; NULL: the legacy default stream) of the calling thread's current
 * context, also while the stream captures a graph. `dims` and `args` are in the definition's order; args[i] points at
 * the i-th argument's value, a device address or a scalar of the type that tw_op_describe gives, which is copied. The
 * launch is asynchronous. The first one of a shape in a context takes a lock and reads the cache. From any thread.
 * A launch that fails has begun nothing on the device, unless the driver fails between the kernels of one config.
 * TW_ERROR_USAGE for wrong dims, arguments or strides, TW_ERROR_NO_MATCH when nothing serves them, TW_ERROR_CACHE when
 * something could not be read besides, TW_ERROR_DEVICE without a context or when the driver fails. */
int tw_launch(tw_op* op, void* cu_stream, const int64_t* dims, size_t n_dims, void* const* args, size_t n_args);

/* Tells what serves a launch of this shape with fully aligned arguments, as a flat JSON object: "config", how well it
 * fits ("fit", "freshness", "device_fit"), its times and their source, or "why" nothing serves. docs/launch.md lists
 * the fields ("The answer of a query"). Needs no GPU when the options name a device. The text belongs to the caller:
 * tw_free. From any thread; takes a lock. TW_ERROR_USAGE for wrong dims or an unknown device, TW_ERROR_DEVICE when no
 * device is named and the machine has none. */
int tw_query(tw_op* op, const int64_t* dims, size_t n_dims, char** json);

/* Loads the kernel of this shape with fully aligned arguments into the current context, so that its first launch is as
 * quick as any other. Allocates workspace, if the op needs any, for one more stream or captured graph. From any thread;
 * takes a lock. Fails as tw_launch does. */
int tw_preload(tw_op* op, const int64_t* dims, size_t n_dims);

/* Looks up all launched and preloaded shapes again, if winners of the cache have changed, a sweep into it has ended, or
 * another file has taken its place. The calling thread looks up one shape after the other, about a millisecond each.
 * Other launches go on: each is served wholly as before or wholly as the cache says now. Only a shape's first launch
 * may wait for one such look-up. Loaded kernels stay loaded until tw_close. A shape that nothing serves any more fails
 * at its next launch. Without this call only new shapes are looked up. From any thread, with any context current or
 * none; one refresh at a time. TW_ERROR_CACHE when the new file cannot be used: all is served as before, and the error
 * says why. */
int tw_refresh(tw_launcher* launcher);

/* Counts the lookups since the launcher was opened by how well the answer fits: a flat JSON object with "exact",
 * "nearest", "default" and "none", and of the first three "stale" and "same_architecture" (of another GPU of this
 * one's). A shape counts at its first launch or tw_preload in a context and at an alignment, and again when a refresh
 * looks it up. $TILEWRIGHT_LOG (a file, or "stderr") has a line for each. The text belongs to the caller: tw_free. From
 * any thread; takes a lock. */
int tw_counts(tw_launcher* launcher, char** json);

/* Tells ranks of a job whether they are served alike, as a flat JSON object: "cache" (the file), "snapshot" ("sha256:"
 * and its hash; null with "why" if tuners write the file or it has changed since it was read), "pinned" (it was opened
 * by this hash), "plans" (the number of the launcher's plans, in all contexts) and "plans_digest" (32 digits over the
 * config and binary of each plan: equal if the same shapes were launched and are served alike, in any order). Reads
 * the whole file the first time. The text belongs to the caller: tw_free. From any thread; takes a lock. */
int tw_snapshot(tw_launcher* launcher, char** json);

/* Tells the bytes of workspace that launches of this shape need on a stream, for tw_set_workspace; 0 for most ops.
 * Answers for the device of tw_query, and fails as it does; TW_ERROR_NO_MATCH when nothing serves. From any thread. */
int tw_workspace_bytes(tw_op* op, const int64_t* dims, size_t n_dims, size_t* out);

/* Uses `bytes` at the device address `ptr` (aligned to 256) as workspace for launches on `cu_stream` of the current
 * context, captured graphs included; a launch that needs more fails. The caller owns the memory and keeps it while
 * those launches and graphs live. `ptr` NULL: the launcher's own memory again; call so before destroying the stream,
 * since a later stream may get its handle. Without this call each stream and each captured graph gets workspace at its
 * first need, until tw_close; two executables of one graph share it and must not run at one time. From any thread,
 * while launches go on. TW_ERROR_USAGE for an address that is not aligned, TW_ERROR_DEVICE without a context. */
int tw_set_workspace(tw_launcher* launcher, void* cu_stream, void* ptr, size_t bytes);

/* The library's version, "0.2.0". Valid as long as the library is loaded. */
const char* tw_version(void);

/* Frees text that this library returned. NULL does nothing. From any thread. */
void tw_free(void* text);

/* The error text of the calling thread's last failed call; "" when none failed. Valid until the thread's next failed
 * call; the library owns it. */
const char* tw_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
