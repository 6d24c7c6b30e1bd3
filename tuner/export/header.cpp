// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include "cache/store/referred.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "cache/base/content_hash.hpp"
#include "cache/base/error.hpp"
#include "cache/base/version.hpp"
#include "cache/plan/plan.hpp"
#include "cache/plan/plan_map.hpp"
#include "tuner/learn/spares.hpp"

namespace tilewright {
namespace {

// The first part of the header: types that need only the language.
constexpr const char* kTypes = R"header(#pragma once

#include <cstddef>
#include <cstdint>

#ifndef TILEWRIGHT_WINNERS_TYPES
#define TILEWRIGHT_WINNERS_TYPES
namespace tilewright_winners {

/// A cubin for cuLibraryLoadData or cuModuleLoadData.
struct Binary {
  const char* data;
  std::size_t bytes;
};

/// What a kernel's parameter is, and of what: an argument of the call (a pointer or a scalar), a dim or one of the
/// winner's values (64-bit integers), a tensor map, a workspace; or absent: 128 zero bytes will do for any.
struct Param {
  enum class Kind : std::uint8_t { argument, dim, value, map, workspace, absent } kind;
  std::uint8_t index;
};

struct Kernel {
  const char* symbol;
  std::uint32_t grid[3];
  std::uint32_t block[3];
  /// {1, 1, 1}: none.
  std::uint32_t cluster[3];
  std::uint32_t shared_bytes;
  /// Allow a cluster of more than 8 blocks; allow it to start before the kernel in front of it ends.
  bool nonportable_cluster;
  bool pdl;
  /// Not none: grid[0] is at most this many times what fits on the device at once: blocks (blocks an SM × SMs) or
  /// clusters.
  enum class Resident : std::uint8_t { none, blocks, clusters } resident;
  std::uint32_t per_resident;
  const Param* params;
  std::uint32_t param_count;
};

/// For cuTensorMapEncodeTiled, fastest dimension first; of an argument's or a workspace's address.
struct Map {
  bool over_workspace;
  std::uint8_t index;
  /// A CUtensorMapDataType.
  std::uint8_t type;
  std::uint8_t rank;
  std::uint64_t dims[5];
  /// Bytes, from dimension 1 on.
  std::uint64_t strides[4];
  std::uint32_t box[5];
  /// Bytes: 0, 32, 64 or 128.
  std::uint32_t swizzle;
  /// Not 0: encode it for each call, with strides that are these arguments of the call (64-bit integers, in elements)
  /// times the element's size; `strides` are those of a dense tensor.
  std::uint8_t call_stride_count;
  std::uint8_t call_strides[4];
  /// If true, encode it for each call: dims[call_extent] is the call's dim of index `call_dim`, not its bucket.
  bool has_call_extent;
  std::uint8_t call_extent;
  std::uint8_t call_dim;
};

/// Memory that the caller brings, at a multiple of 256 bytes.
struct Workspace {
  std::uint64_t bytes;
  /// Set to zeros: never, once after it is allocated, before each launch.
  enum class Zero : std::uint8_t { never, once, each } zero;
};

/// What serves one shape: kernels to be launched in order.
struct Winner {
  const std::int64_t* dims;
  const char* config;
  double median_ns;
  const Binary* binary;
  const Kernel* kernels;
  std::uint32_t kernel_count;
  const Map* maps;
  std::uint32_t map_count;
  const Workspace* workspaces;
  std::uint32_t workspace_count;
  const std::int64_t* values;
  std::uint32_t value_count;
  /// Bytes that each argument's address, and its pitch, must be a multiple of; 1 for scalars.
  const std::uint32_t* alignment;
  std::uint32_t argument_count;
};

/// Of a dim whose winners serve whole buckets: the power of two, or half between two, that is not less.
constexpr std::int64_t bucket(std::int64_t extent) noexcept {
  std::int64_t power = 1;
  while (power < extent && power <= (std::int64_t{1} << 61)) power *= 2;
  return power >= 4 && extent <= power / 4 * 3 ? power / 4 * 3 : power;
}

/// By bisection: `winners` are sorted by dims. Null when there is none.
template <std::size_t Dims>
constexpr const Winner* find_winner(const Winner* winners, std::size_t count,
                                    const std::int64_t (&dims)[Dims]) noexcept {
  std::size_t first = 0;
  while (count > 0) {
    const std::size_t half = count / 2;
    int order = 0;
    for (std::size_t i = 0; i < Dims && order == 0; ++i) {
      const std::int64_t have = winners[first + half].dims[i];
      order = have < dims[i] ? -1 : have > dims[i] ? 1 : 0;
    }
    if (order == 0) return winners + first + half;
    if (order < 0) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return nullptr;
}

}  // namespace tilewright_winners
#endif
)header";

std::string identifier(std::string text) {
  for (char& letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return text;
}

std::string identifier(const OpSpec& spec) {
  std::string text = fmt::format("{}_{}", spec.op, name(spec.dtype));
  for (const auto& attribute : spec.attributes) text += "_" + attribute.second;
  return identifier(std::move(text));
}

/// A string literal, in pieces that compilers accept.
std::string literal(std::span<const std::byte> bytes) {
  constexpr std::size_t kLine = 48;
  std::string text;
  text.reserve(bytes.size() * 4 + bytes.size() / kLine * 8);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % kLine == 0) text += i == 0 ? "\n    \"" : "\"\n    \"";
    const auto value = static_cast<unsigned>(bytes[i]);
    text += '\\';
    // Three digits for each byte: the next byte may look like a digit.
    text += static_cast<char>('0' + (value >> 6));
    text += static_cast<char>('0' + (value >> 3 & 7));
    text += static_cast<char>('0' + (value & 7));
  }
  return text + (bytes.empty() ? "\"\"" : "\"");
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + "\"";
}

std::string extent(const Extent& sizes) { return fmt::format("{{{}}}", fmt::join(sizes, ", ")); }

/// How a kernel's grid depends on the number of blocks or clusters that fit on the device at once.
struct Resident {
  const char* what = "none";
  std::uint32_t per_resident = 0;
};

class Writing {
 public:
  Writing(const Store& store, HeaderCounts& counts) : store_(store), counts_(counts) {}

