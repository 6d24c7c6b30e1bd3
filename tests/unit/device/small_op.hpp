// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tuner/definition/kernels_dir.hpp"
#include "tuner/device/device.hpp"

/// An op of one kernel, y[i] = factor · x[i] for i < n, with a value of twice n, and functions to run it on a device. A
/// test may change the kernel's body.
namespace tilewright::testing {

inline Argument argument(const char* name, ArgRole role, DType type, const char* shape = nullptr) {
  Argument made;
  made.name = name;
  made.role = role;
  made.type = type;
  if (shape != nullptr) made.shape = {Formula::parse(shape)};
  return made;
}

struct SmallOp {
  OpInterface interface;
  ImplementationRecipe recipe;
  Config config{"plain", {{"threads", 64}}};
  Problem problem;
  std::string body = "if (i < n) y[i] = factor * x[i];";

  explicit SmallOp(std::int64_t n = 1000) {
    interface.op = "scale";
    interface.dims = {"n"};
    interface.dtypes = {DType::f32};
    interface.args = {argument("x", ArgRole::in, DType::f32, "n"), argument("y", ArgRole::out, DType::f32, "n"),
                      argument("factor", ArgRole::scalar, DType::f32)};
    recipe.name = "plain";
    recipe.parameters = {"threads"};
    KernelRecipe kernel;
    kernel.entry = "scale_plain";
    kernel.when = Formula::parse("1");
    kernel.params = {{KernelParam::Kind::ptr, "x"},
                     {KernelParam::Kind::ptr, "y"},
                     {KernelParam::Kind::scalar, "factor"},
                     {KernelParam::Kind::dim, "n"},
                     {KernelParam::Kind::value, "twice_n"}};
    recipe.values = {{"twice_n", Formula::parse("2 * n")}};
    kernel.grid = {Formula::parse("ceil_div(n, threads)")};
    kernel.block = {Formula::parse("threads")};
    recipe.kernels = {kernel};
    problem.spec.op = "scale";
    problem.dims = {{"n", n}};
  }

  [[nodiscard]] CompileRequest request(const Device& device) const {
    CompileRequest request;
    request.source =
        "#include \"device/config.cuh\"\n"
        "namespace tilewright_generated { struct Config { static constexpr int threads = 64; }; }\n"
        "template <class Config>\n"
        "__global__ void scale_plain(const float* x, float* y, float factor, long long n, long long twice_n) {\n"
        "  const long long i = blockIdx.x * (long long)Config::threads + threadIdx.x;\n  " +
        body + "\n}\n";
    request.name = "scale.cu";
    request.entries = {"scale_plain"};
    request.arch = device.facts().arch();
    if (device.facts().is_cpu()) request.include_dirs.push_back(kernels_dir() / "emulator");
    request.include_dirs.push_back(kernels_dir());
    return request;
  }

  [[nodiscard]] std::unique_ptr<DeviceExecutable> load(Device& device) const {
    const CompileResult compiled = device.compiler().compile(request(device));
    if (!compiled.ok) throw Error(compiled.log);
    return device.load(compiled.binary, kernel_facts(compiled), interface, recipe, config, problem);
  }
};

}  // namespace tilewright::testing
