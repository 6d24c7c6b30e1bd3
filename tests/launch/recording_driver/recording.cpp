// SPDX-License-Identifier: Apache-2.0
#include "tests/launch/recording_driver/recording.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

namespace tilewright::testing {

std::string Recording::path() { return TILEWRIGHT_RECORDING_DRIVER; }

const Recording& Recording::get() {
  static const Recording kOnly;
  return kOnly;
}

Recording::Recording() {
  ::setenv("TILEWRIGHT_LIBCUDA", TILEWRIGHT_RECORDING_DRIVER, 1);
  ::setenv("TILEWRIGHT_LIBNVML", TILEWRIGHT_RECORDING_DRIVER, 1);
  handle_ = ::dlopen(TILEWRIGHT_RECORDING_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw std::runtime_error(::dlerror());
  const auto find = [this]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(symbol(name));
  };
  find(launch_count_, "recording_launch_count");
  find(launch_, "recording_launch");
  find(reset_, "recording_reset");
  find(fail_, "recording_fail");
  find(hold_, "recording_hold");
  find(calls_, "recording_calls");
  find(live_allocations_, "recording_live_allocations");
  find(live_libraries_, "recording_live_libraries");
  find(set_fast_, "recording_set_fast");
  find(reset_context_, "recording_reset_context");
  find(set_throttle_reasons_, "recording_set_throttle_reasons");
}

void* Recording::symbol(const char* name) const {
  void* address = ::dlsym(handle_, name);
  if (address == nullptr) throw std::runtime_error(std::string("the recording driver lacks ") + name);
  return address;
}

std::vector<recording_launch_record> Recording::launches() const {
  std::vector<recording_launch_record> all(launch_count_());
  for (std::size_t i = 0; i < all.size(); ++i) launch_(i, &all[i]);
  return all;
}

}  // namespace tilewright::testing
