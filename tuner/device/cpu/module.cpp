// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "cache/base/error.hpp"
#include "cache/base/scratch_folder.hpp"
#include "tuner/device/cpu/emulator.hpp"
#include "tuner/device/cpu/runtime.hpp"

namespace tilewright {
namespace {

struct ThreadLocalBlock {
  ElfW(Addr) base;
  std::size_t bytes = 0;
};

/// Reads the size of a loaded object's thread-local block.
int read_thread_local(dl_phdr_info* object, std::size_t, void* found) {
  auto& block = *static_cast<ThreadLocalBlock*>(found);
  if (object->dlpi_addr != block.base) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type == PT_TLS) block.bytes = object->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> content) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (file.flush()) return;
  // The disk is at fault, not a config.
  throw Error(fmt::format("Writing the emulator module {} failed: {}. Set TMPDIR to a folder with room.", path.string(),
                          std::strerror(errno)));
}

}  // namespace

void EmulatorModule::Close::operator()(void* handle) const noexcept { dlclose(handle); }

std::shared_ptr<const EmulatorModule> EmulatorModule::load(const std::filesystem::path& shared_object) {
  std::shared_ptr<EmulatorModule> module(new EmulatorModule);
  const std::string path = std::filesystem::absolute(shared_object).string();
  module->handle_.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  void* handle = module->handle_.get();
  if (handle == nullptr) throw DeviceError(fmt::format("Loading the emulator module {} failed: {}", path, dlerror()));
  const auto function = reinterpret_cast<emulator::ModuleFunction>(dlsym(handle, emulator::kModuleSymbol));
  if (function == nullptr) {
    throw DeviceError(
        fmt::format("Loading the emulator module {} failed: it does not define {}, so this program did "
                    "not compile it.",
                    path, emulator::kModuleSymbol));
  }
  module->module_ = function(&emulator::runtime_functions());
  if (module->module_->abi_version != emulator::kAbiVersion) {
    throw DeviceError(
        fmt::format("Loading the emulator module {} failed: it was compiled for version {} of the emulator "
                    "and this is version {}. Compile it again.",
                    path, module->module_->abi_version, emulator::kAbiVersion));
  }
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) {
    ThreadLocalBlock block{map->l_addr};
    dl_iterate_phdr(read_thread_local, &block);
    // The anchor alone (module.h) means that no kernel has static shared memory.
    module->static_bytes_ = block.bytes > 1 ? block.bytes : 0;
  }
  return module;
}

std::shared_ptr<const EmulatorModule> EmulatorModule::load(std::span<const std::byte> shared_object) {
  const ScratchFolder folder("load a kernel of the emulator");
  const std::filesystem::path file = folder.path() / "module.so";
  write_file(file, shared_object);
  return load(file);
}

std::vector<std::string> EmulatorModule::entries() const {
  std::vector<std::string> names;
  for (unsigned i = 0; i < module_->entry_count; ++i) names.emplace_back(module_->entries[i].name);
  return names;
}

const emulator::Entry* EmulatorModule::find(std::string_view entry) const noexcept {
  for (unsigned i = 0; i < module_->entry_count; ++i) {
    if (entry == module_->entries[i].name) return &module_->entries[i];
  }
  return nullptr;
}

std::span<std::byte> EmulatorModule::static_shared() const {
  if (static_bytes_ == 0) return {};
  module_->touch_static_shared();
  void* block = nullptr;
  if (dlinfo(handle_.get(), RTLD_DI_TLS_DATA, &block) != 0 || block == nullptr) {
    throw DeviceError(
        "Finding the static shared memory of an emulator module failed: the loader has no thread-local "
        "block for it.");
  }
  return {static_cast<std::byte*>(block), static_bytes_};
}

}  // namespace tilewright
