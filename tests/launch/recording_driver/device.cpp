// SPDX-License-Identifier: Apache-2.0
// Devices, contexts and memory of the recording driver; NVML too.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/launch/recording_driver/state.hpp"

using namespace recording;
// NOLINTBEGIN(readability-identifier-naming): the names are the driver's.
using tilewright::cuda::DeviceAttribute;

RECORDING_API Result cuInit(unsigned) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuInit"); status != success) return status;
  if (state().devices.empty()) return no_device;
  state().initialized = true;
  return success;
}

RECORDING_API Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return success;
}

RECORDING_API Result cuGetErrorName(Result status, const char** name) {
  switch (status) {
    case success:
      *name = "CUDA_SUCCESS";
      return success;
    case invalid_value:
      *name = "CUDA_ERROR_INVALID_VALUE";
      return success;
    case out_of_memory:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      return success;
    case not_initialized:
      *name = "CUDA_ERROR_NOT_INITIALIZED";
      return success;
    case no_device:
      *name = "CUDA_ERROR_NO_DEVICE";
      return success;
    case invalid_device:
      *name = "CUDA_ERROR_INVALID_DEVICE";
      return success;
    case invalid_image:
      *name = "CUDA_ERROR_INVALID_IMAGE";
      return success;
    case invalid_context:
      *name = "CUDA_ERROR_INVALID_CONTEXT";
      return success;
    case invalid_handle:
      *name = "CUDA_ERROR_INVALID_HANDLE";
      return success;
    case not_found:
      *name = "CUDA_ERROR_NOT_FOUND";
      return success;
    case stream_capture_unsupported:
      *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
      return success;
    case stream_capture_invalidated:
      *name = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
      return success;
    case invalid_cluster_size:
      *name = "CUDA_ERROR_INVALID_CLUSTER_SIZE";
      return success;
    case 700:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      return success;
    case unknown_error:
      *name = "CUDA_ERROR_UNKNOWN";
      return success;
    default:
      return invalid_value;
  }
}

RECORDING_API Result cuGetErrorString(Result status, const char** words) {
  const char* name = nullptr;
  if (cuGetErrorName(status, &name) != success) return invalid_value;
  *words = "recorded words";
  return success;
}

RECORDING_API Result cuDeviceGetCount(int* count) {
  const std::lock_guard lock(state().mutex);
  if (!state().initialized) return not_initialized;
  *count = static_cast<int>(state().devices.size());
  return success;
}

RECORDING_API Result cuDeviceGetName(char* name, int size, int device) {
  const std::lock_guard lock(state().mutex);
  const std::string& text = state().devices.at(static_cast<std::size_t>(device)).name;
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(size) - 1);
  name[size - 1] = '\0';
  return success;
}

RECORDING_API Result cuDeviceGetAttribute(int* value, DeviceAttribute which, int index) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuDeviceGetAttribute"); status != success) return status;
  const Device& device = state().devices.at(static_cast<std::size_t>(index));
  switch (which) {
    case DeviceAttribute::max_threads_per_block:
      *value = 1024;
      return success;
    case DeviceAttribute::multiprocessor_count:
      *value = device.sm_count;
      return success;
    case DeviceAttribute::memory_bus_width:
      *value = 6144;
      return success;
    case DeviceAttribute::l2_cache_size:
      *value = 62914560;
      return success;
    case DeviceAttribute::max_threads_per_multiprocessor:
      *value = 2048;
      return success;
    case DeviceAttribute::compute_capability_major:
      *value = device.compute_capability / 10;
      return success;
    case DeviceAttribute::compute_capability_minor:
      *value = device.compute_capability % 10;
      return success;
    case DeviceAttribute::max_shared_memory_per_multiprocessor:
      *value = 233472;
      return success;
    case DeviceAttribute::max_registers_per_multiprocessor:
      *value = 65536;
      return success;
    case DeviceAttribute::max_shared_memory_per_block_optin:
      *value = 232448;
      return success;
  }
  return invalid_value;
}

RECORDING_API Result cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{140} << 30;
  return success;
}

