// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/verify/twice_op.hpp"

#include <fmt/format.h>

#include "tuner/compile/host_compiler.hpp"

namespace tilewright::testing {
namespace {

constexpr const char* kEntries[] = {
    "good",          "last_column", "past_end",         "before_start",    "changes_input", "unwritten",
    "off_by_some",   "slightly",    "nan_for_one",      "deadlock",        "reference",     "no_reference",
    "bad_reference", "samples",     "nan_left_out",     "empty_reference", "counts",        "counts_on",
    "aligned",       "pitched",     "pitched_reference"};
// With an addend.
constexpr const char* kAdding[] = {"adds", "adds_late", "adds_early", "adds_reference"};

// The kernels have the same parameters, one of them absent in all problems; the references take doubles as y.
constexpr const char* kKernels = R"(
template <class Config>
__device__ void each(long long rows, long long cols, auto body) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < rows * cols; i += 256ll * gridDim.x) body(i);
}
#define KERNEL(name, ...)                                                                                          \
  template <class Config>                                                                                          \
  __global__ void name(typename Config::dtype* x, const float* absent, typename Config::dtype* y, float factor,    \
                       long long rows, long long cols) {                                                           \
    using T = typename Config::dtype;                                                                              \
    using namespace tilewright;                                                                                    \
    if (absent != nullptr) return;                                                                                 \
    each<Config>(rows, cols, [&](long long i) { __VA_ARGS__ });                                                    \
  }
#define TWICE y[i] = from_float<T>(factor * to_float(x[i]));
KERNEL(good, TWICE)
KERNEL(last_column, y[i] = from_float<T>(i % cols == cols - 1 ? 0.0f : factor * to_float(x[i]));)
KERNEL(past_end, TWICE if (i == 0) y[rows * cols + 2] = from_float<T>(1.0f);)
KERNEL(before_start, TWICE if (i == 0) x[-3] = from_float<T>(1.0f);)
KERNEL(changes_input, TWICE if (i == cols + 4) x[i] = from_float<T>(7.0f);)
KERNEL(unwritten, if (i % cols != 5) { TWICE })
KERNEL(off_by_some, y[i] = from_float<T>(factor * to_float(x[i]) + (i % 4 == 1 ? 1.0f : 0.0f));)
KERNEL(slightly, y[i] = from_float<T>(factor * to_float(x[i]) * 1.03f);)
KERNEL(nan_for_one, y[i] = i == 9 ? from_float<T>(kInfinity - kInfinity) : from_float<T>(factor * to_float(x[i]));)
KERNEL(nan_left_out, y[i] = i == 10 ? from_float<T>(kInfinity - kInfinity) : from_float<T>(factor * to_float(x[i]));)
KERNEL(aligned, if (reinterpret_cast<unsigned long long>(y) % 16 == 0) { TWICE })
KERNEL(deadlock, x[i] = from_float<T>(5.0f); if (threadIdx.x == 0) __syncthreads();
       if (threadIdx.x != 0) __syncwarp(); if (threadIdx.x == 0) __syncthreads();)
// In the place of the absent input this has a counter, to be left zero.
#define COUNTING(name, ...)                                                                                        \
  template <class Config>                                                                                          \
  __global__ void name(typename Config::dtype* x, unsigned* counter, typename Config::dtype* y, float factor,      \
                       long long rows, long long cols) {                                                           \
    using T = typename Config::dtype;                                                                              \
    using namespace tilewright;                                                                                    \
    each<Config>(rows, cols, [&](long long i) { TWICE });                                                          \
    __VA_ARGS__                                                                                                    \
  }
