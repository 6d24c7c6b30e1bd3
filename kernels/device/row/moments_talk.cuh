// SPDX-License-Identifier: Apache-2.0
#pragma once

// The WarpTalk of Moments, which replaces the general one if this is included. Each block first merges its partials:
// with 16 bytes and a division each, partials of up to 256 warps are too many for one warp.

#include "device/row/exchange.cuh"
#include "device/row/moments.cuh"
#include "device/row/warp_talk.cuh"

namespace tilewright::row {

template <int kWarps, int kCluster>
class WarpTalk<Moments, kWarps, kCluster> : public Exchange<Moments, kWarps, kCluster, 4> {
 public:
  using Exchange<Moments, kWarps, kCluster, 4>::Exchange;
};

}  // namespace tilewright::row