RECORDING_API Result cuDeviceGetUuid_v2(tilewright::cuda::Uuid* uuid, int device) {
  for (unsigned i = 0; i < 16; ++i)
    uuid->bytes[i] = static_cast<unsigned char>(i + 16U * static_cast<unsigned>(device));
  return success;
}

RECORDING_API Result cuDevicePrimaryCtxRetain(Context* context, int device) {
  const std::lock_guard lock(state().mutex);
  State& all = state();
  if (const Result status = all.ordered("cuDevicePrimaryCtxRetain"); status != success) return status;
  if (device < 0 || device >= static_cast<int>(all.devices.size())) return invalid_device;
  ContextRecord*& record = all.primary[device];
  if (record == nullptr) {
    record = &all.contexts.emplace_back();
    record->id = all.contexts.size();
    record->device = device;
  }
  ++record->retained;
  *context = reinterpret_cast<Context>(record);
  return success;
}

RECORDING_API Result cuDevicePrimaryCtxRelease_v2(int device) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().primary.find(device);
  if (found == state().primary.end()) return invalid_context;
  if (--found->second->retained == 0) state().end_primary(device);
  return success;
}

RECORDING_API Result cuCtxSetCurrent(Context context) {
  set_current(reinterpret_cast<ContextRecord*>(context));
  return success;
}

RECORDING_API Result cuCtxGetCurrent(Context* context) {
  const std::lock_guard lock(state().mutex);
  *context = reinterpret_cast<Context>(state().current());
  return success;
}

RECORDING_API Result cuCtxGetId(Context context, unsigned long long* id) {
  std::unique_lock lock(state().mutex, std::defer_lock);
  if (!state().fast.load(std::memory_order_relaxed)) lock.lock();
  const ContextRecord* record = context != nullptr ? reinterpret_cast<ContextRecord*>(context) : state().current();
  if (record == nullptr) return invalid_context;
  *id = record->id;
  return success;
}

RECORDING_API Result cuCtxGetDevice(int* device) {
  const std::lock_guard lock(state().mutex);
  const ContextRecord* record = state().current();
  if (record == nullptr) return invalid_context;
  *device = record->device;
  return success;
}

RECORDING_API Result cuCtxSynchronize() {
  const std::lock_guard lock(state().mutex);
  return state().ordered("cuCtxSynchronize");
}

RECORDING_API Result cuMemAlloc_v2(Address* address, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuMemAlloc_v2"); status != success) return status;
  if (bytes == 0) return invalid_value;
  if (state().current() == nullptr) return invalid_context;
  const unsigned long long context = state().current()->id;
  auto& ended = state().ended;
  const auto again = std::find_if(ended.begin(), ended.end(), [&](const auto& each) { return each.second >= bytes; });
  if (again != ended.end()) {
    *address = again->first;
    ended.erase(again);
  } else {
    // The driver's alignment.
    void* memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
    if (memory == nullptr) return out_of_memory;
    *address = reinterpret_cast<Address>(memory);
  }
  state().allocations[*address] = {bytes, context};
  return success;
}

RECORDING_API Result cuMemFree_v2(Address address) {
  const std::lock_guard lock(state().mutex);
  if (state().allocations.erase(address) == 0) return invalid_value;
  std::free(reinterpret_cast<void*>(address));
  return success;
}

RECORDING_API Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = std::size_t{100} << 30;
  *total = std::size_t{140} << 30;
  return success;
}

// NVML, which a driver's machine has, too.
RECORDING_API int nvmlInit_v2() {
  const std::lock_guard lock(state().mutex);
  return state().ordered("nvmlInit_v2");
}
RECORDING_API int nvmlShutdown() { return 0; }
RECORDING_API const char* nvmlErrorString(int) { return "recorded words"; }
RECORDING_API int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::strncmp(uuid, "GPU-", 4) != 0) return 6;
  *device = &state();
  return 0;
}
RECORDING_API int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : 3201;
  return 0;
}
RECORDING_API int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 41;
  return 0;
}
RECORDING_API int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 120000;
  return 0;
}
RECORDING_API int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  const std::lock_guard lock(state().mutex);
  *reasons = state().throttle_reasons;
  return 0;
}
RECORDING_API int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void* infos) {
  *count = 2;
  return infos == nullptr ? 7 : 0;
}
// NOLINTEND(readability-identifier-naming)
