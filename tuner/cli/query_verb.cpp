// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/query.hpp"

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run_query(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const app::QueryRequest request{place_of(arguments), read_problem_words(arguments), arguments.text("device")};
  const app::QueryResult result = app::query(request);
  console.print(app::table_of(result, request.place), format);
  return result.is_served() ? ExitCode::done : ExitCode::failed;
}

}  // namespace

Verb query_verb() {
  Verb verb;
  verb.name = "query";
  verb.summary = "Ask the cache which config serves a problem, and how well it fits";
  verb.usage = "OP [NAME=VALUE...] [OPTION...]";
  verb.description = {
      "Answers from the cache alone, in milliseconds, without a GPU or a compiler. An omitted dtype or attribute takes "
      "its first value. Without --device, each device of the cache has an answer.",
      "The match says how the served config fits: exact (tuned for this problem), nearest (tuned for another shape), "
      "default (the op's base) or none; fresh, or stale if the op's sources have changed since; same device or same "
      "architecture. Beside the time stand the bytes and operations of the measured problem, the bound and "
      "the share of the measured ceiling.",
  };
  verb.options = {
      {.name = "device",
       .value = "NAME",
       .help = "A device of the cache by its name or a part of it, cpu, or an architecture such as sm_90.",
       .takes = Takes::stored_device},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright query softmax rows=8 cols=100 dtype=f32", "The config for one shape."},
      {"tilewright query \"softmax[dtype=bf16]{rows=4096,cols=1024}\" --device H200 --format json",
       "The same by shape key, for a program."},
  };
  verb.exit_codes =
      "0 a config can be served, 1 none can (match none) or the cache cannot be read, 2 the command line is wrong.";
  verb.run = run_query;
  return verb;
}

}  // namespace tilewright::cli
