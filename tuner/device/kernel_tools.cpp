// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tuner/definition/kernels_dir.hpp"
#include "tuner/device/tensor_tools.hpp"

namespace tilewright {
namespace {

constexpr const char* kSource =
    "namespace tilewright_generated {\nstruct Config {};\n}\n#include \"utility/tensor_tools.cu\"\n";
constexpr std::int64_t kMostBlocks = 1024;
// The bytes of the largest tally.
constexpr std::size_t kTallyBytes = sizeof(utility::Difference);

struct ArgumentOf {
  const char* name;
  DType type;
  bool is_scalar;
};
constexpr ArgumentOf tensor(const char* name) { return {name, DType::u8, false}; }
constexpr ArgumentOf scalar(const char* name, DType type) { return {name, type, true}; }

// The kernels' parameters as in tensor_tools.cu.
const std::map<std::string, std::vector<ArgumentOf>>& signatures() {
  static const std::map<std::string, std::vector<ArgumentOf>> kAll{
      {"fill_random",
       {tensor("to"), scalar("type", DType::i64), scalar("count", DType::i64), scalar("fill", DType::i64),
        scalar("key", DType::u64), scalar("factor", DType::f32)}},
      {"fill_by_program",
       {tensor("to"), tensor("words"), tensor("firsts"), scalar("type", DType::i64), scalar("count", DType::i64),
        scalar("scale", DType::f64)}},
      {"round_elements",
       {tensor("to"), tensor("from"), tensor("words"), scalar("type", DType::i64), scalar("count", DType::i64)}},
      {"widen", {tensor("from"), tensor("to"), scalar("type", DType::i64), scalar("count", DType::i64)}},
      {"fill_gaps",
       {tensor("to"), tensor("repeats"), scalar("rows", DType::i64), scalar("row", DType::i64),
        scalar("gap", DType::i64), scalar("count", DType::i64), scalar("word", DType::u64)}},
      {"tally_words", {tensor("words"), tensor("tallies"), scalar("count", DType::i64)}},
      {"compare",
       {tensor("result"), tensor("reference"), tensor("differences"), scalar("type", DType::i64),
        scalar("count", DType::i64), scalar("absolute", DType::f64), scalar("relative", DType::f64),
        scalar("overflow", DType::f64), scalar("sampled", DType::i64)}},
  };
  return kAll;
}

std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// The smallest of a few block counts that keeps the device busy. Each used count is loaded once.
std::int64_t blocks_for(std::int64_t count) {
  constexpr std::int64_t kPerBlock = 256 * 16;
  for (const std::int64_t blocks : {1, 32}) {
    if (count <= blocks * kPerBlock) return blocks;
  }
  return kMostBlocks;
}

class KernelTools : public TensorTools {
 public:
  explicit KernelTools(Device& device) : device_(device) {
    CompileRequest request;
    request.source = kSource;
    request.name = "tensor_tools.cu";
    for (const auto& [entry, arguments] : signatures()) request.entries.push_back(entry);
    request.arch = device.facts().arch();
    const auto kernels = kernels_dir();
    if (device.facts().is_cpu()) request.include_dirs.push_back(kernels / "emulator");
    request.include_dirs.push_back(kernels);
    compiled_ = device.compiler().compile(request);
    if (!compiled_.ok) throw Error("compiling the tuner's own kernels failed:\n" + compiled_.log);
    tallies_ = device.allocate(kMostBlocks * kTallyBytes, "tallies of verification");
  }

  void fill_random(Address to, DType type, std::int64_t count, const RandomFill& fill) override {
    run("fill_random", blocks_for(count),
        {to, bits(std::int64_t{utility_type(type)}), bits(count), bits(std::int64_t{fill.fill}), fill.key,
         bits(fill.factor())});
  }

  std::optional<std::int64_t> fill_by_program(Address to, DType type, const ProgramFill& fill) override {
    const auto words = on_device(fill.words);
    const std::int64_t blocks = blocks_for(fill.elements);
    run("fill_by_program", blocks,
        {to, words->address(), tallies_->address(), bits(std::int64_t{utility_type(type)}), bits(fill.elements),
         bits(fill.scale)});
    const auto first = merged(blocks, utility::FirstWithout{utility::kPoison});
    return first.index == utility::kPoison ? std::nullopt : std::optional(static_cast<std::int64_t>(first.index));
  }

