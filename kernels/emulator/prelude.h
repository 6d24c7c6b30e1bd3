// SPDX-License-Identifier: Apache-2.0
#pragma once

// NVRTC's built-in declarations for the host C++ compiler, included before each kernel source (-include). These headers
// are read again for each kernel that is compiled, so they include no standard header.

#include "emulator/abi.h"
#include "emulator/builtins/atomic.h"
#include "emulator/builtins/integer.h"
#include "emulator/builtins/keywords.h"
#include "emulator/builtins/math.h"
#include "emulator/builtins/memory.h"
#include "emulator/builtins/thread.h"
#include "emulator/builtins/vector_types.h"
#include "emulator/builtins/warp.h"
