// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "cache/base/clock.hpp"
#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/service/service.hpp"
#include "tuner/service/tokens.hpp"

namespace tilewright::cli {
namespace {

using service::Scope;

std::set<Scope> scopes_of(const Arguments& arguments) {
  std::set<Scope> scopes;
  for (const std::string& name : app::split_list(arguments.text("scopes", "read,report"))) {
    scopes.insert(service::scope_from(name).value());
  }
  return scopes;
}

/// `--new-token NAME`: the token's text is printed once, and not stored.
ExitCode make_token(const Arguments& arguments, Console& console) {
  if (!arguments.has("tokens")) throw UsageError("--new-token needs the file to add it to: --tokens FILE");
  std::optional<std::int64_t> expires_at;
  if (arguments.has("expires")) {
    constexpr std::int64_t kMostDays = 36'500;
    expires_at = now_seconds() + kSecondsOfADay * arguments.integer("expires", 1, 1, kMostDays);
  }
  const std::string name = arguments.text("new-token");
  console.print(service::add_token(arguments.text("tokens"), name, scopes_of(arguments), expires_at) + "\n");
  console.say(fmt::format("The token '{}' is not shown again; {} has its hash. A running service knows it at once.",
                          name, arguments.text("tokens")));
  return ExitCode::done;
}

/// "request id=5f3a-1 method=GET …"
std::string line_of(const nlohmann::ordered_json& event) {
  std::string line;
  for (const auto& [name, value] : event.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    line += name == "event" ? text : fmt::format(" {}={}", name, text);
  }
  return line;
}

ExitCode run_serve(const Arguments& arguments, Console& console) {
  arguments.require_at_most(0);
  if (arguments.has("new-token")) return make_token(arguments, console);
  for (const char* const option : {"scopes", "expires"}) {
    if (arguments.has(option)) throw UsageError(fmt::format("--{} is for a new token: add --new-token NAME", option));
  }
  service::Settings settings;
  settings.place = place_of(arguments);
  settings.bind = arguments.text("bind", settings.bind);
  const std::int64_t port = arguments.integer("port", settings.port, 0);
  if (port > 65'535) throw UsageError(fmt::format("--port {}: ports end at 65535", port));
  settings.port = static_cast<std::uint16_t>(port);
  settings.read_only = arguments.has("read-only");
  settings.behind_proxy = arguments.has("behind-proxy");
  settings.requests_per_second = static_cast<double>(arguments.integer("rate", 0, 0));
  if (arguments.has("devices")) settings.devices = app::split_list(arguments.text("devices"));
  if (arguments.has("tokens")) settings.tokens = arguments.text("tokens");
  if (arguments.has("certificate")) {
    const std::string certificate = arguments.text("certificate");
    settings.tls = service::TlsFiles{certificate, arguments.text("certificate-key", certificate)};
  } else if (arguments.has("certificate-key")) {
    throw UsageError("--certificate-key needs its certificate: add --certificate FILE");
  }
  if (arguments.has("channels")) settings.channels = arguments.text("channels");
  if (arguments.has("publishers")) settings.publishers = arguments.text("publishers");
  const bool quiet = arguments.has("quiet");
  service::Service service(settings, [&](const nlohmann::ordered_json& event) {
    if (quiet && event["event"] != "error" && event.value("status", 0) < 400) return;
    console.logs_json() ? console.log(event) : console.say(line_of(event));
  });
  watch_interrupts();
  // For programs that start it on any free port.
  console.print(fmt::format("Serving {}\n", service.url()));
  // Work that goes on, such as a table of all trials, only reads, or ends as a kill would end it.
  if (!service.run(interrupted)) std::_Exit(static_cast<int>(ExitCode::done));
  return ExitCode::done;
}

}  // namespace

Verb serve_verb() {
  Verb verb;
  verb.name = "serve";
  verb.summary = "Serve the cache over HTTP, and tune requested shapes";
  verb.usage = "[OPTION...]";
  verb.description = {
      "Serves the cache over HTTP until Ctrl-C, which lets running requests finish. GET /openapi.json describes all "
      "requests; docs/service.md sets up a service in five minutes, with tokens, a proxy and systemd.",
      "POST /v1/misses and /v1/campaigns queue problems of the ops on this machine, which are tuned on --devices as "
      "`sweep` does. The queue is stored in the cache and continues after a kill. No "
      "request carries source or a command.",
      "By default it listens on this machine alone. Another address needs --tokens, since others can reach it, and "
      "TLS: its own (--certificate), or that of a proxy in front (--behind-proxy).",
      "A token is 256 random bits: --new-token makes one, prints it, and adds its hash to the --tokens file. To revoke "
      "a token, remove its lines from the file.",
  };
  verb.options = {
      {"bind", "ADDRESS", "The address to listen on. Default: 127.0.0.1."},
      {"port", "N", "The port; 0 takes a free one and prints it. Default: 8470."},
      {.name = "devices",
       .value = "LIST",
       .help = "Tune misses and campaigns on these: all (GPUs), cuda:0,cuda:2 or cpu. Default: "
               "none; misses and campaigns wait.",
       .list = true,
       .takes = Takes::place},
      {"read-only", "", "Write nothing, and answer 403 to requests that would."},
      {"tokens", "FILE",
       "The file of tokens and their rights. Without it, anyone who reaches the address may do everything."},
      {"certificate", "FILE",
       "Speak TLS with this certificate and its intermediates, in PEM. A change of the "
       "file takes effect within a second."},
      {"certificate-key", "FILE", "The private key of the certificate, in PEM. Default: in the --certificate file."},
      {"behind-proxy", "",
       "Needs --tokens. A proxy on this address's network speaks TLS, and names clients in X-Forwarded-For."},
      {"rate", "N", "Requests per second of one token or address; more are answered with 429. Default: no limit."},
      {"publishers", "FILE", "Public keys in PEM whose owners may publish snapshots. Default: none."},
      {"channels", "FOLDER", "The folder of snapshots and channels. Default: CACHE-channels."},
      {"new-token", "NAME", "Do not serve: make a token of this name and add it to the --tokens file."},
      {.name = "scopes",
       .value = "LIST",
       .help = "The rights that the new token grants. Default: read,report.",
       .words = {"read", "report", "submit", "publish"},
       .list = true},
      {"expires", "DAYS", "The days until the new token expires. Default: it does not expire."},
      {"quiet", "", "Log only requests that were refused or failed."},
      kLogFormat,
      kOps,
      kCache,
  };
  verb.examples = {
      {"tilewright serve", "For programs on this machine: http://127.0.0.1:8470."},
      {"tilewright serve --devices all", "On the machine with the GPUs: tunes the shapes that applications missed."},
      {"tilewright serve --tokens tokens.json --new-token engine --scopes read,report", "A token for an engine."},
      {"tilewright serve --bind 0.0.0.0 --tokens tokens.json --certificate tuning.pem", "For a fleet, with TLS."},
      {"tilewright serve --bind 0.0.0.0 --tokens tokens.json --behind-proxy", "For a fleet, behind nginx."},
  };
  verb.exit_codes = "0 ended by Ctrl-C, 1 it could not start, 2 the command line is wrong.";
  verb.run = run_serve;
  return verb;
}

}  // namespace tilewright::cli
