// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/launch/sample_cache.hpp"
#include "tuner/definition/definition.hpp"

/// Fills a cache from a real definition, with binaries for the recording driver. One thread.
namespace tilewright::testing {

/// Adds the op with all its implementations; a kernel's symbol is its entry.
void add_definition(SampleCache& cache, const OpDefinition& definition);

/// Makes the implementation's first legal config for the problem its winner.
void add_first_legal(SampleCache& cache, const OpDefinition& definition, const std::string& problem,
                     const std::string& implementation, const DeviceFacts& device);

}  // namespace tilewright::testing
