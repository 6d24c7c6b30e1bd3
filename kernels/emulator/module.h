// SPDX-License-Identifier: Apache-2.0
#pragma once

// Macros that define a generated source's table of kernels. The parameters' types are deduced from the kernel, so the
// generator need not know them:
//
//   #include "emulator/module.h"
//   static const tilewright::emulator::Entry tilewright_entries[] = {
//     TILEWRIGHT_ENTRY(softmax_onchip),
//   };
//   TILEWRIGHT_MODULE(tilewright_entries)

#include "emulator/abi.h"
#include "emulator/checks.h"

namespace tilewright::emulator {

template <int... Indices>
struct Sequence {};
template <int Count, int... Indices>
struct MakeSequence : MakeSequence<Count - 1, Count - 1, Indices...> {};
template <int... Indices>
struct MakeSequence<0, Indices...> {
  using type = Sequence<Indices...>;
};

// Calls Kernel with the values that `params` point to.
template <auto Kernel>
struct Invoker;
template <class... Args, void (*Kernel)(Args...)>
struct Invoker<Kernel> {
  static constexpr unsigned kCount = sizeof...(Args);

  template <int... Indices>
  static void call(void** params, Sequence<Indices...>) {
    Kernel(*static_cast<Args*>(params[Indices])...);
  }
  static void invoke(void** params) { call(params, typename MakeSequence<kCount>::type{}); }
};

// The module's first static __shared__ variable: its thread-local block is not empty.
static thread_local unsigned char static_shared_anchor;
inline void touch_static_shared() { asm volatile("" : : "r"(&static_shared_anchor) : "memory"); }

}  // namespace tilewright::emulator

#define TILEWRIGHT_ENTRY(kernel)                                                                     \
  {                                                                                                  \
#kernel, &::tilewright::emulator::Invoker < &kernel < ::tilewright_generated::Config>> ::invoke, \
        ::tilewright::emulator::Invoker < &kernel < ::tilewright_generated::Config>> ::kCount        \
  }

#define TILEWRIGHT_MODULE(entry_table)                                                                                \
  extern "C" __attribute__((visibility("default"))) const ::tilewright::emulator::Module* tilewright_emulator_module( \
      const ::tilewright::emulator::Runtime* runtime) {                                                               \
    static const ::tilewright::emulator::Module module{::tilewright::emulator::kAbiVersion,                           \
                                                       sizeof(entry_table) / sizeof(entry_table[0]), entry_table,     \
                                                       &::tilewright::emulator::touch_static_shared};                 \
    ::tilewright::emulator::runtime = runtime;                                                                        \
    return &module;                                                                                                   \
  }
