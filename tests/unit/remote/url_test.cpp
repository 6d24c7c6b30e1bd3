// SPDX-License-Identifier: Apache-2.0
#include "tuner/remote/url.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

TEST(Urls, have_a_scheme_a_host_a_port_and_a_path) {
  const Url plain = parse_url("http://host/base/");
  EXPECT_FALSE(plain.is_tls);
  EXPECT_EQ(plain.host, "host");
  EXPECT_EQ(plain.port, 80);
  EXPECT_EQ(plain.path, "/base");
  const Url secure = parse_url("https://user:word@[::1]:8443");
  EXPECT_TRUE(secure.is_tls);
  EXPECT_EQ(secure.host, "::1");
  EXPECT_EQ(secure.port, 8443);
  EXPECT_EQ(secure.user, "user:word");
  EXPECT_EQ(secure.text(), "https://[::1]:8443") << "nobody is told the password";
  EXPECT_EQ(parse_url("https://host").port, 443);
}

TEST(Urls, what_is_none_is_refused) {
  for (const char* bad : {"", "host", "ftp://host", "http://", "http://:80", "http://host:0", "http://host:70000",
                          "http://host:x", "http://[::1", "http://[::1]x", "http://host/?q=1", "http://ho st"}) {
    EXPECT_THROW(static_cast<void>(parse_url(bad)), UsageError) << bad;
  }
}

class Proxies : public ::testing::Test {
 protected:
  Proxies() {
    for (const char* name :
         {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "HTTP_PROXY"}) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      ::unsetenv(name);
    }
  }
  ~Proxies() override {
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  static std::string proxy(const char* url) {
    const auto found = proxy_for(parse_url(url));
    return found ? found->text() : "";
  }

 private:
  std::map<std::string, std::string> before_;
};

TEST_F(Proxies, are_those_of_the_environment) {
  EXPECT_EQ(proxy("http://host"), "");
  ::setenv("http_proxy", "http://proxy:3128", 1);
  EXPECT_EQ(proxy("http://host"), "http://proxy:3128");
  EXPECT_EQ(proxy("https://host"), "");
  ::setenv("https_proxy", "proxy:3129", 1);
  EXPECT_EQ(proxy("https://host"), "http://proxy:3129");
  ::unsetenv("http_proxy");
  ::setenv("HTTP_PROXY", "http://client-sent-this", 1);
  EXPECT_EQ(proxy("http://host"), "");
  ::unsetenv("HTTP_PROXY");
}

TEST_F(Proxies, are_not_asked_for_hosts_that_are_excepted) {
  ::setenv("all_proxy", "http://proxy", 1);
  ::setenv("no_proxy", "localhost, .inner.example,plain.example:81,[x", 1);
  EXPECT_EQ(proxy("http://localhost:8470"), "");
  EXPECT_EQ(proxy("http://a.inner.example"), "");
  EXPECT_EQ(proxy("http://inner.example"), "");
  EXPECT_EQ(proxy("http://plain.example:81"), "");
  EXPECT_EQ(proxy("http://plain.example"), "http://proxy:80");
  EXPECT_EQ(proxy("http://winner.example"), "http://proxy:80");
  ::setenv("no_proxy", "*", 1);
  EXPECT_EQ(proxy("http://winner.example"), "");
}

}  // namespace
}  // namespace tilewright
