// SPDX-License-Identifier: Apache-2.0
#include "tuner/verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tuner/verify/reference_run.hpp"

namespace tilewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// From this value on, the type rounds to infinity: half a step beyond its greatest number.
double overflow_of(DType type) {
  switch (type) {
    case DType::f16:
      return 65520.0;
    case DType::bf16:
      return std::ldexp(511.0, 119);
    case DType::f32:
      return std::ldexp(33554431.0, 103);
    default:
      return kInfinity;
  }
}

// The gaps in a sampled output's expected values hold this NaN, which differs from the mark of elements left out.
constexpr utility::u64 kGapBits = 0x7ff8000000000a9aULL;

}  // namespace

double norm_limit(DType type, const Tolerance& tolerance) noexcept {
  if (tolerance.norm) return *tolerance.norm;
  const double rounding = unit_roundoff(type);
  if (rounding <= 0) return kInfinity;
  const bool is_accumulator = type == DType::f32 || type == DType::f64;
  return is_accumulator ? std::max(2 * rounding, tolerance.relative) : 2 * rounding;
}

namespace {

/// One sample's inputs and expected outputs.
struct SampleCheck {
  Device& device;
  ArgumentSet set;
  /// By argument, as doubles; null for inputs and scalars. Checks of the same sample may share them.
  std::vector<std::shared_ptr<DeviceBuffer>> expected;
  std::vector<Tolerance> tolerances;
  /// By argument: the number of elements that the reference computed.
  std::vector<std::int64_t> computed;
  bool sampled;
  /// Of the expected values, in argument order.
  std::vector<std::uint64_t> sums;
  /// False from the start of a run until it is known to have done no damage.
  bool intact = true;

  /// `other`, which may be null, is a check of the same sample by the same options, but for the placement.
  SampleCheck(Device& on, const OpDefinition& definition, const Problem& problem, const CompileResult& reference,
              ArgumentSet::Options options, const SampleCheck* other)
      : device(on),
        set(on, definition, problem, std::move(options)),
        expected(set.args().size()),
        computed(set.args().size()),
        sampled(definition.reference.sampled) {
    for (const PlannedArg& arg : set.args()) {
      tolerances.push_back(definition.tolerance_of(problem, arg.type, arg.name));
    }
    if (other != nullptr && has_strides_of(other->set)) {
      expected = other->expected;
      computed = other->computed;
      sums = other->sums;
    } else {
      compute_expected(definition, problem, reference);
    }
  }

  // Strides are scalars. An output in place has its input's, and contents depend on strides.
  [[nodiscard]] bool has_strides_of(const ArgumentSet& other) const {
    for (std::size_t i = 0; i < set.args().size(); ++i) {
      if (set.args()[i].role == ArgRole::scalar && set.values()[i] != other.values()[i]) return false;
    }
    return true;
  }

  void compute_expected(const OpDefinition& definition, const Problem& problem, const CompileResult& reference) {
    const std::string who =
        fmt::format("the reference of {} ({})", problem.key(), definition.reference.source.string());
    set.poison_outputs();
    std::vector<std::uint64_t> values = set.values();
    for (std::size_t i = 0; i < set.args().size(); ++i) {
      if (!is_output(set.args()[i])) continue;
      expected[i] = room_for_expected(device, set, i);
      values[i] = expected[i]->address();
    }
    run_reference(device, definition, problem, reference, values);
    if (const std::string damage = set.damage(); !damage.empty()) throw Error(who + " is wrong: " + damage);
    for (std::size_t i = 0; i < set.args().size(); ++i) {
      if (expected[i]) require_complete(i, who);
    }
    sums = sums_now();
  }

