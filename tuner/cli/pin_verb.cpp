// SPDX-License-Identifier: Apache-2.0
#include "cache/base/error.hpp"
#include "tuner/app/pin.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run_pin(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  if (arguments.words().empty()) {
    for (const char* const of_one : {"config", "reason", "ban", "remove", "device"}) {
      if (arguments.has(of_one)) throw UsageError("name the op of the config: tilewright pin OP --config CONFIG");
    }
    console.print(app::table_of(app::list_pins(place_of(arguments))), format);
    return ExitCode::done;
  }
  if (!arguments.has("config"))
    throw UsageError("name the config: --config CONFIG (`tilewright query` prints a winner's)");
  if (arguments.has("ban") && arguments.has("remove"))
    throw UsageError("--ban and --remove exclude each other: give one");
  const app::PinRequest request{place_of(arguments),
                                read_problem_words(arguments),
                                arguments.has("ban")      ? PinKind::ban
                                : arguments.has("remove") ? PinKind::free
                                                          : PinKind::pin,
                                arguments.text("config"),
                                arguments.text("reason"),
                                arguments.text("device")};
  console.print(app::table_of(app::decide(request)), format);
  return ExitCode::done;
}

}  // namespace

Verb pin_verb() {
  Verb verb;
  verb.name = "pin";
  verb.summary = "Pin a config (serve it first) or ban one (never serve it), or list pins and bans";
  verb.usage = "[OP [NAME=VALUE...]] [--config CONFIG] [OPTION...]";
  verb.description = {
      "With dims, the pin or ban is for one problem, otherwise for all problems of the dtype and attributes. A pinned "
      "config is served even if another is faster. A banned config is never served; the next candidate serves. A "
      "problem's own pin or ban overrides that of its spec. If exports, packs and imports bring two together, the "
      "newer stands. Running applications follow, as they follow new winners. Sweeps measure and choose as if there "
      "were no pins. A pin holds for the current source of the implementation; an edited "
      "implementation is another config.",
      "Without words: lists pins and bans."};
  verb.options = {{.name = "config",
                   .value = "CONFIG",
                   .help = "A config that was tried, such as 'onchip{num_warps=4,vec=8}'; parameters in any order.",
                   .takes = Takes::config},
                  {"reason", "TEXT", "The reason, which `query` and `show` print."},
                  {"ban", "", "Never serve the config."},
                  {"remove", "", "Remove the pin or ban of the config."},
                  {.name = "device",
                   .value = "NAME",
                   .help = "Only on this device of the cache. Default: each device on which the config was tried.",
                   .takes = Takes::stored_device},
                  kOps,
                  kCache,
                  kFormat};
  verb.examples = {
      {"tilewright pin softmax rows=8 cols=100 dtype=f32 --config 'onchip{num_warps=4,vec=1}' --reason 'same bits as "
       "v1'",
       "Serves it for that problem from now on."},
      {"tilewright pin gemm dtype=bf16 --ban --config 'wgmma{…}' --reason 'hangs under MPS'",
       "Bans it for all shapes."}};
  verb.exit_codes = "0 done, 1 the cache cannot be used, 2 the command line is wrong or the config cannot be served.";
  verb.run = run_pin;
  return verb;
}

}  // namespace tilewright::cli
