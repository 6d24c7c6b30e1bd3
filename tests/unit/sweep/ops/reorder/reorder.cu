// SPDX-License-Identifier: Apache-2.0
//
// y[b][t][h][d] = 2 · x[b][t][h][d], one thread an element, in one block.

#include "device/config.cuh"
#include "device/convert.cuh"

template <class Config>
__global__ void reorder_rows(const typename Config::dtype* x, typename Config::dtype* y, long long x_batch,
                             long long x_token, long long x_head, long long y_batch, long long y_token,
                             long long y_head, long long nb, long long nt, long long nh, long long nd) {
  using namespace tilewright;
  using T = typename Config::dtype;
  if (Config::fault == 4) y_head = nd, y_token = nh * nd, y_batch = nt * nh * nd;
  const long long all = nb * nt * nh * nd;
  for (long long i = threadIdx.x; i < all; i += blockDim.x) {
    const long long d = i % nd, h = i / nd % nh, t = i / nd / nh % nt, b = i / nd / nh / nt;
    T* const to = y + b * y_batch + t * y_token + h * y_head + d;
    if (Config::fault == 3 && i + 1 == all) continue;
    *to = from_float<T>(2.0f * to_float(x[b * x_batch + t * x_token + h * x_head + d]));
    if (Config::fault == 1 && d + 1 == nd && i + 1 != all) to[1] = from_float<T>(1.0f);
    if (Config::fault == 2 && d + 1 == nd && t + 1 == nt && h + 1 == nh && b + 1 != nb) to[12] = from_float<T>(1.0f);
  }
}

template <class Config>
__global__ void reorder_reference(const typename Config::dtype* x, double* y, long long x_batch, long long x_token,
                                  long long x_head, long long y_batch, long long y_token, long long y_head,
                                  long long nb, long long nt, long long nh, long long nd) {
  for (long long i = threadIdx.x; i < nb * nt * nh * nd; i += blockDim.x) {
    const long long d = i % nd, h = i / nd % nh, t = i / nd / nh % nt, b = i / nd / nh / nt;
    y[b * y_batch + t * y_token + h * y_head + d] =
        2.0 * double{tilewright::to_float(x[b * x_batch + t * x_token + h * x_head + d])};
  }
}

// Writes each third element.
template <class Config>
__global__ void reorder_sampled(const typename Config::dtype* x, double* y, long long x_batch, long long x_token,
                                long long x_head, long long y_batch, long long y_token, long long y_head, long long nb,
                                long long nt, long long nh, long long nd) {
  for (long long i = 3 * threadIdx.x; i < nb * nt * nh * nd; i += 3 * blockDim.x) {
    const long long d = i % nd, h = i / nd % nh, t = i / nd / nh % nt, b = i / nd / nh / nt;
    y[b * y_batch + t * y_token + h * y_head + d] =
        2.0 * double{tilewright::to_float(x[b * x_batch + t * x_token + h * x_head + d])};
  }
}

// Writes one element, and one between the rows.
template <class Config>
__global__ void reorder_careless(const typename Config::dtype*, double* y, long long, long long, long long, long long,
                                 long long, long long, long long, long long, long long, long long nd) {
  y[0] = y[nd] = 0.0;
}

// Writes nothing.
template <class Config>
__global__ void reorder_idle(const typename Config::dtype*, double*, long long, long long, long long, long long,
                             long long, long long, long long, long long, long long, long long) {}
