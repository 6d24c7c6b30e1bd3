// SPDX-License-Identifier: Apache-2.0
//
// y[r][c] = x[r][c] · x[r][0], one block a row.

#include "device/config.cuh"
#include "device/convert.cuh"

template <class Config>
__global__ void rescale_rowwise(typename Config::dtype* x, typename Config::dtype* y, long long x_pitch,
                                long long y_pitch, long long rows, long long cols) {
  using namespace tilewright;
  using T = typename Config::dtype;
  if (x_pitch == 0 || Config::fault == 4) x_pitch = cols;
  if (y_pitch == 0 || Config::fault == 4) y_pitch = cols;
  const long long last = Config::fault == 3 ? cols - 1 : cols;
  for (long long r = blockIdx.x; r < rows; r += gridDim.x) {
    T* const from = x + r * x_pitch;
    T* const to = y + r * y_pitch;
    const float first = to_float(from[0]);
    __syncthreads();
    for (long long c = threadIdx.x; c < last; c += 32) {
      // In place, the first element has changed before the last ones read it.
      const float factor = Config::fault == 6 && c >= 32 ? to_float(from[0]) : first;
      to[c] = from_float<T>(to_float(from[c]) * factor);
      if (Config::fault == 6) __syncwarp();
    }
    if (threadIdx.x != 0 || r + 1 == rows) continue;
    if (Config::fault == 1 && y_pitch > cols) to[cols] = from_float<T>(1.0f);
    if (Config::fault == 2 && y_pitch > cols) to[cols + 1] = from_float<T>(kInfinity - kInfinity);
    if (Config::fault == 5 && x_pitch > cols) from[cols + 2] = from_float<T>(1.0f);
    if (Config::fault == 7 && x_pitch > cols) to[0] = from_float<T>(to_float(to[0]) + 0.0f * to_float(from[cols]));
  }
}

template <class Config>
__global__ void rescale_reference(const typename Config::dtype* x, double* y, long long x_pitch, long long y_pitch,
                                  long long rows, long long cols) {
  using tilewright::to_float;
  if (x_pitch == 0) x_pitch = cols;
  if (y_pitch == 0) y_pitch = cols;
  for (long long i = threadIdx.x; i < rows * cols; i += blockDim.x) {
    const long long r = i / cols, c = i % cols;
    y[r * y_pitch + c] = double{to_float(x[r * x_pitch + c])} * double{to_float(x[r * x_pitch])};
  }
}

// Treats the rows of y as dense.
template <class Config>
__global__ void rescale_careless(const typename Config::dtype* x, double* y, long long x_pitch, long long,
                                 long long rows, long long cols) {
  for (long long i = threadIdx.x; i < rows * cols; i += blockDim.x) y[i] = tilewright::to_float(x[i % x_pitch]);
}
