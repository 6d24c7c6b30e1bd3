// SPDX-License-Identifier: Apache-2.0
#pragma once

// Found only through the include folders of a request.
template <int N>
__global__ void included(int* y) {
  y[0] = N;
}
