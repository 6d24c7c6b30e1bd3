// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/model/config.hpp"
#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"
#include "cache/model/recipe.hpp"
#include "tuner/definition/fusion.hpp"
#include "tuner/definition/sample.hpp"

/// An op's definition, read from its TOML file: all that the tuner knows of an op (docs/definitions.md). Values,
/// immutable after loading; threads may share them.
namespace tilewright {

/// The values of one knob, in the definition's order.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> values;
};

struct Implementation {
  ImplementationRecipe recipe;
  std::vector<Parameter> space;
  /// Absolute path of the device code.
  std::filesystem::path source;
  /// 32 hexadecimal digits over the implementation's TOML values, its source, the headers that the source includes from
  /// its folder or the kernel folders, and the headers that generated sources include first. Editing one implementation
  /// retires only that one. Paths, comments, `covers` and the order of keys outside `space` do not count.
  std::string hash;
};

/// [atol, rtol] that each element must meet, or [atol, rtol, norm].
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  /// The greatest norm-wise error; if nullopt, it follows from the type.
  std::optional<double> norm{};
};

/// One of an op's tolerance tables.
struct ToleranceTable {
  /// Sees attributes and `dtype`; nullopt: always true.
  std::optional<Formula> when;
  std::map<DType, Tolerance> by_type;
  /// Tolerances of single outputs by name, for all dtypes.
  std::map<std::string, Tolerance> by_argument{};
};

/// The plain kernel that defines correct results. Its parameters are the op's arguments in order (absent ones are null
/// or 0), then all dims as `long long`. Tensors have the op's types, but written tensors are `double*`. An inout tensor
/// initially holds the input's values.
struct Reference {
  std::filesystem::path source;
  std::string entry;
  /// In blocks of 256 threads. Sees only the problem's names.
  Formula grid;
  /// The reference may leave output elements unwritten; these are not compared.
  bool sampled = false;
};

/// Another op whose trials train this op's model (`learns_from`). The formulas see the names of the other op's
/// definition.
struct LearnsFrom {
  std::string op;
  /// The problems whose trials count; nullopt: all.
  std::optional<Formula> when{};
  /// This op's dims, in its order.
  std::vector<Formula> dims{};
  /// Values of parameters that the other op's configs lack.
  std::map<std::string, Formula> parameters{};
};

struct OpDefinition {
  OpInterface interface;
  std::string summary;
  std::filesystem::path file;
  Formula bytes;
  Formula flops;
  /// Whether tensor cores may compute the operations, in any implementation; nullopt: no.
  std::optional<Formula> tensor_cores{};
  Reference reference;
  /// In the definition's order. Each dtype has a tolerance for all attribute values.
  std::vector<ToleranceTable> tolerance;
  /// The data that configs are verified on and measured with.
  Samples samples;
  /// The number of kinds of data that formulas distinguish by `draw`: 1 … draws. A config is measured on all equally.
  std::int64_t draws = 1;
  /// What they are, in their order; empty: not said.
  std::vector<std::string> draw_names{};
  /// Further data that configs are verified on. Each set is complete.
  std::vector<NamedSamples> more_samples{};
  /// The default sweep's grid as dim → range text ("256..32768x4"), on a GPU and on the emulator. Each has all dims in
  /// the op's order. They are equal if the definition has no emulator grid.
  std::vector<std::pair<std::string, std::string>> grid;
  std::vector<std::pair<std::string, std::string>> emulator_grid;
  std::vector<Implementation> implementations;
  /// The op's one fallback: legal in the whole domain, without specialised dims.
  Config base;
  /// Attributes whose non-first values are searched only among the leaders of the same problem with their first values.
  std::vector<std::string> follows{};
  /// Ops whose trials also train this op's model.
  std::vector<LearnsFrom> learns_from{};
  /// The launches that the op replaces; nullopt if the definition does not say.
  std::optional<Fusion> fusion{};

  [[nodiscard]] const Implementation& implementation(std::string_view name) const;  ///< Throws UsageError, suggests.
  /// The problem whose leaders are tried for this one: the attributes in `follows` have their first values.
  [[nodiscard]] Problem followed(Problem problem) const;
  /// The fewest bytes that a problem moves, and its floating-point operations. Costs that depend on input contents are
  /// the mean over the draws. Throw DefinitionError on overflow.
  [[nodiscard]] std::int64_t bytes_of(const Problem& problem) const;
  [[nodiscard]] std::int64_t flops_of(const Problem& problem) const;
  /// The device unit whose rate bounds the operations, as in ComputeRate: kFp32, or tensor cores with the dtype.
  [[nodiscard]] std::string unit_of(const Problem& problem) const;
  /// The tolerance of an output of type `output`: by the argument's name, else by `output`, else by the op's dtype,
  /// each time from the first table that applies to the problem. Exact equality if no table has one.
  [[nodiscard]] Tolerance tolerance_of(const Problem& problem, DType output, const std::string& argument = {}) const;
};

/// Reads only the hashes of a definition's implementations, in a fraction of load_definition()'s time. They tell
/// whether a trial belongs to the current sources. Validates nothing else; an implementation with missing files has no
/// hash. Throws DefinitionError if the file is not TOML.
[[nodiscard]] std::vector<std::string> implementation_hashes(const std::filesystem::path& toml_file,
                                                             const std::vector<std::filesystem::path>& kernel_dirs);

/// Reads and validates a definition. Throws DefinitionError with all mistakes, each with file, line and column.
/// `kernel_dirs` are searched for included headers (`device/…`).
[[nodiscard]] OpDefinition load_definition(const std::filesystem::path& toml_file,
                                           const std::vector<std::filesystem::path>& kernel_dirs);

}  // namespace tilewright
