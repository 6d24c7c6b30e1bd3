// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cache/base/error.hpp"
#include "cache/model/formula/arithmetic.hpp"
#include "tuner/definition/samples.hpp"

namespace tilewright {
namespace {

constexpr std::size_t kAlignment = 256;
// Elements compared at a time when locating damage.
constexpr std::int64_t kInputPiece = std::int64_t{1} << 16;

// The byte of guards: NaN in all floating-point types, so that a read shows, too; in other types a value that no index
// has.
std::uint8_t guard_byte(DType type) { return unit_roundoff(type) > 0 ? 0xff : 0xa5; }

// A scalar's value in the low bytes.
std::uint64_t scalar_bits(DType type, const SampleValue& sample) {
  const auto* const integer = std::get_if<std::int64_t>(&sample);
  const double value = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(sample);
  std::uint64_t bits = 0;
  if (type == DType::f64) {
    std::memcpy(&bits, &value, sizeof value);
  } else if (unit_roundoff(type) > 0) {
    utility::write_element(&bits, utility_type(type), 0, static_cast<float>(value));
  } else {
    const std::int64_t whole = integer != nullptr ? *integer : std::llround(value);
    std::memcpy(&bits, &whole, size_of(type));
  }
  return bits;
}

// Inputs that are not random are standard normal in gaps and where their formula does not apply.
RandomFill fill_for(const Sample& sample, std::uint64_t seed, std::size_t arg) {
  RandomFill fill;
  fill.fill = sample.fill == "uniform" ? utility::kUniform : utility::kNormal;
  if (sample.fill == "uniform" || sample.fill == "normal") fill.scale = sample.scale;
  fill.key = utility::random_bits(seed, arg);
  return fill;
}

// Whether the definition allows an output in place of an input, and their extents and types agree.
bool may_alias(const PlannedArg& output, const PlannedArg& input) {
  return output.role == ArgRole::out && std::ranges::find(output.alias, input.name) != output.alias.end() &&
         output.shape == input.shape && output.type == input.type;
}

// Puts each output that has no place yet over the first input that is free.
void fill_placement(Placement& placement, const std::vector<PlannedArg>& args) {
  for (std::size_t output = 0; output < args.size(); ++output) {
    for (std::size_t input = 0; input < args.size() && !placement[output]; ++input) {
      const bool is_free = std::ranges::find(placement, std::optional(input)) == placement.end();
      if (is_free && may_alias(args[output], args[input])) placement[output] = input;
    }
  }
}

}  // namespace

std::vector<Placement> placements(const std::vector<PlannedArg>& args) {
  std::vector<Placement> all;
  for (std::size_t output = 0; output < args.size(); ++output) {
    for (std::size_t input = 0; input < args.size(); ++input) {
      const auto has_pair = [&](const Placement& placement) { return placement[output] == input; };
      if (!may_alias(args[output], args[input]) || std::ranges::any_of(all, has_pair)) continue;
      Placement& placement = all.emplace_back(args.size());
      placement[output] = input;
      fill_placement(placement, args);
    }
  }
  return all;
}

ArgumentSet::ArgumentSet(Device& device, const OpDefinition& definition, const Problem& problem, Options options)
    : device_(device), options_(std::move(options)), args_(plan_args(definition.interface, problem)) {
  values_.resize(args_.size());
  tensors_.resize(args_.size());
  overwritten_.resize(args_.size());
  kept_.resize(args_.size());
  for (std::size_t i = 0; i < args_.size(); ++i) {
    const auto sample = definition.samples.find(args_[i].name);
    fills_.push_back(fill_for(sample == definition.samples.end() ? Sample{} : sample->second, options_.seed, i));
  }
  if (const auto all = placements(args_); options_.in_place && !all.empty()) places_ = all.at(options_.placement);
  places_.resize(args_.size());
  for (const std::optional<std::size_t>& input : places_) {
    if (input) overwritten_[*input] = true;
  }
  lay_out(definition, problem);
  // Outputs come last, because in-place outputs take the address of an existing input.
  for (const bool outputs : {false, true}) {
    for (std::size_t i = 0; i < args_.size(); ++i) {
      if (args_[i].role == ArgRole::scalar || (args_[i].role == ArgRole::out) != outputs) continue;
      if (places_[i]) {
        tensors_[i].address = tensors_[*places_[i]].address;
      } else {
        allocate(i, static_cast<std::size_t>(options_.misalign_elements) * size_of(args_[i].type));
      }
      values_[i] = tensors_[i].address;
    }
  }
  for (std::size_t i = 0; i < args_.size(); ++i) {
    const auto sample = definition.samples.find(args_[i].name);
    if (args_[i].role == ArgRole::scalar || sample == definition.samples.end()) continue;
    fill_by_sample(i, sample->second, definition, problem);
  }
  make_inputs(definition, problem);
}

// Sets the values of scalars, and from strides the layout of tensors.
void ArgumentSet::lay_out(const OpDefinition& definition, const Problem& problem) {
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (args_[i].role == ArgRole::scalar) {
      values_[i] = scalar_bits(args_[i].type, scalar_sample(definition, args_[i].name, problem));
    }
  }
  std::vector<std::size_t> alignments = options_.stride_alignments;
  for (std::size_t i = 0; i < alignments.size(); ++i) {
    if (places_[i]) alignments[*places_[i]] = std::max(alignments[*places_[i]], alignments[i]);
  }
  std::vector<std::vector<StrideStep>> strides = sample_strides(definition, problem, args_, alignments);
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (places_[i]) strides[i] = strides[*places_[i]];
    for (std::size_t s = 0; s < args_[i].strides.size(); ++s) {
      values_[args_[i].strides[s].scalar] = static_cast<std::uint64_t>(strides[i][s].stride);
    }
  }
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (args_[i].role == ArgRole::scalar) continue;
    const auto size = static_cast<std::int64_t>(size_of(args_[i].type));
    if (strides[i].empty()) {
      tensors_[i].layout = TensorLayout(static_cast<std::int64_t>(args_[i].bytes) / size, {});
    } else {
      // Beyond the last row, so that offsets of gaps do not overflow either.
      checked::Number bytes = size;
      for (const StrideStep& step : strides[i]) {
        const checked::Number way = checked::multiply(step.extent, step.stride);
        const checked::Number in_bytes = way ? checked::multiply(*way, size) : way;
        bytes = bytes && in_bytes ? checked::add(*bytes, *in_bytes) : std::nullopt;
      }
      if (!bytes) {
        throw UsageError(fmt::format("cannot make the argument {} of {}: its elements lie beyond 2^63-1 bytes",
                                     args_[i].name, problem.key()));
      }
      tensors_[i].layout = TensorLayout(args_[i].shape.back(), strides[i]);
    }
    tensors_[i].bytes = static_cast<std::size_t>(tensors_[i].layout.span() * size);
  }
}

