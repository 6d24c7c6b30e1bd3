// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/help.hpp"
#include "tuner/cli/man_page.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run_help(const Arguments& arguments, Console& console) {
  arguments.require_at_most(1);
  if (arguments.has("markdown")) {
    console.print(markdown_text());
  } else if (arguments.has("man")) {
    for (const std::filesystem::path& path : write_man_pages(arguments.text("man")))
      console.print(path.string() + "\n");
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
  verb.usage = "[VERB] [OPTION...]";
  verb.options = {{"markdown", "", "Print the whole of docs/cli.md."},
                  {"man", "DIR", "Write the man pages of the program and of each verb into this folder."}};
  verb.examples = {
      {"tilewright help sweep", "The same as `tilewright sweep --help`."},
      {"tilewright help --man ~/.local/share/man/man1",
       "Then `man tilewright-sweep` finds it. An installed program has its man pages already."},
  };
  verb.run = run_help;
  return verb;
}

}  // namespace tilewright::cli
