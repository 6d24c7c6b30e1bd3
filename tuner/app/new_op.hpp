// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// Makes a new op: a definition and kernels that can be swept at once.
namespace tilewright::app {

enum class NewOpKind : std::uint8_t {
  row,  ///< rows in, rows out, with the skeletons of device/row
  free  ///< a kernel of its own
};

struct NewOpRequest {
  std::string op;
  NewOpKind kind = NewOpKind::row;
  /// The folder of ops that gets the op's folder; made if absent.
  std::filesystem::path folder;
};

/// Writes folder/OP/OP.toml and folder/OP/OP.cu and returns their paths. Throws UsageError if the name is invalid or a
/// built-in op's, or if its folder exists; Error if a file cannot be written.
std::vector<std::filesystem::path> new_op(const NewOpRequest& request);

}  // namespace tilewright::app
