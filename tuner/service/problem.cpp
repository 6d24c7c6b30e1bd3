// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/problem.hpp"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "cache/base/error.hpp"

namespace tilewright::service {

const char* title_of(int status) noexcept {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 416:
      return "Range Not Satisfiable";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

Response problem(int status, const std::string& detail, const std::string& next) {
  nlohmann::ordered_json document{
      {"type", "about:blank"}, {"title", title_of(status)}, {"status", status}, {"detail", detail}};
  if (!next.empty()) document["next"] = next;
  Response response;
  response.status = status;
  response.type = "application/problem+json";
  // Texts may quote a path, which need not be UTF-8.
  response.body = document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  return response;
}

Response problem_of(const std::exception& error) {
  const auto* mistakes = dynamic_cast<const DefinitionError*>(&error);
  // Mistakes with lines are in a definition file; a formula of the request has none.
  if (mistakes != nullptr &&
      std::ranges::any_of(mistakes->mistakes(), [](const auto& each) { return each.line > 0; })) {
    return problem(500, error.what(), "The definition on the service's machine has mistakes: mend it there.");
  }
  if (dynamic_cast<const UsageError*>(&error) != nullptr) return problem(400, error.what());
  if (dynamic_cast<const CacheError*>(&error) != nullptr) {
    Response response = problem(503, error.what(), "Ask again later; `tilewright doctor` on its machine tells more.");
    response.headers.emplace_back("Retry-After", "5");
    return response;
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return problem(503, "the memory of the service's machine is exhausted", "Ask for less, such as with top=100.");
  }
  return problem(500, error.what(), "Report it, with the request's id, to whoever runs the service.");
}

}  // namespace tilewright::service
