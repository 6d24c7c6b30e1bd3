// SPDX-License-Identifier: Apache-2.0
// A listener gets each event once, also after reconnecting.
#include "tuner/service/event_hub.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

constexpr std::size_t kRoom = 4000;
/// About the bytes of one of event()'s.
constexpr std::size_t kEvent = 80;

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
  service::EventHub hub(kRoom);
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
  service::EventHub hub(kRoom);
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
  service::EventHub hub(kRoom);
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

TEST(EventHubs, give_who_comes_first_what_is_kept_of_a_long_job) {
  service::EventHub hub(4 * kEvent);
  hub.publish({{"event", "job_started"}, {"number", 1}});
  for (int i = 2; i <= 20; ++i) hub.publish(event(i));
  const std::string heard = listen(hub)->heard;
  EXPECT_FALSE(contains(heard, "job_started")) << heard;
  EXPECT_FALSE(contains(heard, "\"number\":2}")) << heard;
  EXPECT_TRUE(contains(heard, "\"number\":19}")) << heard;
  EXPECT_TRUE(contains(heard, "\"number\":20}")) << heard;
}

TEST(EventHubs, tell_who_was_away_too_long_or_in_another_life_to_begin_anew) {
  service::EventHub hub(4 * kEvent);
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
    const std::string anew = last_id(after->heard);
    hub.publish(event(21));
    EXPECT_TRUE(contains(listen(hub, anew)->heard, "\"number\":21")) << last;
  }
}

TEST(EventHubs, keep_no_more_than_a_returning_client_can_be_sent_at_once) {
  service::EventHub hub(kRoom);
  const auto all = listen(hub);
  hub.publish(event(1));
  const std::string first = last_id(all->heard);
  std::string later;
  for (int i = 2; i <= 100; ++i) {
    nlohmann::ordered_json large = event(i);
    large["text"] = std::string(kRoom / 10, 'x');
    hub.publish(large);
    if (i == 95) later = last_id(all->heard);
  }
  EXPECT_TRUE(contains(listen(hub, first)->heard, "event: reset\n"));
  const auto after = listen(hub, later);
  EXPECT_TRUE(contains(after->heard, "\"number\":96")) << after->heard;
  EXPECT_LE(after->heard.size(), kRoom + kEvent);
  // Larger than what may be kept: who has heard it goes on.
  hub.publish({{"event", "note"}, {"text", std::string(2 * kRoom, 'x')}});
  EXPECT_FALSE(contains(listen(hub, last_id(all->heard))->heard, "event:"));
}

}  // namespace
}  // namespace tilewright::testing
