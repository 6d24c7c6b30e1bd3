// SPDX-License-Identifier: Apache-2.0
// A listener gets each event once, also after reconnecting.
#include "tuner/service/event_hub.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class Ear : public service::Stream {
 public:
  bool write(std::shared_ptr<const std::string> text) override {
    if (gone) return false;
    heard += *text;
    return true;
  }
  void end() override { ended = true; }

  std::string heard;
  bool gone = false, ended = false;
};

std::shared_ptr<Ear> listen(service::EventHub& hub, const std::string& last = "") {
  auto ear = std::make_shared<Ear>();
  hub.stream(last).stream(ear);
  return ear;
}

/// The last id in the received text.
std::string last_id(const std::string& heard) {
  const std::size_t at = heard.rfind("id: ") + 4;
  return heard.substr(at, heard.find('\n', at) - at);
}

nlohmann::ordered_json event(int number) { return {{"event", "trial"}, {"number", number}}; }

TEST(EventHubs, send_each_event_to_all_who_listen) {
  service::EventHub hub;
  const auto first = listen(hub);
  hub.publish(event(1));
  const auto second = listen(hub);
  hub.publish(event(2));
  EXPECT_TRUE(contains(first->heard, "event: trial\ndata: {\"event\":\"trial\",\"number\":1}\n\n"));
  EXPECT_TRUE(contains(first->heard, "\"number\":2"));
  EXPECT_FALSE(contains(second->heard, "\"number\":1"));
  EXPECT_EQ(hub.listeners(), 2U);
  first->gone = true;
  hub.publish(event(3));
  EXPECT_EQ(hub.listeners(), 1U);
  hub.end();
  EXPECT_TRUE(second->ended);
  EXPECT_TRUE(listen(hub)->ended);
}

TEST(EventHubs, give_who_comes_back_what_was_missed_and_nothing_twice) {
  service::EventHub hub;
  const auto before = listen(hub);
  for (int i = 1; i <= 3; ++i) hub.publish(event(i));
  const std::string id = last_id(before->heard);
  EXPECT_FALSE(contains(listen(hub, id)->heard, "data:"));
  for (int i = 4; i <= 6; ++i) hub.publish(event(i));
  const auto after = listen(hub, id);
  for (int i = 1; i <= 6; ++i) {
    EXPECT_EQ(contains(after->heard, "\"number\":" + std::to_string(i)), i > 3) << after->heard;
  }
}

TEST(EventHubs, give_who_comes_first_the_job_under_way_from_its_beginning) {
  service::EventHub hub;
  hub.publish(event(1));
  hub.publish({{"event", "job_started"}, {"number", 2}});
  hub.publish(event(3));
  const auto during = listen(hub);
  hub.publish({{"event", "job_done"}, {"number", 4}});
  hub.publish(event(5));
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(contains(during->heard, "\"number\":" + std::to_string(i)), i > 1) << during->heard;
  }
  EXPECT_FALSE(contains(listen(hub)->heard, "data:"));
}

TEST(EventHubs, tell_who_was_away_too_long_or_in_another_life_to_begin_anew) {
  service::EventHub hub(4);
  const auto before = listen(hub);
  hub.publish(event(1));
  const std::string id = last_id(before->heard);
  for (int i = 2; i <= 20; ++i) hub.publish(event(i));
  for (const std::string& last :
       {id, std::string("00000000-3"), std::string("x"), id.substr(0, 9), id + "9999999999999999999"}) {
    const auto after = listen(hub, last);
    EXPECT_TRUE(contains(after->heard, "event: reset\n")) << last << after->heard;
    EXPECT_FALSE(contains(after->heard, "number")) << last;
    // With its new id the stream continues.
    hub.publish(event(21));
    EXPECT_TRUE(contains(listen(hub, last_id(after->heard))->heard, "")) << last;
  }
}

}  // namespace
}  // namespace tilewright::testing
