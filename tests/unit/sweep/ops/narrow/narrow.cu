// SPDX-License-Identifier: Apache-2.0
// y = x. Not compiled: the fake compiler passes the text on, and the fake device computes.

template <class Config>
__global__ void narrow_plain(const typename Config::dtype* x, typename Config::dtype* y, long long n) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 256LL * gridDim.x) y[i] = x[i];
}

template <class Config>
__global__ void narrow_reference(const typename Config::dtype* x, double* y, long long n) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 256LL * gridDim.x) y[i] = x[i];
}