  std::string run(const std::vector<WinnerRow>& winners) {
    const std::string device = winners.front().device.fingerprint();
    std::string text = fmt::format(
        "// Made by tilewright {}: winners for {}.\n// Launch only on such a device: grids and clusters are meant for "
        "it, and binaries for its architecture.\n{}",
        version(), device, kTypes);
    std::string specs;
    for (std::size_t i = 0; i < winners.size();) {
      std::size_t end = i;
      while (end < winners.size() && winners[end].problem.spec == winners[i].problem.spec) ++end;
      if (const std::string spec = spec_text(std::span(winners).subspan(i, end - i)); !spec.empty()) specs += spec;
      i = end;
    }
    // Another source of the program may have other winners of a spec: to the linker these have names of their own.
    const std::string apart = fmt::format("of_{}_{}", identifier(winners.front().device.name), content_hash(specs));
    text += fmt::format("\nnamespace tilewright_winners {{\n{}\ninline namespace {} {{\n{}\n", binaries_, apart, specs);
    return text + fmt::format("}}  // namespace {}\n}}  // namespace tilewright_winners\n", apart);
  }

 private:
  std::string spec_text(std::span<const WinnerRow> rows) {
    const OpInterface interface =
        referred(store_.interface_by_hash(rows.front().interface_hash), store_, "an interface");
    std::string data, table;
    std::size_t shapes = 0;
    for (std::size_t i = 0; i < rows.size();) {
      std::size_t end = i;
      while (end < rows.size() && rows[end].problem == rows[i].problem) ++end;
      std::string why;
      std::optional<std::string> entry;
      for (const WinnerRow& row : in_turn(rows.subspan(i, end - i), why)) {
        if (!entry) entry = winner_text(row, interface, shapes, data, why);
      }
      if (entry) {
        table += *entry;
        ++shapes;
      } else {
        counts_.left_out.push_back(fmt::format("{}: {}", rows[i].problem.key(), why));
      }
      i = end;
    }
    if (shapes == 0) return {};
    counts_.shapes += shapes;
    const WinnerRow& first = rows.front();
    counts_.spares +=
        count_spares(store_, {first.problem, first.interface_hash, first.device.fingerprint()}, first.mode);
    const OpSpec& spec = rows.front().problem.spec;
    std::string parameters, values;
    for (const std::string& dim : interface.dims) {
      const std::string value = interface.is_bucketed(dim) ? fmt::format("bucket({})", dim) : dim;
      parameters += fmt::format("{}std::int64_t {}", parameters.empty() ? "" : ", ", dim);
      values += fmt::format("{}{}", values.empty() ? "" : ", ", value);
    }
    std::vector<std::string> arguments;
    for (const PlannedArg& arg : plan_args(interface, rows.front().problem)) arguments.push_back(arg.name);
    return fmt::format(
        "\n#ifdef TILEWRIGHT_WINNERS_OF_{2}\n"
        "#error \"another header has winners of {0}, too: include this one in a source of its own\"\n"
        "#endif\n#define TILEWRIGHT_WINNERS_OF_{2}\n"
        "/// {0}; arguments: {1}.\nnamespace {2} {{\n\n{3}\ninline constexpr Winner winners[] = {{\n{4}}};\n\n"
        "/// Null for a shape that was not tuned.\nconstexpr const Winner* find({5}) noexcept {{\n"
        "  return find_winner(winners, {6}, {{{7}}});\n}}\n\n}}  // namespace {2}\n",
        spec.text(), fmt::join(arguments, ", "), identifier(spec), data, table, parameters, shapes, values);
  }

