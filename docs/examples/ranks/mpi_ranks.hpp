// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <exception>
#include <string>
#include <tilewright/launch.hpp>

/// All ranks of an MPI job are served from one snapshot, and find out before the first step where they are not.
namespace ranks {

/// Rank 0 says which snapshot the link leads to; every rank opens that one by its hash. Where there is none, as of a
/// cache that tuners write or a link that leads nowhere, every rank throws a tilewright::LaunchError.
inline tilewright::Launcher pin_for_all(const std::string& link, MPI_Comm job) {
  int rank = 0;
  MPI_Comm_rank(job, &rank);
  std::string pin;
  std::exception_ptr failed;
  try {
    if (rank == 0) pin = tilewright::Launcher(link).snapshot().snapshot;
  } catch (const tilewright::LaunchError&) {
    failed = std::current_exception();  // the others wait for what it says: blanks, which nobody opens
  }
  pin.resize(std::string("sha256:").size() + 64, ' ');
  MPI_Bcast(pin.data(), static_cast<int>(pin.size()), MPI_CHAR, 0, job);
  if (failed) std::rethrow_exception(failed);
  return tilewright::Launcher({.cache = link, .snapshot = pin});
}

/// After the warm-up: whether every rank has launched the same shapes, each served by the same config and binary.
inline bool same_plans(const tilewright::Launcher& launcher, MPI_Comm job) {
  const std::string mine = launcher.snapshot().plans_digest;
  std::string first = mine;
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, job);
  int same = mine == first ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, job);
  return same == 1;
}

}  // namespace ranks
