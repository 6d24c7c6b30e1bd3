// SPDX-License-Identifier: Apache-2.0
#include "tests/launch/sample_cache.hpp"

#include <fmt/format.h>

namespace tilewright::testing {

namespace {

// 32 hexadecimal digits that differ between implementations.
std::string hash_of(const OpInterface& interface, const std::string& implementation) {
  std::string hash = "0123456789abcdef0123456789abcdef";
  std::size_t i = 0;
  for (const char c : interface.op + implementation) {
    hash[i++ % hash.size()] = "0123456789abcdef"[static_cast<unsigned char>(c) % 16];
  }
  return hash;
}

}  // namespace

DeviceFacts recording_device(const std::string& name, int compute_capability, int sm_count) {
  DeviceFacts facts;
  facts.name = name;
  facts.compute_capability = compute_capability;
  facts.sm_count = sm_count;
  facts.memory_bytes = std::int64_t{140} << 30;
  facts.memory_bus_bits = 6144;
  facts.l2_bytes = 62914560;
  facts.shared_per_block_optin = 232448;
  facts.shared_per_sm = 233472;
  facts.registers_per_sm = 65536;
  facts.max_threads_per_sm = 2048;
  return facts;
}

SampleCache::SampleCache(const std::filesystem::path& path) : store_(path) {}

void SampleCache::add_op(const OpInterface& interface, const ImplementationRecipe& recipe,
                         const std::vector<KernelFacts>& kernels, const std::vector<std::byte>& binary) {
  const std::string hash = hash_of(interface, recipe.name);
  store_.put_interface(interface);
  store_.put_implementation(interface.hash(), {hash, recipe});
  Build build;
  build.key = hash;
  build.ok = true;
  build.kernels = kernels;
  build.compiler = "NVRTC 13.0";
  build.arch = "sm_90a";
  store_.put_build(build, binary);
}

void SampleCache::add_winner(const OpInterface& interface, const std::string& problem, const std::string& config,
                             const SampleWinner& sample) {
  const ProblemKey key{parse_problem(problem, interface), interface.hash(), sample.device.fingerprint()};
  store_.put_device(sample.device);
  Winner winner;
  winner.role = sample.role;
  winner.base_ns = 2 * sample.median_ns;
  winner.configs_considered = 3;
  winner.strategy = "exhaustive";
  winner.trial.config = Config::parse(config);
  winner.trial.versions = sample.versions;
  winner.trial.timing = Timing{};
  winner.trial.timing->median_ns = sample.median_ns;
  winner.trial.timing->floor_ns = sample.floor_ns;
  winner.trial.timing->low_ns = 0.99 * sample.median_ns;
  winner.trial.timing->high_ns = 1.01 * sample.median_ns;
  const std::string implementation = hash_of(interface, winner.trial.config.implementation);
  winner.trial.build_key = implementation;
  winner.trial.id = store_.put_trial(key, implementation, winner.trial);
  std::vector<Winner> winners = store_.winners(key, MeasureMode::cold);
  winners.push_back(winner);
  store_.put_winners(key, MeasureMode::cold, winners);
}

void SampleCache::add_trial_of_a_sweep() {
  const WinnerRow row = store_.list_winners({}).at(0);
  if (sweep_ == 0) sweep_ = store_.begin_sweep("sweep", row.device.fingerprint());
  Trial trial = store_.trial(row.winner.trial.id).value();
  trial.sweep = sweep_;
  store_.put_trial({row.problem, row.interface_hash, row.device.fingerprint()}, row.implementation_hash, trial);
}

void SampleCache::add_scale() {
  const OpInterface op = scale_interface();
  add_op(op, scale_wide(), scale_kernels(), scale_binary());
  add_op(op, scale_plain(), scale_kernels(), scale_binary());
  const std::string problem = "scale[dtype=f16]{rows=8,cols=64}";
  add_winner(op, problem, "wide{num_warps=2,vec=8,static_dims=1}", {.role = WinnerRole::best, .median_ns = 1000});
  add_winner(op, problem, "wide{num_warps=4,vec=4,static_dims=0}", {.role = WinnerRole::dynamic, .median_ns = 1200});
  add_winner(op, problem, "plain{num_warps=8}", {.role = WinnerRole::base, .median_ns = 2000});
}

void SampleCache::add_many(int count, std::size_t bytes, const std::vector<std::byte>& read,
                           const DeviceFacts& device) {
  Store::Batch batch(store_);
  add_scale();
  const OpInterface op = scale_interface();
  const std::string fingerprint = device.fingerprint();
  store_.put_device(device);
  std::vector<std::byte> binary = read;
  std::string build = hash_of(op, "wide");
  for (int i = 1; i <= count; ++i) {
    const std::string shape = fmt::format("scale[dtype=f16]{{rows={},cols=64}}", 8 * (i + 1));
    const ProblemKey key{parse_problem(shape, op), op.hash(), fingerprint};
    if (i % 100 == 1) {
      // Padding after the part that the driver reads.
      binary.resize(bytes);
      for (std::size_t at = read.size(); at < bytes; ++at) {
        binary[at] = static_cast<std::byte>((at * 2654435761U + static_cast<std::size_t>(i)) >> 13);
      }
      build = fmt::format("{:032x}", i);
      store_.put_build({.key = build,
                        .ok = true,
                        .binary_hash = {},
                        .kernels = scale_kernels(),
                        .log = {},
                        .compiler = "NVRTC 13.0",
                        .arch = "sm_90a"},
                       binary);
    }
    Winner winner;
    winner.strategy = "exhaustive";
    winner.trial.config = Config::parse(fmt::format("wide{{num_warps={},vec=8,static_dims=1}}", 1 << (i % 4)));
    winner.trial.versions = SampleWinner{}.versions;
    winner.trial.timing = Timing{};
    winner.trial.timing->median_ns = 1000 + i;
    winner.trial.timing->low_ns = winner.trial.timing->high_ns = 1000 + i;
    winner.trial.build_key = build;
    winner.trial.id = store_.put_trial(key, hash_of(op, "wide"), winner.trial);
    store_.put_winners(key, MeasureMode::cold, {winner});
  }
  batch.commit();
}

void SampleCache::add_strided() {
  const OpInterface op = strided_interface();
  add_op(op, strided_wide(), scale_kernels(), strided_binary());
  add_op(op, strided_plain(), scale_kernels(), strided_binary());
  for (const char* pitch : {"dense", "strided"}) {
    const std::string problem = std::string("strided[dtype=f16,pitch=") + pitch + "]{rows=8,cols=64}";
    add_winner(op, problem, "wide{num_warps=2,vec=8,static_dims=1}", {.role = WinnerRole::best});
    add_winner(op, problem, "wide{num_warps=4,vec=4,static_dims=0}", {.role = WinnerRole::dynamic});
    add_winner(op, problem, "plain{num_warps=8}", {.role = WinnerRole::base});
  }
}

void SampleCache::add_packed() {
  const OpInterface op = packed_interface();
  add_op(op, packed_wide(), packed_kernels(), packed_binary());
  add_op(op, packed_plain(), packed_kernels(), packed_binary());
  add_winner(op, "packed{b=2,t=3,h=5,d=8}", "wide{}", {.role = WinnerRole::best});
  add_winner(op, "packed{b=2,t=3,h=5,d=8}", "plain{}", {.role = WinnerRole::base});
}

void SampleCache::add_ragged() {
  const OpInterface op = ragged_interface();
  add_op(op, ragged_rows(), ragged_kernels(), ragged_binary());
  add_winner(op, "ragged{tokens=100,heads=3,d=8}", "rows{}", {.role = WinnerRole::best});
  add_winner(op, "ragged{tokens=100,heads=3,d=8}", "rows{}", {.role = WinnerRole::base});
}

void SampleCache::add_many() {
  const OpInterface op = many_interface();
  add_op(op, many_wide(), many_kernels(), many_binary());
  add_op(op, many_plain(), many_kernels(), many_binary());
  add_winner(op, "many{n=64}", "wide{}", {.role = WinnerRole::best});
  add_winner(op, "many{n=64}", "plain{}", {.role = WinnerRole::base});
}

void SampleCache::add_reduce() {
  const OpInterface op = reduce_interface();
  add_op(op, reduce_split(), reduce_kernels(), reduce_binary());
  add_winner(op, "reduce{m=64,k=256}", "split{split=2,block_m=32}", {.role = WinnerRole::base});
}

}  // namespace tilewright::testing
