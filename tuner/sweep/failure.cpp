// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/failure.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tilewright {

bool still_answers(Device& device) {
  constexpr std::size_t kProbeBytes = 256;
  try {
    const auto probe = device.allocate(kProbeBytes, "probe after a failure");
    device.fill(probe->address(), 0, kProbeBytes);
    return true;
  } catch (const DeviceError& error) {
    // A device without free memory still answers.
    return error.status() == kOutOfMemory;
  }
}

bool may_pass(const Trial& trial) noexcept {
  return trial.status == TrialStatus::exceeds_limits && trial.reason.rfind(kBesideOthers, 0) == 0;
}

std::string base_failure(const Problem& problem, const Trial& trial) {
  return fmt::format(
      "the base {} failed on {}: {}: {}\nThe base serves each shape that no other config can: mend it, or name "
      "another base in the definition of {}, and sweep again",
      trial.config.text(), problem.key(), name(trial.status), trial.reason.substr(0, trial.reason.find('\n')),
      problem.spec.op);
}

TrialStatus status_of(const DeviceError& error) {
  // CUresult values with their names in cuda.h, so that this file needs no CUDA header.
  switch (error.status()) {
    case 702:  // CUDA_ERROR_LAUNCH_TIMEOUT
      return TrialStatus::timed_out;
    case 1:    // CUDA_ERROR_INVALID_VALUE: extents or shared memory that the driver refuses
    case 2:    // CUDA_ERROR_OUT_OF_MEMORY
    case 209:  // CUDA_ERROR_NO_BINARY_FOR_GPU
    case 701:  // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    case 912:  // CUDA_ERROR_INVALID_CLUSTER_SIZE
      return TrialStatus::exceeds_limits;
    default:
      break;
  }
  // The emulator has no CUresult; the text names its outcome.
  const std::string_view text = error.what();
  return text.find("timed out") != std::string_view::npos ? TrialStatus::timed_out : TrialStatus::crashed;
}

}  // namespace tilewright
