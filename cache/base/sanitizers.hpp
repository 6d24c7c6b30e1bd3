// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which sanitizers instrument this program.
namespace tilewright {

#if defined(__has_feature)
#define TILEWRIGHT_HAS_FEATURE(feature) __has_feature(feature)
#else
#define TILEWRIGHT_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || TILEWRIGHT_HAS_FEATURE(address_sanitizer)
#define TILEWRIGHT_ASAN 1
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || TILEWRIGHT_HAS_FEATURE(thread_sanitizer)
#define TILEWRIGHT_TSAN 1
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace tilewright
