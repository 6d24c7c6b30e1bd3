// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/driver/cuda.hpp"
#include "cache/driver/shared_library.hpp"

/// The driver entry points that Tilewright uses, one line each, with the types and numbers of the driver's ABI that
/// they need. Declared here so that the build needs no cuda.h; tests/unit/driver compares them with NVIDIA's header. A
/// table is filled once, then read by any thread.
namespace tilewright::cuda {

using Result = int;
using DeviceId = int;

inline constexpr Result kSuccess = 0;
inline constexpr Result kErrorNoDevice = 100;
inline constexpr Result kErrorNotFound = 500;
inline constexpr Result kErrorNotReady = 600;

/// CUdevice_attribute
enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  multiprocessor_count = 16,
  memory_bus_width = 37,
  l2_cache_size = 38,
  max_threads_per_multiprocessor = 39,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  max_shared_memory_per_block_optin = 97,
};

/// CUfunction_attribute
enum class FunctionAttribute : int {
  max_dynamic_shared_size_bytes = 8,
  non_portable_cluster_size_allowed = 14,
};

/// CUlaunchAttribute, with the two kinds in use.
struct LaunchAttribute {
  enum class Id : int { cluster_dimension = 4, programmatic_stream_serialization = 6 };
  Id id;
  int padding;
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int allowed;
  } value;
};

/// CUlaunchConfig
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream stream;
  /// The driver only reads it, but declares it without const.
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// CUtensorMap: opaque, given to a kernel by value.
struct alignas(128) TensorMap {
  std::uint64_t words[16];
};

struct Uuid {
  unsigned char bytes[16];
};

template <class Signature>
class Api;

/// One entry point: callable, and carries its name for error texts.
template <class... Arguments>
class Api<Result(Arguments...)> {
 public:
  Api(SharedLibrary& library, const char* name) : name_(name), function_(library.find<Result(Arguments...)>(name)) {}
  Result operator()(Arguments... arguments) const noexcept { return function_(arguments...); }
  [[nodiscard]] const char* name() const noexcept { return name_; }

 private:
  const char* name_;
  Result (*function_)(Arguments...);
};

struct DriverTable {
  explicit DriverTable(SharedLibrary& opened) : library(opened) {}

  SharedLibrary& library;  // NOLINT: declared first, since every entry below looks itself up in it

  Api<Result(unsigned)> init{library, "cuInit"};
  Api<Result(int*)> driver_get_version{library, "cuDriverGetVersion"};
  Api<Result(Result, const char**)> get_error_name{library, "cuGetErrorName"};
  Api<Result(Result, const char**)> get_error_string{library, "cuGetErrorString"};

  Api<Result(int*)> device_get_count{library, "cuDeviceGetCount"};
  Api<Result(char*, int, DeviceId)> device_get_name{library, "cuDeviceGetName"};
  Api<Result(int*, DeviceAttribute, DeviceId)> device_get_attribute{library, "cuDeviceGetAttribute"};
  Api<Result(std::size_t*, DeviceId)> device_total_mem{library, "cuDeviceTotalMem_v2"};
  Api<Result(Uuid*, DeviceId)> device_get_uuid{library, "cuDeviceGetUuid_v2"};

  Api<Result(Context*, DeviceId)> primary_ctx_retain{library, "cuDevicePrimaryCtxRetain"};
  Api<Result(DeviceId)> primary_ctx_release{library, "cuDevicePrimaryCtxRelease_v2"};
  Api<Result(Context)> ctx_set_current{library, "cuCtxSetCurrent"};
  Api<Result(Context*)> ctx_get_current{library, "cuCtxGetCurrent"};
  Api<Result(DeviceId*)> ctx_get_device{library, "cuCtxGetDevice"};
  Api<Result()> ctx_synchronize{library, "cuCtxSynchronize"};

  Api<Result(Address*, std::size_t)> mem_alloc{library, "cuMemAlloc_v2"};
  Api<Result(Address)> mem_free{library, "cuMemFree_v2"};
  Api<Result(std::size_t*, std::size_t*)> mem_get_info{library, "cuMemGetInfo_v2"};
  Api<Result(Address, const void*, std::size_t)> memcpy_htod{library, "cuMemcpyHtoD_v2"};
  Api<Result(void*, Address, std::size_t)> memcpy_dtoh{library, "cuMemcpyDtoH_v2"};
  Api<Result(Address, const void*, std::size_t, Stream)> memcpy_htod_async{library, "cuMemcpyHtoDAsync_v2"};
  Api<Result(void*, Address, std::size_t, Stream)> memcpy_dtoh_async{library, "cuMemcpyDtoHAsync_v2"};
  Api<Result(Address, Address, std::size_t, Stream)> memcpy_dtod_async{library, "cuMemcpyDtoDAsync_v2"};
  Api<Result(Address, unsigned char, std::size_t, Stream)> memset_d8_async{library, "cuMemsetD8Async"};

