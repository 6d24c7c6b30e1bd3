// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/report.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/output_file.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

/// Throws UsageError for a file that cannot be made again as a page can.
void require_page(const std::filesystem::path& file, const app::Place& place) {
  if (OutputFile::is_standard_output(file)) return;
  OutputFile::refuse_cache(file, app::cache_path(place));
  OutputFile::refuse_database(file);
}

ExitCode run_report(const Arguments& arguments, Console& console) {
  arguments.require_at_most(1);
  if (!arguments.has("output")) throw UsageError("report needs a file to write: tilewright report -o report.html");
  const std::filesystem::path file = arguments.text("output");
  const bool to_standard_output = OutputFile::is_standard_output(file);
  require_page(file, place_of(arguments));
  const app::Report report = app::report(
      {place_of(arguments), arguments.words().empty() ? "" : arguments.words().front(), arguments.text("device")});
  const std::string page = report_page(report.page);
  OutputFile output(file, console);
  output.write(page);
  output.commit();
  const std::string said =
      fmt::format("{} served and {} in {}; open it in a browser.", counted(report.problems_served, "problem"),
                  counted(report.trials, "trial"), show_bytes(static_cast<double>(page.size())));
  if (to_standard_output) {
    console.say(said);
  } else {
    console.print(fmt::format("{}: {}\n", file.string(), said));
  }
  return ExitCode::done;
}

}  // namespace

Verb report_verb() {
  Verb verb;
  verb.name = "report";
  verb.summary = "Write charts of the cache as one HTML file, which needs no network";
  verb.usage = "[OP] -o FILE [OPTION...]";
  verb.description = {
      "Views: a summary; a heat map of time, share of ceiling or any parameter over the shapes; the winners under the "
      "measured roofline; all configs of a problem; the effect of each parameter; sweeps over time; failures by kind; "
      "the evidence of each winner. The page selects op, type, device and mode; its address links to the current view. "
      "Each figure is also a table. The cache is read at one moment, even while a sweep writes it.",
  };
  verb.options = {
      {"output", "FILE", "The file to write, or - for standard output. An existing file is replaced.", false, 'o'},
      kDevice,
      kOps,
      kCache,
  };
  verb.examples = {{"tilewright report -o report.html", "All ops."},
                   {"tilewright report softmax --device H200 -o softmax.html", "One op on one device."}};
  verb.exit_codes =
      "0 done, 1 there is no trial to show or a file cannot be read or written, 2 the command line is wrong.";
  verb.run = run_report;
  return verb;
}

}  // namespace tilewright::cli