void ArgumentSet::allocate(std::size_t arg, std::size_t shift) {
  const PlannedArg& planned = args_[arg];
  GuardedTensor& tensor = tensors_[arg];
  // Room for the tensor at any address that place() may choose.
  const std::size_t whole =
      (kGuardBytes + shift + kAlignment + tensor.bytes + kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
  tensor.buffer = device_.allocate(whole, "argument " + planned.name);
  bytes_ += tensor.bytes;
  put(arg, shift);
}

void ArgumentSet::put(std::size_t arg, std::size_t shift) {
  GuardedTensor& tensor = tensors_[arg];
  tensor.address = tensor.buffer->address() + kGuardBytes + shift;
  fill_guards(arg);
  if (args_[arg].role == ArgRole::out) {
    device_.fill(tensor.address, 0xff, tensor.bytes);
  } else {
    fill_input(arg);
  }
}

void ArgumentSet::require_alignment(const std::vector<PlannedArg>& args) const {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const PlannedArg& arg = args[i];
    if (arg.role == ArgRole::scalar) continue;
    const bool is_aligned =
        values_[i] % arg.alignment == 0 && std::ranges::all_of(arg.strides, [&](const PlannedStride& stride) {
          return values_[stride.scalar] * size_of(arg.type) % arg.alignment == 0;
        });
    if (is_aligned) continue;
    const char* what = arg.strides.empty() ? "address" : arg.is_pitched ? "address and pitch" : "address and strides";
    throw UsageError(fmt::format("cannot check a config at this {}: {} must be a multiple of {} bytes", what, arg.name,
                                 arg.alignment));
  }
}