  /// The rows that may serve a problem, in turn: the pinned configs, then its winners: the best, the fastest without
  /// specialised dims, the base. All are of the first row's mode. `why` names the banned configs.
  std::vector<WinnerRow> in_turn(std::span<const WinnerRow> rows, std::string& why) const {
    const WinnerRow& first = rows.front();
    const ProblemKey key{first.problem, first.interface_hash, first.device.fingerprint()};
    std::vector<WinnerRow> serving;
    ConfigIds banned;
    for (const Pin& pin : store_.pins(key).pins) {
      if (pin.kind == PinKind::ban) {
        banned.insert(pin.config);
        why += fmt::format("{}{} is {}", why.empty() ? "" : "; ", pin.config.config.text(), pin.text());
      }
      if (pin.kind != PinKind::pin) continue;
      if (auto row = store_.timed(key, first.mode, pin.config)) serving.push_back(*std::move(row));
      for (const WinnerRow& row : rows) {
        if (row.mode == first.mode && id_of(row) == pin.config) serving.push_back(row);
      }
    }
    for (const WinnerRow& row : rows) {
      if (row.mode == first.mode && !banned.contains(id_of(row))) serving.push_back(row);
    }
    return serving;
  }

  static ConfigId id_of(const WinnerRow& row) { return {row.implementation_hash, row.winner.trial.config}; }

