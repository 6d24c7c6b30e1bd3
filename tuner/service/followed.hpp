// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/file_facts.hpp"

namespace tilewright::service {

/// A value read from files, and read again when one of them changes. If that fails, the previous value stays in force
/// and `told` hears why, once a change. For any thread.
template <class Value>
class Followed {
 public:
  using Told = std::function<void(const std::string&)>;

  /// Reads at once; errors of `read` pass through. `what` names the value in messages: "The tokens".
  Followed(std::vector<std::filesystem::path> files, std::function<Value()> read, std::string what, Told told)
      : files_(std::move(files)),
        read_(std::move(read)),
        what_(std::move(what)),
        told_(std::move(told)),
        seen_(identities()),
        value_(std::make_shared<const Value>(read_())) {}

  [[nodiscard]] std::shared_ptr<const Value> now() {
    const std::lock_guard lock(mutex_);
    if (auto identities_now = identities(); identities_now != seen_) {
      seen_ = std::move(identities_now);
      try {
        value_ = std::make_shared<const Value>(read_());
      } catch (const Error& error) {  // Half written, or invalid: the next change is read.
        if (told_) told_(fmt::format("{}. {} that were read before stay in force", error.what(), what_));
      }
    }
    return value_;
  }

 private:
  [[nodiscard]] std::vector<std::optional<FileIdentity>> identities() const {
    std::vector<std::optional<FileIdentity>> all;
    for (const std::filesystem::path& file : files_) all.push_back(identity_of(file));
    return all;
  }

  const std::vector<std::filesystem::path> files_;
  const std::function<Value()> read_;
  const std::string what_;
  const Told told_;
  std::mutex mutex_;
  std::vector<std::optional<FileIdentity>> seen_;
  std::shared_ptr<const Value> value_;
};

}  // namespace tilewright::service
