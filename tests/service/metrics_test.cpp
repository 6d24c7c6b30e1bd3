// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/metrics.hpp"

#include <gtest/gtest.h>

#include "tests/service/fixture.hpp"

namespace tilewright::testing {
namespace {

using service::Metrics;
using Kind = Metrics::Kind;

TEST(Metric, counters_and_gauges_stand_by_their_labels) {
  Metrics metrics;
  const Metrics::Family count{"a_total", Kind::counter, "how often"};
  metrics.add(count, {{"status", "404"}});
  metrics.add(count, {{"status", "200"}}, 2);
  metrics.add(count, {{"status", "200"}});
  metrics.set({"b", Kind::gauge, "how much"}, {}, 4);
  metrics.set({"b", Kind::gauge, "how much"}, {}, 1.5);
  EXPECT_EQ(metrics.text(),
            "# HELP a_total how often\n# TYPE a_total counter\na_total{status=\"200\"} 3\na_total{status=\"404\"} 1\n"
            "# HELP b how much\n# TYPE b gauge\nb 1.5\n");
}

TEST(Metric, a_histogram_counts_up_to_each_bound) {
  Metrics metrics;
  for (const double seconds : {0.0001, 0.001, 0.02, 100.0}) {
    metrics.observe({"t", Kind::histogram, "how long"}, {{"route", "/"}}, seconds);
  }
  const std::string text = metrics.text();
  for (const char* line :
       {"# TYPE t histogram\n", "t_bucket{route=\"/\",le=\"0.0005\"} 1\n", "t_bucket{route=\"/\",le=\"0.001\"} 2\n",
        "t_bucket{route=\"/\",le=\"0.025\"} 3\n", "t_bucket{route=\"/\",le=\"10\"} 3\n",
        "t_bucket{route=\"/\",le=\"+Inf\"} 4\n", "t_count{route=\"/\"} 4\n", "t_sum{route=\"/\"} 100.0211\n"}) {
    EXPECT_TRUE(contains(text, line)) << line << text;
  }
}

TEST(Metric, the_value_of_a_label_may_be_any_text) {
  Metrics metrics;
  metrics.add({"a", Kind::counter, "h"}, {{"x", "quote \" slash \\ line\nend"}});
  EXPECT_TRUE(contains(metrics.text(), "a{x=\"quote \\\" slash \\\\ line\\nend\"} 1\n")) << metrics.text();
}

using Measuring = ServiceTest;

TEST_F(Measuring, counts_requests_by_route_and_makes_no_series_of_what_clients_invent) {
  const RunningService service(settings);
  EXPECT_EQ(service.get("/v1/query?op=demo&rows=1&cols=64").status, 200);
  EXPECT_EQ(service.get("/v1/query?op=none").status, 400);
  EXPECT_EQ(service.get("/invented/1").status, 404);
  EXPECT_EQ(ask(service.port(), "BREW", "/invented/2").status, 404);
  const HttpAnswer answer = service.get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line :
       {"tilewright_requests_total{route=\"/v1/query\",method=\"GET\",status=\"200\"} 1\n",
        "tilewright_requests_total{route=\"/v1/query\",method=\"GET\",status=\"400\"} 1\n",
        "tilewright_requests_total{route=\"none\",method=\"none\",status=\"404\"} 2\n",
        "tilewright_request_seconds_count{route=\"/v1/query\"} 2\n", "tilewright_event_listeners 0\n",
        "tilewright_queue{state=\"missed\"} 0\n", "tilewright_info{version=\""}) {
    EXPECT_TRUE(contains(answer.body, line)) << line << answer.body;
  }
  EXPECT_FALSE(contains(answer.body, "invented")) << answer.body;
  EXPECT_FALSE(contains(answer.body, "BREW")) << answer.body;
}

}  // namespace
}  // namespace tilewright::testing
