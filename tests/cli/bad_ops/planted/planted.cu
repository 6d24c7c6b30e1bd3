// SPDX-License-Identifier: Apache-2.0
//
// y[i] = 2 * x[i], or a fault (see planted.toml).

#include "device/config.cuh"
#include "device/shared.cuh"

namespace planted {

// Twice as many instances a level.
template <int Level, long long Index>
struct Endless {
  static constexpr int value = Endless<Level - 1, 2 * Index>::value + Endless<Level - 1, 2 * Index + 1>::value;
};
template <long long Index>
struct Endless<0, Index> {
  static constexpr int value = 1;
};

template <class Config, bool wanted = Config::fault == 6>
struct Compile {
  static constexpr int value = 0;
};
template <class Config>
struct Compile<Config, true> {
  static constexpr int value = Endless<10 * Config::fault, 0>::value;
};

// All values are needed until the end.
__device__ inline float many_registers(const float* x, long long n) {
  float held[160];
#pragma unroll
  for (int i = 0; i < 160; ++i) held[i] = x[(i * 37 + threadIdx.x) % n];
#pragma unroll 1
  for (int turn = 0; turn < 3; ++turn) {
#pragma unroll
    for (int i = 0; i < 160; ++i) held[i] = held[i] * held[(i + 7) % 160] + held[(i + 31) % 160];
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 160; ++i) sum += held[i];
  return sum;
}

}  // namespace planted

template <class Config>
__global__ void planted_plain(const float* x, float* y, long long n, float* scratch) {
  static_assert(Config::fault != 5, "this one does not compile");
  static_assert(planted::Compile<Config>::value == 0, "never reached");
  const long long first = 1LL * blockIdx.x * blockDim.x + threadIdx.x;
  const long long stride = 1LL * gridDim.x * blockDim.x;
  for (long long i = first; i < n; i += stride) y[i] = 2.0f * x[i];
  if (Config::fault == 1 && first == 0) *reinterpret_cast<volatile float*>(64) = 1.0f;
  if (Config::fault == 2) {
    volatile const float* watched = x;
    for (long long turn = 0; turn >= 0; turn = (turn + 1) % 1000000) static_cast<void>(watched[turn % n]);
  }
  if (Config::fault == 3 && first == 0) y[n + 10] = 1.0f;
  if (Config::fault == 4 && first == n - 1) y[first] = 0.0f;
  if (Config::fault == 7) {
    __shared__ float fixed[10000];
    float* const dynamic = tilewright::shared_storage<float>();
    fixed[threadIdx.x] = x[first % n];
    dynamic[threadIdx.x] = fixed[threadIdx.x];
    scratch[threadIdx.x % 64] = dynamic[threadIdx.x];
  }
  if (Config::fault == 8) scratch[threadIdx.x % 64] = planted::many_registers(x, n);
  if (Config::fault == 9 && first == 0) scratch[1000] = 1.0f;
  if (Config::fault == 10 && first == 0) {
    for (long long i = 2048; i < 1 << 18; ++i) y[n + i] = -1.0f;
  }
}

template <class Config>
__global__ void planted_reference(const float* x, double* y, long long n) {
  const long long stride = 1LL * gridDim.x * blockDim.x;
  for (long long i = 1LL * blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = 2.0 * x[i];
}
