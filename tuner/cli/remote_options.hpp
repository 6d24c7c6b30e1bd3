// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/app/remote_place.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/interrupt.hpp"

/// Options of verbs that talk to a service.
namespace tilewright::cli {

inline const Option kToken{"token-file", "FILE",
                           "A file with the token of the service. Default: the token in TILEWRIGHT_TOKEN."};
inline const Option kAuthorities{"ca", "FILE", "Trusted certificates in PEM, instead of the system's."};

/// --token-file and --ca; Ctrl-C ends waiting for the network.
[[nodiscard]] inline app::RemotePlace remote_place(const Arguments& arguments, const std::string& name) {
  app::RemotePlace remote{name, {}, {}, interrupted};
  if (arguments.has("token-file")) remote.token = arguments.text("token-file");
  if (arguments.has("ca")) remote.authorities = arguments.text("ca");
  return remote;
}

}  // namespace tilewright::cli
