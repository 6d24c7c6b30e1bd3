// SPDX-License-Identifier: Apache-2.0
//
// Dims at run time that are constants all the same: heads that fill their lanes and turn as a whole. No lane is idle
// then, no pair stays, and columns are distances between addresses that the compiler knows.
#pragma once

namespace rope {

template <class Config, int kColumns>
struct WithFullHeads : Config {
  static constexpr long long d = kColumns, rot = kColumns;
};

// Calls `run.operator()<C>()`, where C has d and rot as constants if Config has, or if they are kColumns.
template <class Config, int kColumns, class Run>
__device__ __forceinline__ void with_full_heads(long long d, long long rot, const Run& run) {
  if constexpr (Config::static_dims == 0) {
    if (d == kColumns && rot == kColumns) {
      run.template operator()<WithFullHeads<Config, kColumns>>();
      return;
    }
  }
  run.template operator()<Config>();
}

}  // namespace rope
