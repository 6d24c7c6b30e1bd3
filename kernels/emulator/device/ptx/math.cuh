// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replaces device/ptx/math.cuh by accurate functions: a kernel that is right with these may be too coarse on the GPU,
// which verification there detects. Subnormal arguments and results become zero (.ftz).

#include "emulator/builtins/math.h"

namespace tilewright::ptx {

namespace detail {
inline float flush(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x; }
}  // namespace detail

inline float ex2_approx(float x) { return detail::flush(exp2f(detail::flush(x))); }
inline float lg2_approx(float x) { return log2f(detail::flush(x)); }
inline float rcp_approx(float x) { return detail::flush(1.0f / detail::flush(x)); }
inline float rsqrt_approx(float x) { return rsqrtf(detail::flush(x)); }
inline float tanh_approx(float x) { return tanhf(x); }
inline float max_nan(float a, float b) { return a != a || b != b ? __builtin_nanf("") : (a < b ? b : a); }

}  // namespace tilewright::ptx