void ArgumentSet::place(const std::vector<PlannedArg>& args) {
  if (options_.misalign_elements != 0) return;
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (!tensors_[i].buffer) continue;
    std::size_t alignment = args[i].alignment;
    for (std::size_t output = 0; output < args_.size(); ++output) {
      if (places_[output] == i) alignment = std::max(alignment, args[output].alignment);
    }
    const std::size_t shift = std::max(alignment, size_of(args_[i].type)) % kAlignment;
    if (tensors_[i].address == tensors_[i].buffer->address() + kGuardBytes + shift) continue;
    put(i, shift);
    values_[i] = tensors_[i].address;
    sums_.clear();
  }
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (places_[i]) values_[i] = tensors_[i].address = tensors_[*places_[i]].address;
  }
}

void ArgumentSet::fill_guards(std::size_t arg) {
  const GuardedTensor& tensor = tensors_[arg];
  const std::uint8_t byte = guard_byte(args_[arg].type);
  const Address begin = tensor.buffer->address(), end = begin + tensor.buffer->bytes();
  device_.fill(begin, byte, tensor.address - begin);
  device_.fill(tensor.address + tensor.bytes, byte, end - tensor.address - tensor.bytes);
}

void ArgumentSet::fill_input(std::size_t arg) {
  if (kept_[arg]) {
    device_.copy(tensors_[arg].address, kept_[arg]->address(), tensors_[arg].bytes);
    return;
  }
  fill_random(arg);
  fill_gaps(arg);
}

void ArgumentSet::fill_random(std::size_t arg) {
  device_.tools().fill_random(tensors_[arg].address, args_[arg].type, tensors_[arg].layout.span(), fills_[arg]);
}

void ArgumentSet::fill_gaps(std::size_t arg) {
  // Gaps between written rows hold the value that comparison knows as unwritten.
  if (args_[arg].role != ArgRole::inout && !overwritten_[arg] && !options_.poison_gaps) return;
  const GuardedTensor& tensor = tensors_[arg];
  poison_gaps(device_.tools(), tensor.address, tensor.layout, static_cast<std::int64_t>(size_of(args_[arg].type)));
}

bool ArgumentSet::is_pure_input(std::size_t arg) const { return args_[arg].role == ArgRole::in && !overwritten_[arg]; }

utility::WordTally ArgumentSet::tally(std::size_t arg) const {
  const DeviceBuffer& buffer = *tensors_[arg].buffer;
  return device_.tools().tally_words(buffer.address(),
                                     static_cast<std::int64_t>(buffer.bytes() / sizeof(utility::u64)));
}

void ArgumentSet::poison_outputs() {
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (args_[i].role == ArgRole::inout || overwritten_[i]) fill_input(i);
    if (args_[i].role == ArgRole::out && tensors_[i].buffer) device_.fill(tensors_[i].address, 0xff, tensors_[i].bytes);
  }
  if (!sums_.empty()) return;
  sums_.resize(args_.size());
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (is_pure_input(i)) sums_[i] = tally(i).sum;
  }
}

std::string ArgumentSet::damage() const {
  std::string text;
  const auto add = [&](const std::string& found) {
    if (!found.empty()) text += (text.empty() ? "" : "; ") + found;
  };
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (!tensors_[i].buffer) continue;
    // One sum covers an input and its guards; search for the place only if the sum differs.
    if (is_pure_input(i) && !sums_.empty() && tally(i).sum == sums_[i]) continue;
    add(guard_damage(i));
    if (is_pure_input(i) && !sums_.empty()) add(input_damage(i));
  }
  return text;
}

