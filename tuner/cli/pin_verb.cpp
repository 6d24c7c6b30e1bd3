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

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  if (arguments.words().empty()) {
    for (const char* const of_one : {"config", "reason", "ban", "remove", "device"}) {
      if (arguments.has(of_one))
        throw UsageError("name the op that the config is of: tilewright pin OP --config CONFIG");
    }
    console.print(app::table_of(app::list_pins(place_of(arguments))), format);
    return ExitCode::done;
  }
  if (!arguments.has("config"))
    throw UsageError("name the config: --config CONFIG (`tilewright query` tells a winner's)");
  if (arguments.has("ban") && arguments.has("remove")) throw UsageError("--ban and --remove say two things");
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
  verb.summary = "Serve a config before all else, or never; list what was decided";
  verb.usage = "[OP [NAME=VALUE...]] [--config CONFIG] [OPTION...]";
  verb.description = {
      "With dims it is for that problem, without for all problems of that dtype and these attributes. A pinned config "
      "is served even where another is faster; a banned one never is, and the next candidate serves. What is said of a "
      "problem goes before what is said of its spec, and of two that exports, packs and imports bring together the "
      "newer stands. Running applications follow as they follow new winners. Sweeps measure and choose as if nothing "
      "had been decided. It is of the config as its implementation is now: edited, it is another.",
      "Without words: lists pins and bans."};
  verb.options = {{.name = "config",
                   .value = "CONFIG",
                   .help = "One that was tried, such as 'onchip{num_warps=4,vec=8}'; parameters in any order.",
                   .takes = Takes::config},
                  {"reason", "TEXT", "Why, for those who meet it later; `query` and `show` tell it."},
                  {"ban", "", "Never serve it."},
                  {"remove", "", "Neither serve it first nor ban it any more."},
                  {.name = "device",
                   .value = "NAME",
                   .help = "Only on this device of the cache. Default: on each on which it was tried.",
                   .takes = Takes::stored_device},
                  kOps,
                  kCache,
                  kFormat};
  verb.examples = {
      {"tilewright pin softmax rows=8 cols=100 dtype=f32 --config 'onchip{num_warps=4,vec=1}' --reason 'same bits as "
       "v1'",
       "Served for that problem from now on."},
      {"tilewright pin gemm dtype=bf16 --ban --config 'wgmma{…}' --reason 'hangs under MPS'", "For all shapes."}};
  verb.exit_codes = "0 done, 1 the cache cannot be used, 2 the command line is wrong or the config cannot be served.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
