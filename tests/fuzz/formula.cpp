// SPDX-License-Identifier: Apache-2.0
// The text of a formula or a config: if understood, it can be written, read back and evaluated.
#include <cstdlib>
#include <optional>

#include "cache/base/error.hpp"
#include "cache/model/config.hpp"
#include "cache/model/formula/formula.hpp"
#include "tests/fuzz/input.hpp"

namespace tilewright {
namespace {

class Anything final : public Scope {
 public:
  [[nodiscard]] std::optional<Value> find(std::string_view name) const override {
    if (name.size() % 3 == 0) return "f16";
    return static_cast<std::int64_t>(name.size());
  }
  [[nodiscard]] std::vector<std::string> names() const override { return {}; }
};

void read_formula(std::string_view text) {
  try {
    const Formula formula = Formula::parse(std::string(text));
    if (Formula::parse(formula.text()).text() != formula.text()) std::abort();
    static_cast<void>(formula.integer(Anything()));
  } catch (const Error&) {  // An expected outcome.
  }
}

void read_config(std::string_view text) {
  try {
    const Config config = Config::parse(text);
    if (Config::parse(config.text()) != config) std::abort();
  } catch (const UsageError&) {  // An expected outcome.
  }
}

}  // namespace
}  // namespace tilewright

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = tilewright::fuzz::text_of(data, size);
  tilewright::read_formula(text);
  tilewright::read_config(text);
  return 0;
}
