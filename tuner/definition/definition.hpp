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

/// An op's definition as read from its TOML file: all that the tuner knows of an op (docs/definitions.md). Values,
/// immutable after loading, free to be shared by threads.
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
  /// 32 hexadecimal digits over the values of its TOML section, its source, every header that the source includes from
  /// its own or the kernel folders, and those that generated sources start with: editing one implementation retires
  /// that one only. Paths, comments and the order of keys do not count.
  std::string hash;
};

/// [atol, rtol] that every element must meet, or [atol, rtol, norm].
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  /// The greatest norm-wise error; nothing: what follows from the type.
  std::optional<double> norm{};
};

/// One table of an op's tolerances.
struct ToleranceTable {
  /// Sees attributes and `dtype`; nothing: it always counts.
  std::optional<Formula> when;
  std::map<DType, Tolerance> by_type;
  /// Tolerances of outputs that have one of their own, by name, whatever the dtype.
  std::map<std::string, Tolerance> by_argument{};
};

/// The plain kernel that says what is right. Its parameters are all arguments of the op in their order (absent ones are
/// null or 0), then all dims as `long long`. Tensors are typed as for the op, but `double*` where they are written; an
/// inout tensor holds the input's values when it starts.
struct Reference {
  std::filesystem::path source;
  std::string entry;
  /// Blocks of 256 threads; sees the problem's names alone.
  Formula grid;
  /// It may leave elements of the outputs unwritten, which are then not compared with a value.
  bool sampled = false;
};

/// Another op whose trials teach this op's model (`learns_from`). The formulas see the names of the other op's
/// definition.
struct LearnsFrom {
  std::string op;
  /// Nothing: all problems of the other op teach.
  std::optional<Formula> when{};
  /// This op's dims, in its order.
  std::vector<Formula> dims{};
  /// Parameters that the other's configs lack.
  std::map<std::string, Formula> parameters{};
};

struct OpDefinition {
  OpInterface interface;
  std::string summary;
  std::filesystem::path file;
  Formula bytes;
  Formula flops;
  /// Whether tensor cores may compute the operations, whatever an implementation does; nothing: never.
  std::optional<Formula> tensor_cores{};
  Reference reference;
  /// In the definition's order. Every dtype has a tolerance whatever the attributes are.
  std::vector<ToleranceTable> tolerance;
  /// The data that configs are verified on and measured with.
  Samples samples;
  /// The number of kinds of data that formulas tell apart by `draw`: 1 … draws. A config is measured on all equally.
  std::int64_t draws = 1;
  /// Further data that configs are verified on, each as complete as the first.
  std::vector<NamedSamples> more_samples{};
  /// The grid of a bare sweep, as dim → range text ("256..32768x4"), by device kind: on a GPU, and on the emulator.
  /// Every dim in the op's order; the same twice when the definition has no grid for the emulator.
  std::vector<std::pair<std::string, std::string>> grid;
  std::vector<std::pair<std::string, std::string>> emulator_grid;
  std::vector<Implementation> implementations;
  /// The op's one fallback: legal in the whole domain, no specialised dims.
  Config base;
  /// Attributes for whose other values a search tries only the leaders of the same problem with first values.
  std::vector<std::string> follows{};
  /// Ops whose trials also teach this op's model.
  std::vector<LearnsFrom> learns_from{};
  /// The launches that the op replaces; nothing: the definition does not say.
  std::optional<Fusion> fusion{};

  [[nodiscard]] const Implementation& implementation(std::string_view name) const;  ///< Throws UsageError, suggests.
  /// The problem whose leaders are tried for this one: with the first values of `follows`. Itself where it has these.
  [[nodiscard]] Problem followed(Problem problem) const;
  /// The fewest bytes that a problem moves, and its floating-point operations: the mean over the draws, if they depend
  /// on the contents of inputs. Throw DefinitionError on overflow.
  [[nodiscard]] std::int64_t bytes_of(const Problem& problem) const;
  [[nodiscard]] std::int64_t flops_of(const Problem& problem) const;
  /// The unit of a device whose rate bounds the operations, as in ComputeRate: kFp32, or tensor cores with the dtype.
  [[nodiscard]] std::string unit_of(const Problem& problem) const;
  /// The tolerance of an output of type `output`, of the first table that counts for the problem: under the argument's
  /// name, else this type, else the op's dtype; exact equality if no table has any.
  [[nodiscard]] Tolerance tolerance_of(const Problem& problem, DType output, const std::string& argument = {}) const;
};

/// Reads the hashes of a definition's implementations alone, in a fraction of the time: they tell whether a trial is of
/// the current sources. Validates nothing else; an implementation whose files cannot be read has no hash. Throws
/// DefinitionError for a file that is not TOML.
[[nodiscard]] std::vector<std::string> implementation_hashes(const std::filesystem::path& toml_file,
                                                             const std::vector<std::filesystem::path>& kernel_dirs);

/// Reads and validates one definition: every mistake at once, each with file, line and column (DefinitionError).
/// `kernel_dirs` are searched for the headers of the include closure (`device/…`).
[[nodiscard]] OpDefinition load_definition(const std::filesystem::path& toml_file,
                                           const std::vector<std::filesystem::path>& kernel_dirs);

}  // namespace tilewright