  [[nodiscard]] std::vector<std::uint64_t> sums_now() const {
    std::vector<std::uint64_t> now;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i]) now.push_back(device.tools().tally_words(expected[i]->address(), set.layout(i).span()).sum);
    }
    return now;
  }

  // Poison marks elements left out; gaps hold another value, to tell them apart.
  [[nodiscard]] bool has_marked_gaps(std::size_t arg) const { return sampled && set.layout(arg).gaps() > 0; }

  void mark_gaps(std::size_t arg) {
    if (!has_marked_gaps(arg)) return;
    for (const Gaps& gaps : set.layout(arg).gaps_by_step()) {
      device.tools().fill_gaps(expected[arg]->address(), gaps, sizeof(double), kGapBits);
    }
  }

  void poison_gaps(std::size_t arg) {
    tilewright::poison_gaps(device.tools(), expected[arg]->address(), set.layout(arg), sizeof(double));
  }

  // The reference must write all elements, or some if it samples, and nothing between rows.
  void require_complete(std::size_t arg, const std::string& who) {
    const TensorLayout& layout = set.layout(arg);
    const auto poison = [&] {
      return static_cast<std::int64_t>(device.tools().tally_words(expected[arg]->address(), layout.span()).poison);
    };
    const std::int64_t before = poison();
    const std::string& name = set.args()[arg].name;
    std::int64_t unwritten = before;
    if (layout.gaps() > 0) {
      poison_gaps(arg);
      const std::int64_t after = poison();
      if (after != before) throw Error(fmt::format("{} is wrong: it wrote between the rows of {}", who, name));
      unwritten = after - layout.gaps();
    }
    computed[arg] = layout.elements() - (sampled ? unwritten : 0);
    if (unwritten == 0 || (sampled && computed[arg] > 0)) return mark_gaps(arg);
    throw Error(
        fmt::format("{} is wrong: it left {} of {} elements of {} unwritten", who, unwritten, layout.elements(), name));
  }

  // Describes the first fault of one output; empty if there is none. Adds its errors to the verdict's.
  std::string judge(std::size_t index, Verdict& verdict) {
    const PlannedArg& arg = set.args()[index];
    const Tolerance& tolerance = tolerances[index];
    const utility::Difference difference =
        device.tools().compare(set.values()[index], arg.type, expected[index]->address(), set.layout(index).span(),
                               {tolerance.absolute, tolerance.relative, overflow_of(arg.type), sampled});
    const double norm =
        difference.reference_squares > 0 ? std::sqrt(difference.error_squares / difference.reference_squares) : 0.0;
    const double limit = norm_limit(arg.type, tolerance);
    verdict.outputs.push_back({arg.name,
                               arg.type,
                               computed[index],
                               static_cast<std::int64_t>(difference.wrong),
                               {difference.max_absolute, difference.max_relative, norm},
                               tolerance,
                               limit});
    Accuracy& accuracy = verdict.accuracy;
    accuracy.max_absolute = std::max(accuracy.max_absolute, difference.max_absolute);
    accuracy.max_relative = std::max(accuracy.max_relative, difference.max_relative);
    accuracy.norm_relative = std::max(accuracy.norm_relative, norm);
    if (difference.wrong > 0) return describe(index, difference);
    if (norm <= limit) return {};
    return fmt::format(
        "{} is off by {:.3g} norm-wise, where {:.3g} is allowed, although each element is within its "
        "tolerance",
        arg.name, norm, limit);
  }

  std::string describe(std::size_t index, const utility::Difference& difference) {
    const PlannedArg& arg = set.args()[index];
    const auto first = static_cast<std::int64_t>(difference.first_wrong);
    const TensorLayout& layout = set.layout(index);
    const std::string element = element_name(arg, layout.element(first));
    const utility::u64 off = difference.wrong - difference.stray - difference.unwritten;
    if (layout.in_gap(first)) {
      const utility::u64 written = has_marked_gaps(index) ? off : difference.stray;
      return fmt::format("it wrote between the rows of {}: {} elements, the first behind {}", arg.name, written,
                         element);
    }
    std::uint64_t stored = 0;
    double reference = 0;
    const std::size_t size = size_of(arg.type);
    device.download(std::as_writable_bytes(std::span(&stored, 1)).first(size),
                    set.values()[index] + static_cast<Address>(first) * size);
    device.download(std::as_writable_bytes(std::span(&reference, 1)),
                    expected[index]->address() + static_cast<Address>(first) * sizeof(double));
    const utility::Type type = utility_type(arg.type);
    if (difference.unwritten > 0 && utility::is_poison(&stored, type, 0)) {
      const std::string others = off == 0 ? "" : fmt::format("; {} elements are off", off);
      return fmt::format("{} was never written ({} of {} elements{})", element, difference.unwritten, layout.elements(),
                         others);
    }
    if (std::bit_cast<utility::u64>(reference) == utility::kPoison) {
      return fmt::format("{} is nan ({} of the elements that the reference leaves out are)", element, difference.stray);
    }
    const bool is_sample = computed[index] < layout.elements();
    const double within = tolerances[index].absolute + tolerances[index].relative * std::fabs(reference);
    return fmt::format("{} is {:.9g}, expected {:.9g} ± {:.2g} ({} of {} {}elements are off)", element,
                       utility::read_element(&stored, type, 0), reference, std::isfinite(within) ? within : 0.0,
                       is_sample ? off : off + difference.unwritten, computed[index], is_sample ? "sampled " : "");
  }

  // The next launch, perhaps of another config, relies on zeros.
  std::string not_zero_again(const LaunchPlan& plan, std::span<const Address> workspaces) {
    for (std::size_t i = 0; i < plan.workspaces.size(); ++i) {
      const PlannedWorkspace& workspace = plan.workspaces[i];
      if (workspace.zero != WorkspaceRecipe::Zero::once) continue;
      std::vector<std::byte> bytes(workspace.bytes);
      device.download(bytes, workspaces[i]);
      const auto is_set = [](std::byte byte) { return byte != std::byte{0}; };
      const auto first = std::ranges::find_if(bytes, is_set);
      if (first == bytes.end()) continue;
      return fmt::format(
          "it left its workspace {} other than zero, which the next launch counts on: {} of {} bytes, "
          "the first at {}",
          workspace.name, std::ranges::count_if(bytes, is_set), bytes.size(), first - bytes.begin());
    }
    return {};
  }

  Verdict check(DeviceExecutable& executable, std::span<const Address> workspaces) {
    if (!intact) set.repair();
    set.place(executable.plan().args);
    set.require_alignment(executable.plan().args);
    set.poison_outputs();
    intact = false;
    executable.run({set.values(), {workspaces.begin(), workspaces.end()}});
    Verdict verdict;
    verdict.reason = set.damage();
    intact = verdict.reason.empty();
    verdict.damaged = !intact;
    for (std::size_t i = 0; i < set.args().size(); ++i) {
      if (!expected[i]) continue;
      const std::string wrong = judge(i, verdict);
      if (!wrong.empty() && verdict.reason.empty()) verdict.reason = wrong;
    }
    if (verdict.reason.empty()) verdict.reason = not_zero_again(executable.plan(), workspaces);
    verdict.right = verdict.reason.empty();
    if (const std::string places = set.in_place(); !verdict.right && !places.empty()) {
      verdict.reason = fmt::format("in place ({}): {}", places, verdict.reason);
    }
    return verdict;
  }
};