  void round_elements(Address to, DType type, Address from, const std::vector<utility::i64>& words,
                      std::int64_t elements) override {
    run("round_elements", blocks_for(elements),
        {to, from, on_device(words)->address(), bits(std::int64_t{utility_type(type)}), bits(elements)});
  }

  void widen(Address to, Address from, DType type, std::int64_t count) override {
    run("widen", blocks_for(count), {from, to, bits(std::int64_t{utility_type(type)}), bits(count)});
  }

  void fill_gaps(Address to, const Gaps& gaps, std::int64_t size, utility::u64 word) override {
    const std::int64_t gap = (gaps.pitch - gaps.row) * size, rows = gaps.rows - 1;
    std::int64_t count = rows * gap;
    std::vector<utility::i64> repeats{static_cast<utility::i64>(gaps.repeats.size())};
    for (const StrideStep& each : gaps.repeats) {
      repeats.insert(repeats.end(), {each.extent, each.stride * size});
      count *= each.extent;
    }
    if (count <= 0) return;
    run("fill_gaps", blocks_for(count),
        {to, on_device(repeats)->address(), bits(rows), bits(gaps.row * size), bits(gap), bits(count), word});
  }

  utility::WordTally tally_words(Address words, std::int64_t count) override {
    const std::int64_t blocks = blocks_for(count);
    run("tally_words", blocks, {words, tallies_->address(), bits(count)});
    return merged(blocks, utility::WordTally{0, 0});
  }

  utility::Difference compare(Address result, DType type, Address reference, std::int64_t count,
                              const utility::Bounds& bounds) override {
    const std::int64_t blocks = blocks_for(count);
    run("compare", blocks,
        {result, reference, tallies_->address(), bits(std::int64_t{utility_type(type)}), bits(count),
         bits(bounds.absolute), bits(bounds.relative), bits(bounds.overflow), bits(std::int64_t{bounds.sampled})});
    return merged(blocks, utility::no_difference());
  }

 private:
  void run(const std::string& entry, std::int64_t blocks, std::vector<std::uint64_t> values) {
    auto& executable = executables_[{entry, blocks}];
    if (!executable) executable = load(entry, blocks);
    executable->run({std::move(values), {}});
  }

  // One kernel as an op without dims, so that one executable serves tensors of all sizes.
  std::unique_ptr<DeviceExecutable> load(const std::string& entry, std::int64_t blocks) {
    OpInterface interface;
    interface.op = "tensor_tools";
    interface.dtypes = {DType::f32};
    KernelRecipe kernel;
    kernel.entry = entry;
    kernel.when = Formula::parse("1");
    kernel.grid = {Formula::parse("blocks")};
    kernel.block = {Formula::parse("256")};
    for (const ArgumentOf& argument : signatures().at(entry)) {
      Argument made;
      made.name = argument.name;
      made.role = argument.is_scalar ? ArgRole::scalar : ArgRole::inout;
      made.type = argument.type;
      if (!argument.is_scalar) made.shape = {Formula::parse("1")};
      interface.args.push_back(std::move(made));
      kernel.params.push_back({argument.is_scalar ? KernelParam::Kind::scalar : KernelParam::Kind::ptr, argument.name});
    }
    ImplementationRecipe recipe;
    recipe.name = entry;
    recipe.parameters = {"blocks"};
    recipe.kernels = {std::move(kernel)};
    Problem problem;
    problem.spec.op = interface.op;
    return device_.load(compiled_.binary, kernel_facts(compiled_), interface, recipe, {entry, {{"blocks", blocks}}},
                        problem);
  }

  std::unique_ptr<DeviceBuffer> on_device(const std::vector<utility::i64>& words) {
    auto buffer = device_.allocate(words.size() * sizeof(utility::i64), "a program of the tuner");
    device_.upload(buffer->address(), std::as_bytes(std::span(words)));
    return buffer;
  }

  template <class Tally>
  Tally merged(std::int64_t blocks, Tally whole) {
    std::vector<Tally> parts(static_cast<std::size_t>(blocks));
    device_.download(std::as_writable_bytes(std::span<Tally>(parts)), tallies_->address());
    for (const Tally& part : parts) utility::merge(whole, part);
    return whole;
  }

  Device& device_;
  CompileResult compiled_;
  std::unique_ptr<DeviceBuffer> tallies_;
  std::map<std::pair<std::string, std::int64_t>, std::unique_ptr<DeviceExecutable>> executables_;
};

}  // namespace

std::unique_ptr<TensorTools> make_kernel_tools(Device& device) { return std::make_unique<KernelTools>(device); }

}  // namespace tilewright
