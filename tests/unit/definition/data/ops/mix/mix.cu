// SPDX-License-Identifier: Apache-2.0
// The kernels that mix.toml names, with the parameters that it gives them; they compute nothing.
#include "tiles.cuh"

template <class Config>
__global__ void __launch_bounds__(128, Config::num_warps < 4 ? 2 : 1)
    mix_tma(const __grid_constant__ tilewright::TensorMap a, const __grid_constant__ tilewright::TensorMap b,
            const float* bias, const typename Config::dtype* c, typename Config::dtype* d, int* count, float* parts,
            unsigned* ticket, float alpha, unsigned long long seed, long long m, long long n, long long k) {}

template <class Config>
__global__ void mix_add(const float* parts /* split_k of them, */, typename Config::dtype* d, long long m, long long n,
                        long long parts_of_k) {}

template <class Config>
__global__ void mix_plain(const typename Config::dtype* a, const typename Config::dtype* b, const float* bias,
                          const typename Config::dtype* c, typename Config::dtype* d, int* count, float alpha,
                          unsigned long long seed, long long m, long long n, long long k) {}

// __global__ void mix_commented_out();
template <class Config>
__global__ void mix_reference(const typename Config::dtype* a, const typename Config::dtype* b, const float* bias,
                              const typename Config::dtype* c, double* d, double* count, float alpha,
                              unsigned long long seed, long long m, long long n, long long k) {}
