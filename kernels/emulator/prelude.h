// SPDX-License-Identifier: Apache-2.0
#pragma once

// What NVRTC knows without an include, for the host C++ compiler: included before every kernel source
// (-include). These headers are read again for each kernel that is compiled, so they include no standard header.

#include "emulator/abi.h"
#include "emulator/builtins/atomic.h"
#include "emulator/builtins/integer.h"
#include "emulator/builtins/keywords.h"
#include "emulator/builtins/math.h"
#include "emulator/builtins/memory.h"
#include "emulator/builtins/thread.h"
#include "emulator/builtins/vector_types.h"
#include "emulator/builtins/warp.h"