std::string ArgumentSet::guard_damage(std::size_t arg) const {
  const GuardedTensor& tensor = tensors_[arg];
  const auto expected = static_cast<std::byte>(guard_byte(args_[arg].type));
  const Address begin = tensor.buffer->address(), end = begin + tensor.buffer->bytes();
  const Address tensor_end = tensor.address + tensor.bytes;
  const auto is_changed = [&](std::byte byte) { return byte != expected; };
  std::vector<std::byte> guard(end - tensor_end);
  device_.download(guard, tensor_end);
  if (const auto first = std::find_if(guard.begin(), guard.end(), is_changed); first != guard.end()) {
    return fmt::format("it wrote past the end of {}: {} bytes, the first {} bytes behind it", args_[arg].name,
                       std::count_if(first, guard.end(), is_changed), first - guard.begin());
  }
  guard.resize(tensor.address - begin);
  device_.download(guard, begin);
  if (const auto last = std::find_if(guard.rbegin(), guard.rend(), is_changed); last != guard.rend()) {
    return fmt::format("it wrote before the start of {}: {} bytes, the last {} bytes before it", args_[arg].name,
                       std::count_if(last, guard.rend(), is_changed), last - guard.rbegin() + 1);
  }
  return {};
}

std::string ArgumentSet::input_damage(std::size_t arg) const {
  const utility::Type type = utility_type(args_[arg].type);
  const std::size_t size = size_of(args_[arg].type);
  std::vector<std::byte> piece, kept;
  const TensorLayout& layout = tensors_[arg].layout;
  for (std::int64_t first = 0; first < layout.span(); first += kInputPiece) {
    const std::int64_t here = std::min(kInputPiece, layout.span() - first);
    piece.resize(static_cast<std::size_t>(here) * size);
    device_.download(piece, tensors_[arg].address + static_cast<Address>(first) * size);
    kept.resize(piece.size());
    if (kept_[arg]) device_.download(kept, kept_[arg]->address() + static_cast<Address>(first) * size);
    for (std::int64_t i = 0; i < here; ++i) {
      std::uint64_t original = 0;
      if (kept_[arg]) {
        std::memcpy(&original, kept.data() + static_cast<std::size_t>(i) * size, size);
      } else {
        utility::write_element(&original, type, 0, fills_[arg].value(first + i));
      }
      if (std::memcmp(&original, piece.data() + static_cast<std::size_t>(i) * size, size) == 0) continue;
      return fmt::format("it changed its input {}: {}{} was {:.9g} and is {:.9g}", args_[arg].name,
                         layout.in_gap(first + i) ? "what lies between the rows behind " : "",
                         element_name(args_[arg], layout.element(first + i)), utility::read_element(&original, type, 0),
                         utility::read_element(piece.data(), type, i));
    }
  }
  return {};
}

void ArgumentSet::repair() {
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (!tensors_[i].buffer) continue;
    fill_guards(i);
    if (args_[i].role == ArgRole::in) fill_input(i);
  }
}

std::vector<std::byte> ArgumentSet::read(std::size_t arg) const {
  std::vector<std::byte> bytes(tensors_.at(arg).bytes);
  device_.download(bytes, tensors_[arg].address);
  return bytes;
}

std::string ArgumentSet::in_place() const {
  std::string text;
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (!places_[i]) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", args_[i].name, args_[*places_[i]].name);
  }
  return text;
}

std::vector<std::int64_t> element_strides(const PlannedArg& arg, const TensorLayout& layout) {
  const std::size_t rank = arg.shape.size();
  std::vector<std::int64_t> strides(rank, 1);
  const std::vector<StrideStep>& steps = layout.steps();
  for (std::size_t i = rank - 1; i-- > 0;) {
    const bool is_row = i + 2 == rank;
    if (steps.empty() || (arg.is_pitched && !is_row)) {
      strides[i] = strides[i + 1] * arg.shape[i + 1];
    } else {
      strides[i] = steps[arg.is_pitched ? 0 : i].stride;
    }
  }
  return strides;
}

void poison_gaps(TensorTools& tools, Address address, const TensorLayout& layout, std::int64_t size) {
  for (const Gaps& gaps : layout.gaps_by_step()) tools.poison_gaps(address, gaps, size);
}

std::string element_name(const PlannedArg& arg, std::int64_t index) {
  std::string indices;
  for (auto extent = arg.shape.rbegin(); extent != arg.shape.rend(); ++extent) {
    indices = fmt::format("[{}]", index % *extent) + indices;
    index /= *extent;
  }
  return arg.name + indices;
}

}  // namespace tilewright