/// Merges the verdict of a further sample into `all`.
void add(Verdict& all, const Verdict& one) {
  const auto widen = [](Accuracy& into, const Accuracy& other) {
    into.max_absolute = std::max(into.max_absolute, other.max_absolute);
    into.max_relative = std::max(into.max_relative, other.max_relative);
    into.norm_relative = std::max(into.norm_relative, other.norm_relative);
  };
  if (all.outputs.empty()) {
    all = one;
    return;
  }
  for (std::size_t i = 0; i < all.outputs.size(); ++i) {
    all.outputs[i].elements += one.outputs[i].elements;
    all.outputs[i].wrong += one.outputs[i].wrong;
    widen(all.outputs[i].accuracy, one.outputs[i].accuracy);
  }
  widen(all.accuracy, one.accuracy);
  all.right = one.right;
  all.reason = one.reason;
  all.damaged = all.damaged || one.damaged;
}

}  // namespace

/// By argument, the stride alignment that `args` claim to need; empty if no argument has strides.
std::vector<std::size_t> stride_alignments(const std::vector<PlannedArg>& args) {
  std::vector<std::size_t> alignments;
  if (std::ranges::all_of(args, [](const PlannedArg& arg) { return arg.strides.empty(); })) return alignments;
  for (const PlannedArg& arg : args) alignments.push_back(arg.strides.empty() ? 0 : arg.alignment);
  return alignments;
}

