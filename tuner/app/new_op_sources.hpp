// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The examples that a new op begins as: docs/examples/l2norm and docs/examples/saxpy, verbatim.
namespace tilewright::app::new_op_sources {

extern const std::string_view kRowDefinition;
extern const std::string_view kRowKernels;
extern const std::string_view kFreeDefinition;
extern const std::string_view kFreeKernels;

}  // namespace tilewright::app::new_op_sources
