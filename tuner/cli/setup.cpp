// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/setup.hpp"

namespace tilewright::cli {

Format format_of(const Arguments& arguments) { return format_from(arguments.text("format", "text")).value(); }

std::optional<MeasureMode> mode_of(const Arguments& arguments) {
  if (!arguments.has("mode")) return std::nullopt;
  return measure_mode_from(arguments.text("mode")).value();
}

app::Place place_of(const Arguments& arguments) {
  const std::vector<std::string> ops = arguments.texts("ops");
  app::Place place{std::nullopt, {ops.begin(), ops.end()}};
  if (arguments.has("cache")) place.cache = arguments.text("cache");
  return place;
}

app::ProblemWords read_problem_words(const Arguments& arguments) {
  static_cast<void>(arguments.word(0, "the name of an op"));
  return app::read_problem_words(arguments.words());
}

}  // namespace tilewright::cli