  /// Adds the winner's data to `data`, and returns its entry; nullopt, with `why`, if it cannot be written.
  std::optional<std::string> winner_text(const WinnerRow& row, const OpInterface& interface, std::size_t number,
                                         std::string& data, std::string& why) {
    const Trial& trial = row.winner.trial;
    const std::string config = trial.config.text();
    const auto refuse = [&](const std::string& reason) {
      why += fmt::format("{}{} {}", why.empty() ? "" : "; ", config, reason);
      return std::nullopt;
    };
    const auto build = trial.build_key.empty() ? std::nullopt : store_.build(trial.build_key);
    if (!build || !build->ok) return refuse("has no stored binary");
    const auto implementation = store_.implementation_by_hash(row.implementation_hash);
    if (!implementation) return refuse("has no stored implementation");
    const ImplementationRecipe& recipe = implementation->recipe;
    const auto plan = plan_of(interface, recipe, row, kUnbounded, kUnbounded);
    if (!plan) return refuse("is not legal");

    std::string kernels, params, maps, workspaces, values, alignment, dims;
    for (std::size_t k = 0; k < plan->kernels.size(); ++k) {
      const PlannedKernel& kernel = plan->kernels[k];
      const auto facts = std::ranges::find(build->kernels, kernel.entry, &KernelFacts::entry);
      if (facts == build->kernels.end()) return refuse(fmt::format("has no kernel {}", kernel.entry));
      const std::optional<Resident> resident = resident_of(interface, recipe, row, *plan, k);
      if (!resident) return refuse("has a grid whose dependence on the device a header cannot express");
      params += fmt::format("inline constexpr Param params_{}_{}[] = {{", number, k);
      for (const PlannedParam& param : kernel.params) params += param_text(param);
      params += kernel.params.empty() ? "{Param::Kind::absent, 0}};\n" : "};\n";
      kernels += fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, Kernel::Resident::{}, {}, params_{}_{}, {}}},\n",
                             quoted(facts->symbol), extent(kernel.grid), extent(kernel.block), extent(kernel.cluster),
                             kernel.shared_bytes, kernel.nonportable_cluster, kernel.pdl, resident->what,
                             resident->per_resident, number, k, kernel.params.size());
    }
    for (const PlannedMap& map : plan->maps) maps += map_text(map);
    for (const PlannedWorkspace& workspace : plan->workspaces) {
      workspaces += fmt::format("    {{{}, Workspace::Zero::{}}},\n", workspace.bytes, name(workspace.zero));
    }
    for (const PlannedValue& value : plan->values)
      values += fmt::format("{}{}", values.empty() ? "" : ", ", value.value);
    for (const PlannedArg& arg : plan->args)
      alignment += fmt::format("{}{}", alignment.empty() ? "" : ", ", arg.alignment);
    for (const auto& dim : row.problem.dims) dims += fmt::format("{}{}", dims.empty() ? "" : ", ", dim.second);

    data += params;
    data += fmt::format("inline constexpr Kernel kernels_{}[] = {{\n{}}};\n", number, kernels);
    if (!maps.empty()) data += fmt::format("inline constexpr Map maps_{}[] = {{\n{}}};\n", number, maps);
    if (!workspaces.empty()) {
      data += fmt::format("inline constexpr Workspace workspaces_{}[] = {{\n{}}};\n", number, workspaces);
    }
    if (!values.empty()) data += fmt::format("inline constexpr std::int64_t values_{}[] = {{{}}};\n", number, values);
    data += fmt::format("inline constexpr std::uint32_t alignment_{}[] = {{{}}};\n", number,
                        alignment.empty() ? "1" : alignment);
    data += fmt::format("inline constexpr std::int64_t dims_{}[] = {{{}}};\n", number, dims);
    const auto pointer = [&](const char* what, const auto& list) {
      return list.empty() ? std::string("nullptr") : fmt::format("{}_{}", what, number);
    };
    return fmt::format(
        "    {{dims_{0}, {1}, {2:.1f}, &{3}, kernels_{0}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, "
        "alignment_{0}, {11}}},\n",
        number, quoted(config), trial.timing.value_or(Timing{}).median_ns, binary(build->binary_hash),
        plan->kernels.size(), pointer("maps", plan->maps), plan->maps.size(), pointer("workspaces", plan->workspaces),
        plan->workspaces.size(), pointer("values", plan->values), plan->values.size(), plan->args.size());
  }

  static constexpr std::int64_t kUnbounded = 2147483647;

  static std::optional<LaunchPlan> plan_of(const OpInterface& interface, const ImplementationRecipe& recipe,
                                           const WinnerRow& row, std::int64_t blocks, std::int64_t clusters) {
    const Residency residency{[=](const PlannedKernel&) { return blocks; },
                              [=](const PlannedKernel&) { return clusters; }};
    try {
      auto plan = make_plan(interface, recipe, row.winner.trial.config, row.problem, row.device, &residency);
      if (auto* legal = std::get_if<LaunchPlan>(&plan)) return std::move(*legal);
    } catch (const UsageError&) {
      // Overflows if nothing bounds the grid.
    }
    return std::nullopt;
  }

  /// Probes the formulas: the grid ignores what fits, or its first extent is min(grid, per_resident × what fits).
  std::optional<Resident> resident_of(const OpInterface& interface, const ImplementationRecipe& recipe,
                                      const WinnerRow& row, const LaunchPlan& unbounded, std::size_t kernel) {
    const Extent full = unbounded.kernels[kernel].grid;
    const auto grid = [&](std::int64_t blocks, std::int64_t clusters) -> std::optional<Extent> {
      const auto plan = plan_of(interface, recipe, row, blocks, clusters);
      if (!plan || kernel >= plan->kernels.size()) return std::nullopt;
      return plan->kernels[kernel].grid;
    };
    const auto of_blocks = grid(1, kUnbounded);
    const auto of_clusters = grid(kUnbounded, 1);
    if (!of_blocks || !of_clusters) return std::nullopt;
    if (*of_blocks == full && *of_clusters == full) return Resident{};
    const bool by_blocks = *of_blocks != full;
    if (by_blocks && *of_clusters != full) return std::nullopt;
    const std::uint32_t one = (by_blocks ? *of_blocks : *of_clusters)[0];
    for (const std::int64_t fit : {1, 2, 3, 7, 64, 66, 131, 132, 264, 1056, 100'000}) {
      const auto found = by_blocks ? grid(fit, kUnbounded) : grid(kUnbounded, fit);
      const std::int64_t expected = std::min<std::int64_t>(full[0], fit * one);
      if (!found || (*found)[0] != expected || (*found)[1] != full[1] || (*found)[2] != full[2]) return std::nullopt;
    }
    return Resident{by_blocks ? "blocks" : "clusters", one};
  }

  static std::string param_text(const PlannedParam& param) {
    const char* kind = "argument";
    if (param.kind == KernelParam::Kind::dim) kind = "dim";
    if (param.kind == KernelParam::Kind::value) kind = "value";
    if (param.kind == KernelParam::Kind::map) kind = "map";
    if (param.kind == KernelParam::Kind::workspace) kind = "workspace";
    if (param.is_absent()) return "{Param::Kind::absent, 0}, ";
    return fmt::format("{{Param::Kind::{}, {}}}, ", kind, param.index);
  }

  static std::string map_text(const PlannedMap& map) {
    const PlannedMap::CallExtent extent = map.call_extent.value_or(PlannedMap::CallExtent{});
    return fmt::format("    {{{}, {}, {}, {}, {{{}}}, {{{}}}, {{{}}}, {}, {}, {{{}}}, {}, {}, {}}},\n",
                       map.over == PlannedMap::Over::workspace, map.index, tensor_map_type(map), map.dims.size(),
                       fmt::join(map.dims, ", "), fmt::join(map.strides, ", "), fmt::join(map.box, ", "), map.swizzle,
                       map.stride_scalars.size(), fmt::join(map.stride_scalars, ", "), map.call_extent.has_value(),
                       extent.of_map, extent.of_call);
  }

  std::string binary(const std::string& hash) {
    std::string called = "binary_" + hash;
    if (written_.insert(hash).second) {
      const std::vector<std::byte> bytes = store_.binary(hash);
      // The driver reads the binary's headers in place. Headers share the binaries that they have in common.
      binaries_ += fmt::format(
          "\n#ifndef TILEWRIGHT_WINNERS_BINARY_{3}\n#define TILEWRIGHT_WINNERS_BINARY_{3}\n"
          "alignas(64) inline constexpr char {0}_data[] ={1};\ninline constexpr Binary {0}{{{0}_data, {2}}};\n#endif\n",
          called, literal(bytes), bytes.size(), hash);
      ++counts_.binaries;
    }
    return called;
  }

  const Store& store_;
  HeaderCounts& counts_;
  std::string binaries_;
  std::set<std::string> written_;
};

}  // namespace

std::string header_text(const Store& store, const std::vector<WinnerRow>& winners, HeaderCounts& counts) {
  std::set<std::string> devices;
  for (const WinnerRow& row : winners) devices.insert(row.device.fingerprint());
  if (devices.size() == 1 && winners.front().device.is_cpu()) {
    throw UsageError("a header is for one GPU, and these winners are the emulator's; sweep on a GPU first");
  }
  if (devices.size() != 1) {
    throw UsageError(fmt::format("a header is for one GPU, and these winners are of {}; name it with --device",
                                 devices.empty() ? "none" : fmt::format("{}", fmt::join(devices, "; "))));
  }
  return Writing(store, counts).run(winners);
}

}  // namespace tilewright
