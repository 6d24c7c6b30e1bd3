// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// A library opened at run time (libcuda, NVML, NVRTC: absent on some machines), and the symbols looked up in it. For
/// one thread at a time while symbols are looked up.
namespace tilewright {

class SharedLibrary {
 public:
  /// Opens `file` as the loader would. If that fails, the object is empty and why() gives the reason.
  explicit SharedLibrary(std::string file) : file_(std::move(file)) {
    handle_.reset(::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!handle_) {
      const char* text = ::dlerror();
      why_ = text != nullptr ? text : "the loader did not say why";
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] const std::string& why() const noexcept { return why_; }
  /// The file that the loader found, also for a bare name; file() if the loader does not tell.
  [[nodiscard]] std::string loaded_from() const {
    const link_map* map = nullptr;
    if (!handle_ || ::dlinfo(handle_.get(), RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return file_;
    return map != nullptr && map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : file_;
  }

  /// The address of `symbol`, or null; a missing name is added to missing().
  template <class Function>
  [[nodiscard]] Function* find(const char* symbol) {
    void* address = handle_ ? ::dlsym(handle_.get(), symbol) : nullptr;
    if (address == nullptr) missing_.emplace_back(symbol);
    return reinterpret_cast<Function*>(address);
  }
  /// As find(), but a missing symbol is not recorded.
  template <class Function>
  [[nodiscard]] Function* find_optional(const char* symbol) const {
    return reinterpret_cast<Function*>(handle_ ? ::dlsym(handle_.get(), symbol) : nullptr);
  }
  [[nodiscard]] const std::vector<std::string>& missing() const noexcept { return missing_; }

  /// Keeps the library loaded until the process ends: its code may run at any time from now on.
  void keep_loaded() noexcept { static_cast<void>(handle_.release()); }

 private:
  struct Close {
    void operator()(void* handle) const noexcept { ::dlclose(handle); }
  };
  std::string file_;
  std::string why_;
  std::vector<std::string> missing_;
  std::unique_ptr<void, Close> handle_;
};

}  // namespace tilewright
