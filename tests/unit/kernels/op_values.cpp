// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernels/op_values.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>

#include "tuner/compile/source.hpp"
#include "tuner/verify/inputs.hpp"
#include "tuner/verify/reference_run.hpp"

namespace tilewright::test {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

template <class T>
std::vector<double> values_of(const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
  return values;
}

std::vector<std::byte> narrow(DType type, const std::vector<double>& values) {
  switch (type) {
    case DType::f32:
      return bytes_of<float>(values);
    case DType::i32:
      return bytes_of<std::int32_t>(values);
    case DType::i64:
      return bytes_of<std::int64_t>(values);
    default:
      throw std::logic_error("a test gives values of f32, i32 and i64 alone");
  }
}

std::vector<double> widen(DType type, const std::vector<std::byte>& bytes) {
  switch (type) {
    case DType::f32:
      return values_of<float>(bytes);
    case DType::i32:
      return values_of<std::int32_t>(bytes);
    case DType::i64:
      return values_of<std::int64_t>(bytes);
    default:
      throw std::logic_error("a test takes values of f32, i32 and i64 alone");
  }
}

}  // namespace

struct OpValues::Parts {
  std::unique_ptr<Device> device = open_device("cpu");
  const OpDefinition* definition = nullptr;
  Problem problem;
  CompileResult binary;
  std::unique_ptr<ArgumentSet> set;
};

OpValues::OpValues(BuiltInOp& op, const std::string& key) : parts_(std::make_unique<Parts>()) {
  Parts& parts = *parts_;
  parts.definition = &op.definition();
  parts.problem = op.problem(key);
  const GeneratedSource source = generate_reference(*parts.definition, parts.problem);
  CompileRequest request;
  request.source = source.text;
  request.name = source.name;
  request.entries = source.entries;
  request.arch = "cpu";
  request.include_dirs = {test_kernels_dir() / "emulator", test_kernels_dir()};
  parts.binary = parts.device->compiler().compile(request);
  if (!parts.binary.ok) throw std::runtime_error(parts.binary.log);
  parts.set = std::make_unique<ArgumentSet>(*parts.device, *parts.definition, parts.problem,
                                            ArgumentSet::Options{.reference = &parts.binary});
}

OpValues::~OpValues() = default;

Values OpValues::inputs() const {
  Values inputs;
  for (std::size_t i = 0; i < parts_->set->args().size(); ++i) {
    const PlannedArg& arg = parts_->set->args()[i];
    if (arg.role == ArgRole::in) inputs[arg.name] = widen(arg.type, parts_->set->read(i));
  }
  return inputs;
}

Values OpValues::reference(const Values& inputs) const {
  Device& device = *parts_->device;
  std::vector<std::uint64_t> values = parts_->set->values();
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::map<std::string, DeviceBuffer*> outputs;
  const std::vector<PlannedArg>& args = parts_->set->args();
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (is_output(args[i])) {
      buffers.push_back(room_for_expected(device, *parts_->set, i));
      outputs[args[i].name] = buffers.back().get();
    } else if (const auto given = inputs.find(args[i].name); given != inputs.end()) {
      const std::vector<std::byte> bytes = narrow(args[i].type, given->second);
      if (bytes.size() != parts_->set->tensor(i).bytes) throw std::logic_error(args[i].name + " has another size");
      buffers.push_back(device.allocate(bytes.size(), args[i].name));
      device.upload(buffers.back()->address(), bytes);
    } else {
      continue;
    }
    values[i] = buffers.back()->address();
  }
  run_reference(device, *parts_->definition, parts_->problem, parts_->binary, values);
  Values results;
  for (const auto& [name, buffer] : outputs) {
    std::vector<double>& result = results[name];
    result.resize(buffer->bytes() / sizeof(double));
    device.download(std::as_writable_bytes(std::span(result)), buffer->address());
  }
  return results;
}

std::vector<double> random_values(std::size_t count, std::uint32_t seed) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back((static_cast<double>(seed >> 24) - 128) / 64);
  }
  return values;
}

}  // namespace tilewright::test
