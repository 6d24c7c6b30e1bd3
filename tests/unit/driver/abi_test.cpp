// SPDX-License-Identifier: Apache-2.0
// The declarations of the driver's ABI against NVIDIA's header, if a toolkit is installed.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "cache/driver/driver_table.hpp"

namespace tilewright::cuda {
namespace {

static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) >= alignof(CUtensorMap));
static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(Address) == sizeof(CUdeviceptr) && sizeof(DeviceId) == sizeof(CUdevice));

template <auto Ours, auto Theirs>
constexpr bool kSame = static_cast<int>(Ours) == static_cast<int>(Theirs);
static_assert(kSame<LaunchAttribute::Id::cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION>);
static_assert(kSame<LaunchAttribute::Id::programmatic_stream_serialization,
                    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION>);
static_assert(kSame<DeviceAttribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK>);
static_assert(kSame<DeviceAttribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT>);
static_assert(kSame<DeviceAttribute::memory_bus_width, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH>);
static_assert(kSame<DeviceAttribute::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE>);
static_assert(
    kSame<DeviceAttribute::max_threads_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR>);
static_assert(kSame<DeviceAttribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR>);
static_assert(kSame<DeviceAttribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR>);
static_assert(kSame<DeviceAttribute::max_shared_memory_per_multiprocessor,
                    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR>);
static_assert(
    kSame<DeviceAttribute::max_registers_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR>);
static_assert(
    kSame<DeviceAttribute::max_shared_memory_per_block_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN>);
static_assert(kSame<FunctionAttribute::max_dynamic_shared_size_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES>);
static_assert(
    kSame<FunctionAttribute::non_portable_cluster_size_allowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED>);
static_assert(kSame<kErrorNoDevice, CUDA_ERROR_NO_DEVICE>);
static_assert(kSame<kErrorNotFound, CUDA_ERROR_NOT_FOUND>);
static_assert(kSame<kErrorNotReady, CUDA_ERROR_NOT_READY>);
static_assert(kSame<8, CU_TENSOR_MAP_DATA_TYPE_FLOAT64> && kSame<9, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16>);
static_assert(kSame<6, CU_TENSOR_MAP_DATA_TYPE_FLOAT16> && kSame<7, CU_TENSOR_MAP_DATA_TYPE_FLOAT32>);
static_assert(kSame<4, CU_TENSOR_MAP_DATA_TYPE_UINT64> && kSame<5, CU_TENSOR_MAP_DATA_TYPE_INT64>);
static_assert(kSame<2, CU_TENSOR_MAP_DATA_TYPE_UINT32> && kSame<3, CU_TENSOR_MAP_DATA_TYPE_INT32>);
static_assert(kSame<0, CU_TENSOR_MAP_DATA_TYPE_UINT8> && kSame<2, CU_TENSOR_MAP_L2_PROMOTION_L2_128B>);
static_assert(kSame<1, CU_TENSOR_MAP_SWIZZLE_32B> && kSame<3, CU_TENSOR_MAP_SWIZZLE_128B>);
static_assert(kSame<1, CU_STREAM_NON_BLOCKING> && kSame<1, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL>);

static_assert(kSame<1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC> && kSame<1, CU_GRAPH_USER_OBJECT_MOVE>);
static_assert(std::is_same_v<CUhostFn, void (*)(void*)>);

TEST(DriverAbi, attribute_values_lie_where_the_driver_reads_them) {
  LaunchAttribute ours{};
  ours.value.cluster = {2, 3, 4};
  CUlaunchAttribute theirs{};
  std::memcpy(&theirs, &ours, sizeof theirs);
  EXPECT_EQ(theirs.value.clusterDim.x, 2U);
  EXPECT_EQ(theirs.value.clusterDim.y, 3U);
  EXPECT_EQ(theirs.value.clusterDim.z, 4U);
  ours.value.allowed = 1;
  std::memcpy(&theirs, &ours, sizeof theirs);
  EXPECT_EQ(theirs.value.programmaticStreamSerializationAllowed, 1);
}

}  // namespace
}  // namespace tilewright::cuda
