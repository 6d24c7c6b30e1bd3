// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/reference_run.hpp"

#include <utility>

namespace tilewright {
namespace {

// The reference as an implementation: all arguments of the op in order, then all dims.
ImplementationRecipe reference_recipe(const OpDefinition& definition) {
  KernelRecipe kernel;
  kernel.entry = definition.reference.entry;
  kernel.when = Formula::parse("1");
  for (const Argument& arg : definition.interface.args) {
    kernel.params.push_back(
        {arg.role == ArgRole::scalar ? KernelParam::Kind::scalar : KernelParam::Kind::ptr, arg.name});
  }
  for (const std::string& dim : definition.interface.dims) kernel.params.push_back({KernelParam::Kind::dim, dim});
  kernel.grid = {definition.reference.grid};
  kernel.block = {Formula::parse("256")};
  ImplementationRecipe recipe;
  recipe.name = "reference";
  recipe.kernels = {std::move(kernel)};
  return recipe;
}

}  // namespace

void run_reference(Device& device, const OpDefinition& definition, const Problem& problem, const CompileResult& binary,
                   const std::vector<std::uint64_t>& values) {
  device
      .load(binary.binary, kernel_facts(binary), definition.interface, reference_recipe(definition), {"reference", {}},
            problem)
      ->run({values, {}});
}

std::unique_ptr<DeviceBuffer> room_for_expected(Device& device, const ArgumentSet& set, std::size_t arg) {
  const PlannedArg& planned = set.args()[arg];
  const TensorLayout& layout = set.layout(arg);
  const auto bytes = static_cast<std::size_t>(layout.span()) * sizeof(double);
  auto buffer = device.allocate(bytes, "expected " + planned.name);
  device.fill(buffer->address(), 0xff, bytes);
  if (planned.role == ArgRole::inout) {
    device.tools().widen(buffer->address(), set.values()[arg], planned.type, layout.span());
    poison_gaps(device.tools(), buffer->address(), layout, sizeof(double));
  }
  return buffer;
}

}  // namespace tilewright
