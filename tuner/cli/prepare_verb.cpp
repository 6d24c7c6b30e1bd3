// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

constexpr std::int64_t kUsualConfigs = 32;
constexpr std::int64_t kMostConfigs = 4096;

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  // --device names a device of the cache: none is opened.
  app::Work work;
  work.compile_timeout = std::chrono::seconds(arguments.integer("compile-timeout", 120, 1));
  work.jobs = static_cast<int>(std::min<std::int64_t>(arguments.integer("jobs", 0, 1), 1024));
  const app::PrepareRequest request{
      place_of(arguments),
      work,
      read_problem_words(arguments),
      arguments.text("device"),
      mode_of(arguments).value_or(MeasureMode::cold),
      static_cast<std::size_t>(std::min(kMostConfigs, arguments.integer("configs", kUsualConfigs, 1)))};
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
  verb.summary = "Learn and compile what will serve shapes that were never tuned";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "From all trials of the op, where there are 16 shapes and 256 trials at least, it is learned by how much a "
      "config is slower than the fastest at a shape. What was tuned in one dtype or with one attribute tells of the"
      " others. The model lies in the cache; `match` and the launch library ask it for shapes that were never "
      "tuned, `export` and its bundles have it.",
      fmt::format(
          "A winner may have dims as constants, or fit its shape so closely that no other shape can be served by it. So"
          " shapes are drawn between and around the tuned ones, and configs without specialised dims are compiled that "
          "serve most of them well, as far as the trials of the cache tell; then those that were within {:.0f} % of "
          "the best such config of a tuned shape. They are kept in the cache as spares, which go where the model goes.",
          100 * app::kSpareWithin),
      "Where dtype and attributes are named, binaries are compiled for these alone; what is learned is put into all.",
      "Nothing is measured, so no device is needed. Run it when the sweeps are done, and before an export: it "
      "learns anew each time, and adds spares only up to the number asked for. `tilewright regret OP --spares N` "
      "tells what they are good for.",
  };
  verb.options = {
      {"configs", "N", "So many for each dtype and attributes (32), those that help most first."},
      kJobs,
      kCompileTimeout,
      kDevice,
      kMode,
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {{"tilewright prepare softmax", "Before `tilewright export softmax --bundle softmax.bundle`."},
                   {"tilewright prepare gemm layout=nn,tn --configs 400", "More binaries of two layouts."}};
  verb.exit_codes =
      "0 done, 1 there is no winner or the cache cannot be written, 2 the command line is wrong, 3 interrupted.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