struct Verifier::Impl {
  struct Named {
    /// Empty for the first.
    std::string name;
    std::unique_ptr<SampleCheck> check;
  };
  using Samples = std::vector<Named>;

  Impl(Device& on, const OpDefinition& of, Problem at, CompileResult by, ArgumentSet::Options set,
       std::function<void()> tell)
      : device(on),
        definition(of),
        problem(std::move(at)),
        reference(std::move(by)),
        options(std::move(set)),
        got_on(std::move(tell)) {}

  Device& device;
  const OpDefinition& definition;
  Problem problem;
  CompileResult reference;
  ArgumentSet::Options options;
  std::function<void()> got_on;
  /// By stride alignment: each config is checked with strides aligned as it claims and no better.
  std::map<std::vector<std::size_t>, Samples> samples{};

  Samples& samples_for(const std::vector<PlannedArg>& args) {
    options.reference = &reference;
    if (options.misalign_elements == 0) options.stride_alignments = stride_alignments(args);
    if (const auto known = samples.find(options.stride_alignments); known != samples.end()) return known->second;
    Samples made;
    const std::size_t placed = options.in_place ? std::max<std::size_t>(placements(args).size(), 1) : 1;
    for (std::size_t i = 0; i <= definition.more_samples.size(); ++i) {
      const std::string name = i == 0 ? "" : definition.more_samples[i - 1].name;
      const OpDefinition sampled = with_samples(definition, i);
      options.poison_gaps = i > 0;
      const SampleCheck* first = nullptr;
      for (options.placement = 0; options.placement < placed; ++options.placement) {
        made.push_back({name, std::make_unique<SampleCheck>(device, sampled, problem, reference, options, first)});
        if (first == nullptr) first = made.back().check.get();
        got_on();
      }
    }
    return samples.emplace(options.stride_alignments, std::move(made)).first->second;
  }
};

Verifier::Verifier(Device& device, const OpDefinition& definition, const Problem& problem, CompileResult reference,
                   ArgumentSet::Options options, std::function<void()> got_on)
    : impl_(std::make_unique<Impl>(device, definition, problem, std::move(reference), std::move(options),
                                   std::move(got_on))) {
  static_cast<void>(impl_->samples_for(plan_args(definition.interface, problem)));
}

Verifier::~Verifier() = default;

Verdict Verifier::check(DeviceExecutable& executable, std::span<const Address> workspaces) {
  Verdict all;
  for (const Impl::Named& sample : impl_->samples_for(executable.plan().args)) {
    Verdict verdict = sample.check->check(executable, workspaces);
    if (!verdict.right && !sample.name.empty()) {
      verdict.reason = fmt::format("on the sample '{}': {}", sample.name, verdict.reason);
    }
    add(all, verdict);
    if (!all.right) break;
  }
  return all;
}

bool Verifier::sound() {
  return std::ranges::all_of(impl_->samples, [](const auto& aligned) {
    return std::ranges::all_of(
        aligned.second, [](const Impl::Named& sample) { return sample.check->sums_now() == sample.check->sums; });
  });
}

}  // namespace tilewright
