// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/host_compiler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "cache/base/error.hpp"
#include "cache/base/sanitizers.hpp"
#include "cache/base/scratch_folder.hpp"
#include "kernels/emulator/abi.h"
#include "tuner/definition/kernels_dir.hpp"
#include "tuner/process/subprocess.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words(const char* text) {
  std::istringstream stream(text == nullptr ? "" : text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

/// The string value of a macro in the output of `-dM`, up to its first space; empty if it is not defined.
std::string macro(std::string_view definitions, std::string_view name) {
  const std::string start = fmt::format("#define {} \"", name);
  const std::size_t at = definitions.find(start);
  if (at == std::string_view::npos) return {};
  definitions.remove_prefix(at + start.size());
  return std::string(definitions.substr(0, definitions.find_first_of(" \"")));
}

bool on_path(const std::string& program) {
  std::istringstream folders(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    if (fs::exists(fs::path(folder.empty() ? "." : folder) / program, ignored)) return true;
  }
  return false;
}

std::vector<std::string> find_compiler() {
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (on_path(name)) return {name};
  }
  throw Error(
      "Looking for a C++ compiler failed: the CPU emulator compiles kernels with one, and there is neither c++ nor g++ "
      "nor clang++ on the PATH. Install one (apt-get install g++), or name one in the variable CXX.");
}

std::vector<std::byte> read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<std::byte> bytes(file ? static_cast<std::size_t>(file.tellg()) : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file || bytes.empty()) throw Error(fmt::format("Reading the compiled module {} failed", path.string()));
  return bytes;
}

void write_source(const fs::path& path, const CompileRequest& request) {
  std::ofstream file(path, std::ios::binary);
  file << request.source << "\n#include \"emulator/module.h\"\n"
       << "static const tilewright::emulator::Entry tilewright_entries[] = {\n";
  for (const std::string& entry : request.entries) file << "    TILEWRIGHT_ENTRY(" << entry << "),\n";
  file << "};\nTILEWRIGHT_MODULE(tilewright_entries)\n";
  file.close();
  if (!file) {
    throw Error(
        fmt::format("Writing {} failed: {}. Set TMPDIR to a folder with room.", path.string(), std::strerror(errno)));
  }
}