COUNTING(counts, if (threadIdx.x == 0) counter[1] -= counter[1];)
COUNTING(counts_on, if (threadIdx.x == 0) counter[1] = 256;)
#define REFERENCE(name, ...)                                                                                       \
  template <class Config>                                                                                          \
  __global__ void name(typename Config::dtype* x, const float* absent, double* y, float factor, long long rows,     \
                       long long cols) {                                                                           \
    using T = typename Config::dtype;                                                                              \
    using namespace tilewright;                                                                                    \
    if (absent != nullptr) return;                                                                                 \
    each<Config>(rows, cols, [&](long long i) { __VA_ARGS__ });                                                    \
  }
REFERENCE(reference, y[i] = double{factor} * double{to_float(x[i])};)
REFERENCE(no_reference, if (i > 2) y[i] = double{factor} * double{to_float(x[i])};)
REFERENCE(samples, if (i % 8 == 1) y[i] = double{factor} * double{to_float(x[i])};)
REFERENCE(empty_reference, )
REFERENCE(bad_reference, y[i] = 0.0; x[i] = from_float<T>(3.0f);)
// With an addend in place of the absent input.
#define ADDING(name, Output, ...)                                                                                  \
  template <class Config>                                                                                          \
  __global__ void name(typename Config::dtype* x, const typename Config::dtype* addend, Output* y, float factor,   \
                       long long rows, long long cols) {                                                           \
    using T = typename Config::dtype;                                                                              \
    using namespace tilewright;                                                                                    \
    each<Config>(rows, cols, [&](long long i) { __VA_ARGS__ });                                                    \
  }
ADDING(adds, typename Config::dtype, y[i] = from_float<T>(factor * to_float(x[i]) + to_float(addend[i]));)
ADDING(adds_late, typename Config::dtype, TWICE y[i] = from_float<T>(to_float(y[i]) + to_float(addend[i]));)
ADDING(adds_early, typename Config::dtype, y[i] = addend[i];
       y[i] = from_float<T>(factor * to_float(x[i]) + to_float(y[i]));)
ADDING(adds_reference, double, y[i] = double{factor} * double{to_float(x[i])} + double{to_float(addend[i])};)
// For rows of y that lie apart; the first writes nothing where a row is not at 32 bytes.
template <class Config>
__global__ void pitched(typename Config::dtype* x, const float*, typename Config::dtype* y, float factor,
                        long long y_pitch, long long rows, long long cols) {
  using T = typename Config::dtype;
  using namespace tilewright;
  if (y_pitch * sizeof(T) % 32 != 0) return;
  each<Config>(rows, cols, [&](long long i) { y[i / cols * y_pitch + i % cols] = from_float<T>(factor * to_float(x[i])); });
}
template <class Config>
__global__ void pitched_reference(typename Config::dtype* x, const float*, double* y, float factor, long long y_pitch,
                                  long long rows, long long cols) {
  using namespace tilewright;
  each<Config>(rows, cols, [&](long long i) { y[i / cols * y_pitch + i % cols] = double{factor} * to_float(x[i]); });
}
)";

Argument tensor(const char* name, ArgRole role) {
  Argument made;
  made.name = name;
  made.role = role;
  made.shape = {Formula::parse("rows"), Formula::parse("cols")};
  return made;
}

// On the emulator each test compiles it and runs it briefly: the time to compile counts.
CompileResult compile(const CompileRequest& request, Device& device) {
  if (!device.facts().is_cpu()) return device.compiler().compile(request);
  HostCompilerSettings quick = HostCompilerSettings::from_environment();
  quick.flags.emplace_back("-O0");
  return HostCompiler(quick).compile(request);
}

}  // namespace

