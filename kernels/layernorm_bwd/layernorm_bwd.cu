// SPDX-License-Identifier: Apache-2.0
//
// The gradient of layernorm (../layernorm/layernorm.cu): with x̂ = (x − mean) · rstd, g = dy · weight and n columns
//
//   dx = rstd · (g − Σg / n − x̂ · Σ(g · x̂) / n)      + dsum with add=yes, so that dx is the residual's gradient, too
//   dw = Σ over rows of dy · x̂        db = Σ over rows of dy
//
//   x, dy, dsum, dx   rows × cols with row pitches; dx may be dy or x, with the same pitch; with add=yes x is the sum
//   weight   cols; dw and db in fp32, the same bits on every launch
//
// By device/row/norm_gradient.cuh. Computed in fp32.

#include "device/row/norm_gradient.cuh"

template <class Config>
inline constexpr bool kAdds = Config::add == "yes";

template <class Config>
using Gradient = tilewright::row::NormGradient<typename Config::dtype, true, kAdds<Config>>;

template <class Config, class Output>
__device__ __forceinline__ Gradient<Config> gradient(const typename Config::dtype* x,
                                                     const typename Config::dtype* weight,
                                                     const typename Config::dtype* dy,
                                                     const typename Config::dtype* dsum, Output* dx, float eps,
                                                     long long x_pitch, long long dy_pitch, long long dsum_pitch,
                                                     long long dx_pitch, long long cols) {
  using namespace tilewright;
  Gradient<Config> op;
  op.tensors.inputs[0] = row::matrix<Config>(x, x_pitch, cols);
  op.tensors.inputs[1] = row::matrix<Config>(dy, dy_pitch, cols);
  if constexpr (kAdds<Config>) op.tensors.inputs[2] = row::matrix<Config>(dsum, dsum_pitch, cols);
  op.tensors.columns[0] = weight;
  if constexpr (is_same<Output, typename Config::dtype>)
    op.tensors.outputs[0] = row::matrix<Config>(dx, dx_pitch, cols);
  op.eps = eps;
  return op;
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32, Config::blocks)
    layernorm_bwd_rows(long long rows, long long cols, const typename Config::dtype* x,
                       const typename Config::dtype* dy, const typename Config::dtype* weight,
                       typename Config::dtype* dx, float* partials, long long* parts, float eps,
                       const typename Config::dtype* dsum, long long x_pitch, long long dy_pitch, long long dsum_pitch,
                       long long dx_pitch) {
  using namespace tilewright;
  row::ring_rows<Config>(gradient<Config>(x, weight, dy, dsum, dx, eps, x_pitch, dy_pitch, dsum_pitch, dx_pitch, cols),
                         {partials, parts, cols}, rows, cols);
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    layernorm_bwd_scales(long long rows, long long cols, const typename Config::dtype* x,
                         const typename Config::dtype* dy, const typename Config::dtype* weight,
                         tilewright::row::NormGradientScale* scales, float eps, long long x_pitch, long long dy_pitch) {
  using namespace tilewright;
  row::norm_gradient_scales<Config>(
      gradient<Config, typename Config::dtype>(x, weight, dy, nullptr, nullptr, eps, x_pitch, dy_pitch, 0, 0, cols),
      scales, rows, cols);
}

template <class Config>
__global__ void __launch_bounds__(Config::num_warps * 32)
    layernorm_bwd_columns(long long rows, long long cols, const typename Config::dtype* x,
                          const typename Config::dtype* dy, const typename Config::dtype* weight,
                          typename Config::dtype* dx, const tilewright::row::NormGradientScale* scales, float* partials,
                          long long* parts, const typename Config::dtype* dsum, long long x_pitch, long long dy_pitch,
                          long long dsum_pitch, long long dx_pitch) {
  using namespace tilewright;
  row::norm_gradient_columns<Config>(
      gradient<Config>(x, weight, dy, dsum, dx, 0.0f, x_pitch, dy_pitch, dsum_pitch, dx_pitch, cols), scales,
      {partials, parts, cols}, rows, cols);
}

template <class Config>
__global__ void __launch_bounds__(tilewright::row::sum_threads<Config>(), tilewright::row::sum_blocks<Config>())
    layernorm_bwd_sums(float* partials, long long* parts, float* dw, float* db, long long cols) {
  using namespace tilewright;
  row::sum_parts<2, 1, row::sum_threads<Config>()>({partials, parts, cols}, {dw, db});
}

template <class Config>
__global__ void __launch_bounds__(tilewright::row::kWideSumThreads, tilewright::row::sum_blocks<Config>())
    layernorm_bwd_sums_wide(float* partials, long long* parts, float* dw, float* db, long long cols) {
  using namespace tilewright;
  row::sum_parts<2, 4, row::kWideSumThreads>({partials, parts, cols}, {dw, db});
}

template <class Config>
__global__ void layernorm_bwd_reference(const typename Config::dtype* x, const typename Config::dtype* weight,
                                        const typename Config::dtype* dy, const typename Config::dtype* dsum,
                                        double* dx, double* dw, double* db, float eps, long long x_pitch,
                                        long long dy_pitch, long long dsum_pitch, long long dx_pitch, long long rows,
                                        long long cols) {
  using namespace tilewright;
  row::norm_gradient_reference(
      gradient<Config>(x, weight, dy, dsum, dx, eps, x_pitch, dy_pitch, dsum_pitch, dx_pitch, cols),
      row::matrix<Config>(dx, dx_pitch, cols), dw, db, rows, cols);
}
