// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/output_file.hpp"

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <utility>

#include "cache/error.hpp"

namespace tilewright::cli {

OutputFile::OutputFile(std::filesystem::path file, Console& console) : file_(std::move(file)), console_(console) {
  if (is_standard_output(file_)) return;
  draft_ = file_;
  draft_ += ".new";
  out_.open(draft_, std::ios::binary | std::ios::trunc);
}

OutputFile::~OutputFile() {
  if (draft_.empty()) return;
  out_.close();
  std::error_code ignored;
  std::filesystem::remove(draft_, ignored);
}

void OutputFile::write(std::string_view text) {
  if (is_standard_output(file_)) {
    console_.print(std::string(text));
  } else {
    out_ << text;
  }
}

void OutputFile::commit() {
  if (is_standard_output(file_)) return;
  out_.close();
  std::error_code error;
  if (!out_) error = std::make_error_code(std::errc::io_error);
  if (!error) std::filesystem::rename(draft_, file_, error);
  if (error) throw Error(fmt::format("cannot write {} ({}). Nothing was written.", file_.string(), error.message()));
  draft_.clear();
}

}  // namespace tilewright::cli
