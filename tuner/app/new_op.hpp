// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// An op to begin with: a definition and kernels that sweep at once.
namespace tilewright::app {

enum class NewOpKind : std::uint8_t {
  row,  ///< rows in, rows out, by the skeletons of device/row
  free  ///< a kernel of its own
};

struct NewOpRequest {
  std::string op;
  NewOpKind kind = NewOpKind::row;
  /// The folder of ops in which the op's folder is made; it is made, too.
  std::filesystem::path folder;
};

/// Writes folder/OP/OP.toml and folder/OP/OP.cu and returns their paths. Throws UsageError for a name that no op can
/// have, that a built-in op has, or whose folder is there already; Error where a file cannot be written.
std::vector<std::filesystem::path> new_op(const NewOpRequest& request);

}  // namespace tilewright::app
