// SPDX-License-Identifier: Apache-2.0
#pragma once

// The WarpTalk of moments, in place of the general one where this is included. Each block merges its partials first: of
// 16 bytes, and with a division each, those of up to 256 warps are too many for every warp.

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
