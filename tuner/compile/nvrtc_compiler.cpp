// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/nvrtc_compiler.hpp"

#include "cache/base/error.hpp"
#include "cache/model/device_facts.hpp"
#include "tuner/compile/nvrtc_table.hpp"
#include "tuner/compile/ptxas_log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace tilewright {
namespace {

// Destroys an NVRTC program with its owner. nvrtcDestroyProgram needs the handle's address and the table.
struct DestroyProgram {
  using pointer = NvrtcProgram;
  const NvrtcTable* table = nullptr;
  void operator()(NvrtcProgram program) const noexcept { table->destroy(&program); }
};
using Program = std::unique_ptr<NvrtcProgram, DestroyProgram>;

[[noreturn]] void fail(const NvrtcTable& table, const NvrtcReport& report, const std::string& name, NvrtcResult status,
                       const std::string& words) {
  throw Error(fmt::format("compiling {} with {} ({}) failed: {}{}", name, report.version(), report.library.string(),
                          table.error_string(status), words.empty() ? "" : "\n" + words));
}

// Fetches text or bytes of a program by two calls: one for the size (with a final zero for text), one for the content.
template <class Container, class Size, class Read>
Container fetch(NvrtcProgram program, Size size_of, Read read) {
  std::size_t size = 0;
  Container content;
  if (size_of(program, &size) != NvrtcResult::success || size == 0) return content;
  content.resize(size);
  if (read(program, reinterpret_cast<char*>(content.data())) != NvrtcResult::success) content.clear();
  return content;
}

std::string fetch_text(NvrtcProgram program, decltype(NvrtcTable::log_size) size_of, decltype(NvrtcTable::log) read) {
  auto text = fetch<std::string>(program, size_of, read);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

void check_architecture(const NvrtcLibrary& library, const std::string& arch) {
  const std::vector<int> known = library.architectures();
  const std::optional<Arch> asked = arch_from(arch);
  if (asked && std::find(known.begin(), known.end(), asked->number) != known.end()) return;
  throw UsageError(fmt::format("{} does not compile for '{}'; known: sm_{} (and variants such as sm_90a)",
                               library.report().version(), arch, fmt::join(known, ", sm_")));
}

std::string name_expression(const std::string& entry) { return entry + "<tilewright_generated::Config>"; }

std::string advice(NvrtcResult status) {
  switch (status) {
    case NvrtcResult::invalid_option:
      return "An option is not known to this NVRTC; a newer one may know it";
    case NvrtcResult::builtin_operation_failure:
      return "libnvrtc-builtins of the same version must stand beside libnvrtc.so, and be readable";
    case NvrtcResult::out_of_memory:
      return "Memory is exhausted; compile with fewer jobs";
    default:
      return {};
  }
}

}  // namespace

std::string installation_fault(const std::string& log, const NvrtcReport& report) {
  if (log.find("ptxas fatal   : Unknown option") != std::string::npos) {
    return "ptxas does not know an option that it was given; one `--ptxas-options=` is needed for each";
  }
  for (const char* header : {"cuda_fp16.h", "cuda_bf16.h", "vector_types.h", "vector_functions.h", "nv/target"}) {
    if (log.find(fmt::format("could not open source file \"{}\"", header)) == std::string::npos &&
        log.find(fmt::format("cannot open source file \"{}\"", header)) == std::string::npos) {
      continue;
    }
    if (!report.why_no_headers.empty()) return report.why_no_headers;
    return fmt::format("CUDA's header {} is missing; looked in {}", header,
                       fmt::join(
                           [&] {
                             std::vector<std::string> dirs;
                             for (const auto& dir : report.include_dirs) dirs.push_back(dir.string());
                             return dirs;
                           }(),
                           ", "));
  }
  return {};
}

NvrtcCompiler::NvrtcCompiler(std::shared_ptr<const NvrtcLibrary> library) : library_(std::move(library)) {}

std::vector<std::string> NvrtcCompiler::options(const CompileRequest& request) const {
  std::vector<std::string> options{
      "--gpu-architecture=" + request.arch,
      "--std=c++20",
      // Unqualified functions, mainly constexpr ones, are device code.
      "--device-as-default-execution-space",
      // The default calls setrlimit, which affects the whole process and is unsafe with several compiling threads.
      "--modify-stack-limit=false",
      "--ptxas-options=-v",
  };
  for (const auto& dir : request.include_dirs) options.push_back("--include-path=" + dir.string());
  for (const auto& dir : library_->report().include_dirs) options.push_back("--include-path=" + dir.string());
  options.insert(options.end(), request.options.begin(), request.options.end());
  return options;
}

CompileResult NvrtcCompiler::compile(const CompileRequest& request) {
  std::string ptx;
  return compile(request, ptx);
}

CompileResult NvrtcCompiler::compile(const CompileRequest& request, std::string& ptx) {
  const ProfilerRange range = compile_range(request);
  const auto started = std::chrono::steady_clock::now();
  const NvrtcTable& table = library_->table();
  const NvrtcReport& report = library_->report();
  check_architecture(*library_, request.arch);
  ptx.clear();

  NvrtcProgram raw = nullptr;
  NvrtcResult status = table.create(&raw, request.source.c_str(), request.name.c_str(), 0, nullptr, nullptr);
  const Program program(raw, DestroyProgram{&table});
  if (status != NvrtcResult::success) fail(table, report, request.name, status, advice(status));
  for (const std::string& entry : request.entries) {
    status = table.add_name(program.get(), name_expression(entry).c_str());
    if (status != NvrtcResult::success) fail(table, report, request.name, status, "name expression of " + entry);
  }

  const std::vector<std::string> flags = options(request);
  std::vector<const char*> raw_flags;
  for (const std::string& flag : flags) raw_flags.push_back(flag.c_str());
  status = table.compile(program.get(), static_cast<int>(raw_flags.size()), raw_flags.data());

  CompileResult result;
  result.compiler = report.version();
  result.log = fetch_text(program.get(), table.log_size, table.log);
  if (status == NvrtcResult::success) {
    result.binary = fetch<std::vector<std::byte>>(program.get(), table.cubin_size, table.cubin);
    ptx = fetch_text(program.get(), table.ptx_size, table.ptx);
    const auto resources = parse_ptxas_log(result.log);
    for (const std::string& entry : request.entries) {
      const char* symbol = nullptr;
      status = table.lowered_name(program.get(), name_expression(entry).c_str(), &symbol);
      if (status != NvrtcResult::success) fail(table, report, request.name, status, "lowered name of " + entry);
      CompiledKernel kernel{entry, symbol, {}};
      if (const auto known = resources.find(symbol); known != resources.end()) kernel.resources = known->second;
      kernel.resources.max_threads = std::min(kernel.resources.max_threads, launch_bound_of(ptx, symbol));
      result.kernels.push_back(std::move(kernel));
    }
    result.ok = true;
  } else if (status == NvrtcResult::compilation || status == NvrtcResult::name_expression_not_valid ||
             status == NvrtcResult::internal_error || status == NvrtcResult::out_of_memory) {
    // An internal error or lack of memory concerns this one kernel; others may still compile.
    if (const std::string fault = installation_fault(result.log, report); !fault.empty()) {
      fail(table, report, request.name, status, result.log + fault);
    }
    if (result.log.empty()) result.log = fmt::format("{}: {}", report.version(), table.error_string(status));
  } else {
    fail(table, report, request.name, status, result.log + advice(status));
  }
  result.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
  return result;
}

}  // namespace tilewright
