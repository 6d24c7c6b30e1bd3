// SPDX-License-Identifier: Apache-2.0
// z[i] = twice[order[i]] - x[order[i]] + the piece of i + target[i], which counts as 0 if it is to be ignored.

template <class Real>
__device__ Real settled(const float* x, const float* twice, const int* cuts, const int* order, const long long* target,
                        long long ignore, long long pieces, long long i) {
  long long piece = 0;
  while (piece + 1 < pieces && cuts[piece + 1] <= i) ++piece;
  const Real value = Real{twice[order[i]]} - Real{x[order[i]]};
  return value + static_cast<Real>(piece) + (target[i] == ignore ? Real{0} : static_cast<Real>(target[i]));
}

template <class Config>
__global__ void settle_plain(const float* x, const float* twice, const int* cuts, const int* order,
                             const long long* target, float* z, long long ignore, long long n, long long pieces) {
  constexpr int kFault = Config::fault;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 256LL * gridDim.x) {
    float result = settled<float>(x, twice, cuts, order, target, ignore, pieces, i);
    const int place = kFault == 5 ? static_cast<int>(i) : order[i];
    if (kFault == 1) result += x[place] - (twice[place] - x[place]);
    if (kFault == 2 && target[i] == ignore) result += static_cast<float>(ignore);
    if (kFault == 3 && i > 0) {
      for (long long piece = 1; piece < pieces; ++piece) result -= cuts[piece] == i ? 1.0f : 0.0f;
    }
    if (kFault == 4 && x[place] > 5.0f) result += 5.0f - x[place];
    if (kFault == 5) result += x[place] - x[order[i]];
    z[i] = result;
  }
}

template <class Config>
__global__ void settle_reference(const float* x, const float* twice, const int* cuts, const int* order,
                                 const long long* target, double* z, long long ignore, long long n, long long pieces) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 256LL * gridDim.x) {
    z[i] = settled<double>(x, twice, cuts, order, target, ignore, pieces, i);
  }
}
