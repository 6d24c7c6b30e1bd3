// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Facts that the loader reads out of device code without compiling it: the headers it includes and its kernels.
/// Enough to hash an implementation and to find a misspelt kernel in a millisecond; the compiler remains the judge.
namespace tilewright::reading {

/// `text` with comments and the insides of literals blanked out; line breaks stay.
[[nodiscard]] std::string without_comments(std::string_view text);

struct KernelSignature {
  std::string name;
  /// As they are declared: "const float* x".
  std::vector<std::string> parameters;
};

/// The `__global__` functions that `text` declares, in its order. Attributes between `__global__` and the name
/// (`__launch_bounds__(…)` and the like) are stepped over.
[[nodiscard]] std::vector<KernelSignature> kernels_of(std::string_view text);

struct SourceFile {
  std::filesystem::path path;
  std::string text;
};

struct SourceClosure {
  /// The source, then every header that it includes from its own folder or from the kernel folders, directly or
  /// through another, each once, in the order in which a compiler would meet them.
  std::vector<SourceFile> files;
  /// `#include "…"` found in none of these places, and headers of the host's, which no kernel can have: each in a
  /// sentence.
  std::vector<std::string> wrong_includes;
};

/// Follows the includes of `source`. Headers of the toolkit (`cuda_fp16.h`…) are the compiler's, and no part of it.
/// Throws Error when a file that exists cannot be read.
[[nodiscard]] SourceClosure closure_of(const std::filesystem::path& source,
                                       const std::vector<std::filesystem::path>& kernel_dirs);

/// The whole of a file. Throws Error when it cannot be read.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

}  // namespace tilewright::reading
