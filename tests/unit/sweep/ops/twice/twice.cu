// SPDX-License-Identifier: Apache-2.0
// y = 2x.

template <class Config>
__global__ void twice_plain(const typename Config::dtype* x, typename Config::dtype* y, long long n) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 256LL * gridDim.x) y[i] = x[i] + x[i];
}

template <class Config>
__global__ void twice_reference(const typename Config::dtype* x, double* y, long long n) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 256LL * gridDim.x) y[i] = 2.0 * x[i];
}

// An invalid reference: it writes nothing.
template <class Config>
__global__ void twice_idle(const typename Config::dtype*, double*, long long) {}
