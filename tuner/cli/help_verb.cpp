// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/help.hpp"

namespace tilewright::cli {

ExitCode run_help_verb(const Arguments& arguments, Console& console) {
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

}  // namespace tilewright::cli
