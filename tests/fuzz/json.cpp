// SPDX-License-Identifier: Apache-2.0
// JSON, and interfaces and recipes, which are stored as JSON.
#include "cache/base/decode.hpp"
#include "cache/base/error.hpp"
#include "cache/model/interface.hpp"
#include "cache/model/recipe.hpp"
#include "tests/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  const auto ignore = [](const auto& read) {
    try {
      static_cast<void>(read());
    } catch (const Error&) {                      // An expected outcome.
    } catch (const nlohmann::json::exception&) {  // A missing member: the reader of the cache reports it.
    }
  };
  ignore([&] {
    const nlohmann::json value = *decode_json(fuzz::text_of(data, size));
    ignore([&] { return interface_from_json(value); });
    ignore([&] { return recipe_from_json(value); });
    return 0;
  });
  return 0;
}
