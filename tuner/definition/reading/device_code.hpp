// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Finds the included headers and the kernels of device code without compiling it. This suffices to hash an
/// implementation and to find a misspelt kernel in a millisecond. The compiler has the last word.
namespace tilewright::reading {

/// `text` with comments and the contents of literals blanked out. Line breaks stay.
[[nodiscard]] std::string without_comments(std::string_view text);

struct KernelSignature {
  std::string name;
  /// As declared: "const float* x".
  std::vector<std::string> parameters;
};

/// The `__global__` functions that `text` declares, in order. Skips attributes between `__global__` and the name, such
/// as `__launch_bounds__(…)`.
[[nodiscard]] std::vector<KernelSignature> kernels_of(std::string_view text);

struct SourceFile {
  std::filesystem::path path;
  std::string text;
};

struct SourceClosure {
  /// The source, then each header that it includes from its own folder or the kernel folders, directly or indirectly.
  /// Each appears once, in the order in which a compiler meets them.
  std::vector<SourceFile> files;
  /// A sentence for each `#include "…"` that none of these folders has, and for each host header, which kernels cannot
  /// use.
  std::vector<std::string> wrong_includes;
};

/// Follows the includes of `source`. Toolkit headers (`cuda_fp16.h`…) are left out. Throws Error if an existing file
/// cannot be read.
[[nodiscard]] SourceClosure closure_of(const std::filesystem::path& source,
                                       const std::vector<std::filesystem::path>& kernel_dirs);

/// The whole file. Throws Error if it cannot be read.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

}  // namespace tilewright::reading
