// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>

/// As much of MPI as docs/examples/ranks asks for, with one rank after the other in one process: what rank 0 sends, the
/// others get, if they ask for as much. One thread.
using MPI_Comm = int;
using MPI_Datatype = int;
using MPI_Op = int;
constexpr int MPI_CHAR = 0, MPI_INT = 0, MPI_MIN = 0;
inline void* const MPI_IN_PLACE = nullptr;

inline int fake_mpi_rank = 0;
inline std::string fake_mpi_sent;
constexpr int fake_mpi_truncated = 15;

inline int MPI_Comm_rank(MPI_Comm /*job*/, int* rank) {
  *rank = fake_mpi_rank;
  return 0;
}

/// A mismatch ends the job, as it does in MPI.
inline int MPI_Bcast(void* data, int count, MPI_Datatype /*type*/, int /*from*/, MPI_Comm /*job*/) {
  if (fake_mpi_rank == 0) fake_mpi_sent.assign(static_cast<const char*>(data), static_cast<std::size_t>(count));
  if (fake_mpi_sent.size() != static_cast<std::size_t>(count)) throw fake_mpi_truncated;
  std::memcpy(data, fake_mpi_sent.data(), fake_mpi_sent.size());
  return 0;
}

inline int MPI_Allreduce(const void* /*in*/, void* /*out*/, int /*count*/, MPI_Datatype, MPI_Op, MPI_Comm) { return 0; }