/// Whether the log blames the machine or the command line, not the kernel.
bool is_compilers_fault(std::string_view log) {
  for (const std::string_view sign :
       {"unrecognized command-line option", "unknown argument:", "unrecognized argument", "No space left on device",
        "cannot execute", "installation problem", "emulator/prelude.h: No such file",
        "'emulator/module.h' file not found", "cannot find -l", "unable to execute command"}) {
    if (log.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

bool was_killed(const SubprocessResult& process) {
  return process.exit_code > 128 || process.output.find("Killed signal") != std::string::npos ||
         process.output.find("terminated with signal") != std::string::npos ||
         process.output.find("Killed (program") != std::string::npos;
}

}  // namespace

HostCompilerSettings HostCompilerSettings::from_environment() {
  HostCompilerSettings settings;
  settings.command = words(std::getenv("CXX"));
  settings.flags = words(std::getenv("TILEWRIGHT_EMULATOR_FLAGS"));
  return settings;
}

HostCompiler::HostCompiler(HostCompilerSettings settings) : settings_(std::move(settings)) {
  if (settings_.command.empty()) settings_.command = find_compiler();
  if (settings_.kernels.empty()) settings_.kernels = kernels_dir();
  settings_.kernels = fs::absolute(settings_.kernels);
  // Predefined macros identify the compiler; --version is prose.
  std::vector<std::string> command = settings_.command;
  command.insert(command.end(), {"-dM", "-E", "-x", "c++", "/dev/null"});
  SubprocessResult result = run_subprocess(command, std::chrono::seconds(30));
  if (was_killed(result)) result = run_subprocess(command, std::chrono::seconds(30));
  const std::string clang = macro(result.output, "__clang_version__");
  const std::string gcc = macro(result.output, "__VERSION__");
  if (result.exit_code != 0 || (clang.empty() && gcc.empty())) {
    throw Error(fmt::format(
        "{} is not a C++ compiler that the emulator can use (g++ or clang++): `{}` ended with code {} "
        "and said: {}. Set CXX to another.",
        settings_.command.front(), fmt::join(command, " "), result.exit_code, result.output.substr(0, 200)));
  }
  is_clang_ = !clang.empty();
  version_ = is_clang_ ? "clang++ " + clang : "g++ " + gcc;
  version_ += fmt::format(", emulator {}", emulator::kAbiVersion);
  for (const std::string& flag : settings_.flags) version_ += " " + flag;
}

std::vector<std::string> HostCompiler::command_line(const CompileRequest& request, const fs::path& source,
                                                    const fs::path& output) const {
  std::vector<std::string> line = settings_.command;
  const auto add = [&](std::initializer_list<std::string> arguments) { line.insert(line.end(), arguments); };
  // -Og compiles a fifth to a quarter faster than -O1, and compiling takes most of the time. NVRTC reports warnings.
  add({"-std=c++20", "-Og", "-w", "-pipe", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
       "-fno-math-errno", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-omit-frame-pointer", "-Wl,-Bsymbolic"});
  // Checks the alignment of all accesses and the range of indices into arrays of known size. module.h has the handlers.
  add({"-fsanitize=alignment,bounds", "-fsanitize-recover=alignment,bounds"});
  // Static variables of templates must stay the module's own, because all modules use the same names.
  if (!is_clang_) add({"-fno-gnu-unique"});
  // Kernels are instrumented if this program is, because both share one run-time library.
  if (kAddressSanitizer) add({"-fsanitize=address"});
  add({"-include", (settings_.kernels / "emulator/prelude.h").string()});
  add({"-I" + (settings_.kernels / "emulator").string()});
  for (const fs::path& folder : request.include_dirs) line.push_back("-I" + fs::absolute(folder).string());
  add({"-I" + settings_.kernels.string()});
  line.insert(line.end(), settings_.flags.begin(), settings_.flags.end());
  line.insert(line.end(), request.options.begin(), request.options.end());
  add({"-x", "c++", source.string(), "-o", output.string()});
  // The loading program has its own libstdc++, which must be the only one.
  if (!kAddressSanitizer) add({"-nostdlib"});
  add({"-lm", "-lc", "-lgcc"});
  return line;
}

CompileResult HostCompiler::compile(const CompileRequest& request) {
  if (request.arch != "cpu") {
    throw Error(fmt::format("Compiling {} for the emulator failed: its architecture is cpu, not {}", request.name,
                            request.arch));
  }
  const ProfilerRange range = compile_range(request);
  const auto start = std::chrono::steady_clock::now();
  const ScratchFolder folder("compile for the emulator");
  // A name relative to the compiler's folder: an absolute name would change the module's bytes.
  const fs::path source = fs::path(request.name).stem().string() + ".generated.cu";
  const fs::path output = "module.so";
  write_source(folder.path() / source, request);
  // The compiler's children outlive this process if it is killed, so their processor time is limited, too.
  const ProcessLimits limits{settings_.memory_bytes, std::chrono::ceil<std::chrono::seconds>(settings_.limit)};
  const auto attempt = [&] {
    return run_subprocess(command_line(request, source, output), settings_.limit, folder.path(), limits,
                          settings_.interrupted);
  };
  SubprocessResult process = attempt();
  // A killed compiler says nothing about the kernel, unless it happens again.
  if (!process.timed_out && was_killed(process)) process = attempt();

  CompileResult result;
  result.compiler = version_;
  result.log = process.output;
  if (process.timed_out) {
    result.log += fmt::format("\n{} was killed: it had not compiled {} after {} s.\n", settings_.command.front(),
                              request.name, settings_.limit.count() / 1000);
  } else if (process.exit_code != 0 && is_compilers_fault(process.output)) {
    throw Error(fmt::format("Compiling {} with {} failed, and not by the kernel's fault:\n{}", request.name, version_,
                            process.output));
  } else if (process.exit_code == 0) {
    result.ok = true;
    result.binary = read_bytes(folder.path() / output);
    for (const std::string& entry : request.entries) result.kernels.push_back({entry, entry, {}});
  }
  result.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace tilewright
