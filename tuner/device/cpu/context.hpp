// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

#include "cache/base/sanitizers.hpp"
#ifdef TILEWRIGHT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TILEWRIGHT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/// A place that execution can leave and return to: a fiber, or the launching code. The sanitizers are told of all stack
/// changes.
namespace tilewright::emulator {

struct Context {
  boost::context::detail::fcontext_t state = nullptr;
#ifdef TILEWRIGHT_ASAN
  void* fake_stack = nullptr;
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
#endif
#ifdef TILEWRIGHT_TSAN
  void* tsan_fiber = nullptr;
#endif
};

/// The first call on each arrival: stores where the context that left can be resumed.
inline void arrived([[maybe_unused]] Context& here, boost::context::detail::transfer_t transfer) noexcept {
  auto& left = *static_cast<Context*>(transfer.data);
  left.state = transfer.fctx;
#ifdef TILEWRIGHT_ASAN
  __sanitizer_finish_switch_fiber(here.fake_stack, &left.stack_bottom, &left.stack_bytes);
#endif
}

/// Leaves `from`, which must be running, for `to`. Returns when another context switches back.
inline void switch_context(Context& from, Context& to) noexcept {
#ifdef TILEWRIGHT_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
#endif
#ifdef TILEWRIGHT_TSAN
  from.tsan_fiber = __tsan_get_current_fiber();  // the launching code has one from the start
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
  arrived(from, boost::context::detail::jump_fcontext(to.state, &from));
}

}  // namespace tilewright::emulator
