// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/ptxas_log.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tilewright {
namespace {

// The number before `words`, as in "Used 30 registers, 256 bytes smem"; `otherwise` if there is none.
int number_before(std::string_view line, std::string_view words, int otherwise) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return otherwise;
  std::size_t end = at;
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0) --begin;
  int value = otherwise;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

// The sum of all constant banks: "384 bytes cmem[0], 8 bytes cmem[2]".
int constant_bytes(std::string_view line) {
  int total = 0;
  for (std::size_t at = line.find(" bytes cmem["); at != std::string_view::npos; at = line.find(" bytes cmem[", at)) {
    std::size_t begin = at;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0) --begin;
    int value = 0;
    std::from_chars(line.data() + begin, line.data() + at, value);
    total += value;
    at += 1;
  }
  return total;
}

// The text between the first pair of quotes.
std::string_view quoted(std::string_view line) {
  const std::size_t begin = line.find('\'');
  const std::size_t end = begin == std::string_view::npos ? begin : line.find('\'', begin + 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(begin + 1, end - begin - 1);
}

}  // namespace

std::map<std::string, KernelResources, std::less<>> parse_ptxas_log(std::string_view log) {
  static constexpr std::string_view kEntry = "Compiling entry function";
  static constexpr std::string_view kProperties = "Function properties for ";
  std::map<std::string, KernelResources, std::less<>> kernels;
  KernelResources* entry = nullptr;       // its "Used … registers" comes next
  KernelResources* properties = nullptr;  // its stack and spills come next; device functions are skipped
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (line.find(kEntry) != std::string_view::npos) {
      entry = &(kernels[std::string(quoted(line))] = KernelResources{});
    } else if (const std::size_t at = line.find(kProperties); at != std::string_view::npos) {
      const auto known = kernels.find(line.substr(at + kProperties.size()));
      properties = known == kernels.end() ? nullptr : &known->second;
    } else if (line.find("bytes stack frame") != std::string_view::npos && properties != nullptr) {
      properties->local_bytes = number_before(line, "bytes stack frame", 0);
      properties->spill_store_bytes = number_before(line, "bytes spill stores", 0);
      properties->spill_load_bytes = number_before(line, "bytes spill loads", 0);
      properties = nullptr;
    } else if (line.find("Used ") != std::string_view::npos && entry != nullptr) {
      entry->registers = number_before(line, "registers", 0);
      entry->static_shared_bytes = number_before(line, "bytes smem", 0);
      entry->constant_bytes = constant_bytes(line);
      entry->max_threads = threads_for_registers(entry->registers);
      entry = nullptr;
    }
  }
  return kernels;
}

int threads_for_registers(int registers) noexcept {
  static constexpr int kBlockRegisters = 65536, kUnit = 256, kWarp = 32, kMost = 1024;
  if (registers <= 0) return kMost;
  const int warp = (registers * kWarp + kUnit - 1) / kUnit * kUnit;
  return std::min(kMost, kBlockRegisters / warp * kWarp);
}

int launch_bound_of(std::string_view ptx, std::string_view symbol) {
  const std::string head = ".entry " + std::string(symbol) + "(";
  const std::size_t begin = ptx.find(head);
  if (begin == std::string_view::npos) return 1024;
  // Directives are between the parameter list and the body.
  std::string_view directives = ptx.substr(begin, ptx.find('{', begin) - begin);
  const std::size_t at = directives.find(".maxntid");
  if (at == std::string_view::npos) return 1024;
  directives.remove_prefix(at + std::string_view(".maxntid").size());
  directives = directives.substr(0, directives.find('\n'));
  int threads = 1;
  while (!directives.empty()) {
    int extent = 0;
    const auto [end, failed] = std::from_chars(directives.data(), directives.data() + directives.size(), extent);
    if (failed == std::errc()) threads *= std::max(extent, 1);
    const auto used = static_cast<std::size_t>(end - directives.data());
    directives.remove_prefix(std::max<std::size_t>(used, 1));
  }
  return std::min(threads, 1024);
}

}  // namespace tilewright
