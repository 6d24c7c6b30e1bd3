// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/bench_report.hpp"

#include <utility>

#include "tuner/process/worker_process.hpp"

namespace tilewright::app {
namespace {

/// Answers the reporter until its process ends.
BenchReport serve(WorkerProcess& reporter, BenchRun& run) {
  BenchReport reported;
  for (Message message;;) {
    // After an interrupt the remaining benchmarks are answered as interrupted, so that the finished ones are reported.
    switch (reporter.channel().receive(message)) {
      case Channel::Received::message:
        break;
      case Channel::Received::garbled:
        reporter.kill();
        [[fallthrough]];
      default:
        reported.end = reporter.end();
        return reported;
    }
    if (message.contains("done")) {
      reported.done = true;
      reported.lost = message.at("lost").get<std::string>();
    }
    if (!message.contains("run")) continue;
    // If the reporter has gone, the next receive() tells.
    (void)reporter.channel().send(run.answer(message.at("run"), message.at("iterations")));
  }
}

}  // namespace

BenchReport report_by(const std::filesystem::path& reporter, const Message& flags, BenchRun& run) {
  Message list = Message::array();
  for (const Timed& timed : run.timed()) {
    list.push_back({{"name", timed.name}, {"label", timed.candidate.config.text()}});
  }
  WorkerProcess process({reporter.string()}, {}, WorkerProcess::Output::standard_output);
  (void)process.channel().send({{"arguments", flags}, {"context", run.context()}, {"benchmarks", std::move(list)}});
  return serve(process, run);
}

}  // namespace tilewright::app
