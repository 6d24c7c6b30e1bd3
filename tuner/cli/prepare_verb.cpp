// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/prepare.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/tuning_options.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

constexpr std::int64_t kUsualConfigs = 128;
constexpr std::int64_t kMostConfigs = 4096;

ExitCode run_prepare(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  // --device names a device of the cache: none is opened.
  const app::PrepareRequest request{
      place_of(arguments),
      limits_of(arguments),
      read_problem_words(arguments),
      arguments.text("device"),
      mode_of(arguments).value_or(MeasureMode::cold),
      static_cast<std::size_t>(arguments.integer("configs", kUsualConfigs, 1, kMostConfigs))};
  watch_interrupts();
  Progress progress(console, false);
  const app::PrepareResult result = app::prepare(request, progress);
  console.print(result.table, format);
  return result.cancelled ? ExitCode::partly : ExitCode::done;
}

}  // namespace

Verb prepare_verb() {
  Verb verb;
  verb.name = "prepare";
  verb.summary = "Learn a model and compile spare binaries, to serve untuned shapes";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "Learns from all trials of the op how much slower a config is than the fastest at a shape. It needs 16 shapes "
      "and 256 trials. Trials of one dtype or attribute also inform the others. The cache keeps the model; `query` and "
      "the launch library use it for untuned shapes, and exports and bundles contain it.",
      fmt::format(
          "A winner may have dims as constants, or fit its shape so closely that it serves no other. So prepare also "
          "compiles configs without specialised dims. It draws random shapes between and around the tuned ones, those "
          "of the whole op if the spec has fewer than {}. It takes, one by one, the config that most reduces the mean "
          "expected loss there, until none reduces it by {:.2f} %. Where no timed config of an implementation is "
          "legal, untimed ones count. Configs within {:.0f} % of the best one of a tuned shape follow, up to {} in "
          "all. Where all binaries are expected to take twice the fastest's time or more, up to {} more are compiled, "
          "which need not have been timed. The cache keeps them as spares, which go where the model goes.",
          app::kShapesOfItsOwn, 100 * kLeastHelp, 100 * kNearlyBest, app::kFewSpares, kMostCovering),
      "If dtype and attributes are given, only their binaries are compiled; the model is stored for all.",
      "Nothing is measured, so no device is needed. Run it after the sweeps and before an export: it learns anew each "
      "time, and adds the spares that still help. `tilewright regret OP --spares N` estimates their use.",
  };
  verb.options = {
      {"configs", "N",
       "The most spares that are added to each dtype and attributes, the most helpful first, and as many at most for "
       "shapes that are served poorly. Default: 128."},
      kJobs,
      kCompileTimeout,
      kDevice,
      kMode,
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {{"tilewright prepare softmax", "Before `tilewright export softmax --bundle softmax.bundle`."},
                   {"tilewright prepare gemm layout=nn,tn --configs 400", "More binaries for two layouts."}};
  verb.exit_codes =
      "0 done, 1 there is no winner or the cache cannot be written, 2 the command line is wrong, 3 interrupted.";
  verb.run = run_prepare;
  return verb;
}

}  // namespace tilewright::cli