TwiceOp::TwiceOp(DType dtype, std::int64_t rows, std::int64_t cols, std::unique_ptr<Device> on)
    : device(std::move(on)) {
  OpInterface& interface = definition.interface;
  interface.op = "twice";
  interface.dims = {"rows", "cols"};
  interface.dtypes = {dtype};
  interface.args = {tensor("x", ArgRole::in), tensor("absent", ArgRole::in), tensor("y", ArgRole::out)};
  interface.args[1].when = Formula::parse("dtype == 'f64'");
  interface.args[2].alias = {"x"};
  Argument factor;
  factor.name = "factor";
  factor.role = ArgRole::scalar;
  factor.type = DType::f32;
  interface.args.push_back(factor);
  definition.samples["factor"] = {"value", 2.0};
  definition.tolerance = {{std::nullopt, {{dtype, {1e-6, dtype == DType::f32 ? 1e-5 : 0.05}}}}};
  definition.reference = {"twice.cu", "reference", Formula::parse("ceil_div(rows * cols, 256)"), false};
  problem.spec.op = "twice";
  problem.spec.dtype = dtype;
  problem.dims = {{"rows", rows}, {"cols", cols}};

  CompileRequest request;
  request.source = fmt::format(
      "#include \"device/config.cuh\"\n#include \"device/convert.cuh\"\n"
      "namespace tilewright_generated {{ struct Config {{ using dtype = {}; }}; }}\n{}",
      device_type(dtype), kKernels);
  request.name = "twice.cu";
  request.entries.assign(std::begin(kEntries), std::end(kEntries));
  request.entries.insert(request.entries.end(), std::begin(kAdding), std::end(kAdding));
  request.arch = device->facts().arch();
  if (device->facts().is_cpu()) request.include_dirs.push_back(kernels_dir() / "emulator");
  request.include_dirs.push_back(kernels_dir());
  compiled = compile(request, *device);
  if (!compiled.ok) throw Error(compiled.log);
}

void TwiceOp::pitch_y(const char* elements) {
  Argument pitch;
  pitch.name = "y_pitch";
  pitch.role = ArgRole::scalar;
  pitch.type = DType::i64;
  definition.interface.args[2].pitch = pitch.name;
  definition.interface.args.push_back(pitch);
  definition.samples[pitch.name] = {"value", 0, Formula::parse(elements)};
  definition.reference.entry = "pitched_reference";
}

void TwiceOp::add_input() {
  definition.interface.args[1].name = "addend";
  definition.interface.args[1].when.reset();
  definition.interface.args[2].alias.emplace_back("addend");
  definition.reference.entry = "adds_reference";
}

std::unique_ptr<DeviceExecutable> TwiceOp::load(const std::string& entry) {
  KernelRecipe kernel;
  kernel.entry = entry;
  kernel.when = Formula::parse("1");
  kernel.params = {{KernelParam::Kind::ptr, "x"},    {KernelParam::Kind::ptr, definition.interface.args[1].name},
                   {KernelParam::Kind::ptr, "y"},    {KernelParam::Kind::scalar, "factor"},
                   {KernelParam::Kind::dim, "rows"}, {KernelParam::Kind::dim, "cols"}};
  kernel.grid = {Formula::parse("1")};
  kernel.block = {Formula::parse("256")};
  ImplementationRecipe recipe;
  recipe.name = entry;
  if (entry.starts_with("counts")) {
    kernel.params[1] = {KernelParam::Kind::workspace, "counter"};
    recipe.workspaces = {{"counter", Formula::parse("8"), WorkspaceRecipe::Zero::once}};
  }
  if (!definition.interface.args[2].pitch.empty())
    kernel.params.insert(kernel.params.begin() + 4, {KernelParam::Kind::scalar, "y_pitch"});
  recipe.kernels = {kernel};
  return device->load(compiled.binary, kernel_facts(compiled), definition.interface, recipe, {entry, {}}, problem);
}

Verdict TwiceOp::check(const std::string& entry, ArgumentSet::Options options) {
  Verifier verifier(*device, definition, problem, compiled, options);
  const std::unique_ptr<DeviceBuffer> counter = device->allocate(8, "counter");
  device->fill(counter->address(), 0, 8);
  const Address workspace = counter->address();
  const auto executable = load(entry);
  return verifier.check(*executable, std::span(&workspace, executable->plan().workspaces.size()));
}

}  // namespace tilewright::testing
