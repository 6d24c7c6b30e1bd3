// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cache/base/error.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/app/new_op.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run_new(const Arguments& arguments, Console& console) {
  if (arguments.words().size() != 1) throw UsageError("name the op to make: tilewright new OP");
  const app::NewOpRequest request{arguments.words().front(),
                                  arguments.text("kind") == "free" ? app::NewOpKind::free : app::NewOpKind::row,
                                  arguments.has("in") ? arguments.text("in") : "."};
  for (const auto& file : app::new_op(request)) console.print(file.string() + "\n");
  const std::string folder = app::shell_word(request.folder.string());
  console.say(
      fmt::format("Next: tilewright check {0} --ops {1}, then tilewright sweep {0} --ops {1}", request.op, folder));
  return ExitCode::done;
}

}  // namespace

Verb new_verb() {
  Verb verb;
  verb.name = "new";
  verb.summary = "Create an op of your own: a definition and kernels, ready to sweep";
  verb.usage = "OP [OPTION...]";
  verb.description = {
      "Writes OP/OP.toml and OP/OP.cu, a working op to edit. A row op uses the skeletons of the built-in ops: it "
      "computes the L2 norm of rows, whose statistics and results you replace. A free op has a kernel of its own: y = "
      "alpha * x + y. docs/definitions.md describes definitions.",
  };
  verb.options = {
      {.name = "kind", .value = "KIND", .help = "row (default) or free.", .words = {"row", "free"}},
      {"in", "DIR", "The folder in which OP is created. Default: the current folder."},
  };
  verb.examples = {{"tilewright new row_sum --in my_ops", "Writes my_ops/row_sum/row_sum.toml and row_sum.cu."}};
  verb.exit_codes = "0 created, 1 a file cannot be written, 2 the name is not valid or exists already.";
  verb.run = run_new;
  return verb;
}

}  // namespace tilewright::cli
