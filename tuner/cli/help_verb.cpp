// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/help.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run(const Arguments& arguments, Console& console) {
  arguments.require_at_most(1);
  if (arguments.has("markdown")) {
    console.print(markdown_text());
  } else if (arguments.words().empty()) {
    console.print(overview_text());
  } else {
    console.print(help_text(find_verb(arguments.words().front())));
  }
  return ExitCode::done;
}

}  // namespace

Verb help_verb() {
  Verb verb;
  verb.name = "help";
  verb.summary = "Print the help of the program or of one verb";
  verb.usage = "[VERB]";
  verb.options = {{"markdown", "", "The whole of docs/cli.md."}};
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli
