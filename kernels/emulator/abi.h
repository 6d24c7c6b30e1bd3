// SPDX-License-Identifier: Apache-2.0
#pragma once

// The contract between an emulator module (a kernel compiled by the host C++ compiler, loaded as a shared object) and
// the runtime in tuner/device/cpu that runs it: the runtime's view of the running thread, its functions, and the table
// of entries that a module returns.
//
// Every CUDA thread is a fiber. All stacks of a launch lie in one window of kWindowBytes, aligned to its size, whose
// first word points at the running thread. So one mask and one load find the running thread from any stack address,
// without thread-local storage. No function of the runtime throws. This header includes nothing, because each kernel's
// compilation reads it again.

namespace tilewright::emulator {

// Part of the name of each compiled module: raised if a change under kernels/emulator changes what a module does.
inline constexpr unsigned kAbiVersion = 1;
inline constexpr unsigned long long kWindowBytes = 1ull << 32;
inline constexpr int kWarpLanes = 32;

// The source line of a call, for reports.
struct Site {
  const char* file;
  unsigned line;
  static constexpr Site here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

struct Index3 {
  unsigned x, y, z;
};

// The facts that a launch's threads share; BlockView: that a block's threads share.
struct LaunchView {
  Index3 grid, block, cluster;
};

struct BlockView {
  Index3 index;  // of the block in the grid
  Index3 index_in_cluster;
  unsigned rank;          // of the block in its cluster
  unsigned char* shared;  // dynamic shared memory, aligned to 1024 bytes
  unsigned long long shared_bytes;
};

struct ThreadView {
  Index3 index;  // of the thread in its block
  unsigned lane;
  const BlockView* block;
  const LaunchView* launch;
  unsigned credit;  // atomics left until the thread yields, so that a spinning thread does not block the others
};

enum class BarrierOp : unsigned { kSync, kArrive, kCount, kAnd, kOr };

// Why a thread ended the launch.
enum class Fault : unsigned {
  kMisaligned,   // a vector access at an address that is no multiple of its size
  kBadMask,      // a warp function called by a lane that its mask does not name
  kBadBarrier,   // an mbarrier or barrier used against its rules
  kUnsupported,  // a feature that the emulator does not model
  kOutOfRange,   // a static array used beyond its end
  kTrap,         // __trap() or a failed assert()
};

// Called once by the last lane to arrive, with each present lane's payload (null for absent lanes).
using Combine = void (*)(void* const* payloads, unsigned present);

struct Runtime {
  // Block barriers. A count of 0 means all threads of the block. Returns the result of __syncthreads_count, _and or
  // _or; 0 for the others.
  unsigned (*barrier)(BarrierOp op, unsigned id, unsigned count, int predicate, Site site);
  // A function of a warp: waits until all living lanes of `mask` have called it with the same mask and combine.
  void (*collective)(unsigned mask, void* payload, Combine combine, Site site);
  // Lets other threads run, and refills the caller's credit.
  void (*yield)();
  // Ends the launch; does not return.
  void (*fault)(Fault fault, const volatile void* address, const char* what, Site site);

  // cp.async: poisons `to` now and copies at the wait. Bytes from source_bytes on become zero.
  void (*copy_async)(void* to, const void* from, unsigned bytes, unsigned source_bytes);
  void (*copy_async_commit)();
  void (*copy_async_wait)(unsigned groups_left);

  // mbarriers live in their 8 bytes of shared memory, as on the GPU.
  void (*mbarrier_init)(unsigned long long* barrier, unsigned count, Site site);
  void (*mbarrier_invalidate)(unsigned long long* barrier, Site site);
  void (*mbarrier_arrive)(unsigned long long* barrier, unsigned count, Site site);
  void (*mbarrier_expect_tx)(unsigned long long* barrier, unsigned bytes, Site site);
  // Whether the phase of that parity has completed. Waits for it if `blocking`; else yields once.
  bool (*mbarrier_wait)(unsigned long long* barrier, unsigned parity, bool blocking, Site site);

  // Bulk copies. A load completes when a wait on `barrier` asks for it, a store at its group's wait.
  void (*bulk_load)(void* to, const void* from, unsigned bytes, unsigned long long* barrier, Site site);
  void (*bulk_store)(void* to, const void* from, unsigned bytes, Site site);
  void (*bulk_commit)();
  void (*bulk_wait)(unsigned groups_left, bool read_only);
  // st.async: as bulk_load, for a value.
  void (*store_async)(void* to, const void* value, unsigned bytes, unsigned long long* barrier, Site site);

  // Clusters. map_shared translates an address of the caller's shared memory to the block of that rank.
  void (*cluster_arrive)(Site site);
  void (*cluster_wait)(Site site);
  void* (*map_shared)(const void* address, unsigned rank, Site site);

  // As bulk_store, but adds floats to those of the destination.
  void (*bulk_add)(float* to, const float* from, unsigned bytes, Site site);
};

// One kernel of a module. `invoke` calls it with params[i] pointing at the value of parameter i.
struct Entry {
  const char* name;
  void (*invoke)(void** params);
  unsigned param_count;
};

struct Module {
  unsigned abi_version;
  unsigned entry_count;
  const Entry* entries;
  // Allocates the calling OS thread's copy of the module's static __shared__ variables.
  void (*touch_static_shared)();
};

// The only symbol that a module exports; called once, at load.
using ModuleFunction = const Module* (*)(const Runtime* runtime);
inline constexpr const char* kModuleSymbol = "tilewright_emulator_module";

// The running thread. The caller must run on a fiber.
inline __attribute__((always_inline)) ThreadView& this_thread() {
  const unsigned long long stack = reinterpret_cast<unsigned long long>(__builtin_frame_address(0));
  return **reinterpret_cast<ThreadView**>(stack & ~(kWindowBytes - 1));
}

}  // namespace tilewright::emulator