  Api<Result(Stream*, unsigned)> stream_create{library, "cuStreamCreate"};
  Api<Result(Stream)> stream_destroy{library, "cuStreamDestroy_v2"};
  Api<Result(Stream)> stream_synchronize{library, "cuStreamSynchronize"};
  Api<Result(Stream)> stream_query{library, "cuStreamQuery"};
  Api<Result(Stream, int)> stream_begin_capture{library, "cuStreamBeginCapture_v2"};
  Api<Result(Stream, Graph*)> stream_end_capture{library, "cuStreamEndCapture"};
  Api<Result(Stream, int*, unsigned long long*, Graph*, const void**, std::size_t*)> stream_get_capture_info{
      library, "cuStreamGetCaptureInfo_v2"};
  Api<Result(Stream, unsigned long long*)> stream_get_id{library, "cuStreamGetId"};
  Api<Result(int*)> thread_exchange_capture_mode{library, "cuThreadExchangeStreamCaptureMode"};
  Api<Result(Event*, unsigned)> event_create{library, "cuEventCreate"};
  Api<Result(Event)> event_destroy{library, "cuEventDestroy_v2"};
  Api<Result(Event, Stream)> event_record{library, "cuEventRecord"};
  Api<Result(Event)> event_query{library, "cuEventQuery"};
  Api<Result(Event)> event_synchronize{library, "cuEventSynchronize"};
  Api<Result(float*, Event, Event)> event_elapsed_time{library, "cuEventElapsedTime"};

  Api<Result(GraphExec*, Graph, unsigned long long)> graph_instantiate{library, "cuGraphInstantiateWithFlags"};
  Api<Result(GraphExec, Stream)> graph_upload{library, "cuGraphUpload"};
  Api<Result(GraphExec, Stream)> graph_launch{library, "cuGraphLaunch"};
  Api<Result(Graph)> graph_destroy{library, "cuGraphDestroy"};
  Api<Result(GraphExec)> graph_exec_destroy{library, "cuGraphExecDestroy"};

  Api<Result(Library*, const void*, int*, void**, unsigned, int*, void**, unsigned)> library_load_data{
      library, "cuLibraryLoadData"};
  Api<Result(Library)> library_unload{library, "cuLibraryUnload"};
  Api<Result(Kernel*, Library, const char*)> library_get_kernel{library, "cuLibraryGetKernel"};
  Api<Result(Function*, Kernel)> kernel_get_function{library, "cuKernelGetFunction"};
  Api<Result(Function, FunctionAttribute, int)> func_set_attribute{library, "cuFuncSetAttribute"};
  Api<Result(int*, Function, int, std::size_t)> occupancy_max_active_blocks{
      library, "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  Api<Result(int*, Function, const LaunchConfig*)> occupancy_max_active_clusters{library,
                                                                                 "cuOccupancyMaxActiveClusters"};
  // Each launch makes these two calls: they stand side by side.
  Api<Result(Context, unsigned long long*)> ctx_get_id{library, "cuCtxGetId"};
  Api<Result(const LaunchConfig*, Function, void**, void**)> launch_kernel_ex{library, "cuLaunchKernelEx"};
  Api<Result(TensorMap*, int, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*, const std::uint32_t*,
             const std::uint32_t*, int, int, int, int)>
      tensor_map_encode_tiled{library, "cuTensorMapEncodeTiled"};
  Api<Result(TensorMap*, void*)> tensor_map_replace_address{library, "cuTensorMapReplaceAddress"};

  // Entry points of newer drivers; null if this one lacks them.
  using GetKernelCount = Result(unsigned*, Library);
  using EnumerateKernels = Result(Kernel*, unsigned, Library);
  using KernelGetName = Result(const char**, Kernel);
  GetKernelCount* library_get_kernel_count = library.find_optional<GetKernelCount>("cuLibraryGetKernelCount");
  EnumerateKernels* library_enumerate_kernels = library.find_optional<EnumerateKernels>("cuLibraryEnumerateKernels");
  KernelGetName* kernel_get_name = library.find_optional<KernelGetName>("cuKernelGetName");

  // User objects of graphs report a graph's end; null if this driver lacks them.
  using UserObjectCreate = Result(UserObject*, void*, void (*)(void*), unsigned, unsigned);
  using UserObjectRelease = Result(UserObject, unsigned);
  using GraphRetainUserObject = Result(Graph, UserObject, unsigned, unsigned);
  UserObjectCreate* user_object_create = library.find_optional<UserObjectCreate>("cuUserObjectCreate");
  UserObjectRelease* user_object_release = library.find_optional<UserObjectRelease>("cuUserObjectRelease");
  GraphRetainUserObject* graph_retain_user_object =
      library.find_optional<GraphRetainUserObject>("cuGraphRetainUserObject");
};

}  // namespace tilewright::cuda
