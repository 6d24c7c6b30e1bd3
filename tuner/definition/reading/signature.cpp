// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/signature.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace tilewright::reading {
namespace {

constexpr std::string_view kPointer = "pointer";
constexpr std::string_view kLongLong = "long long";
constexpr std::string_view kUnsignedLongLong = "unsigned long long";

/// For one-word types.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords{{{"float", "float"},
                                                                                {"double", "double"},
                                                                                {"int32_t", "int"},
                                                                                {"uint32_t", "unsigned"},
                                                                                {"int64_t", kLongLong},
                                                                                {"uint64_t", kUnsignedLongLong},
                                                                                {"ptrdiff_t", kLongLong},
                                                                                {"size_t", kUnsignedLongLong},
                                                                                {"CUtensorMap", ""},
                                                                                {"bool", ""}}};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = std::find_if(at, text.end(), is_word);
    at = std::find_if_not(begin, text.end(), is_word);
    if (begin != at) words.emplace_back(begin, at);
  }
  return words;
}

/// The type made of int, long, unsigned and signed in any order; nullopt for another type.
std::optional<std::string_view> integer_of(const std::vector<std::string_view>& words) {
  std::size_t longs = 0;
  bool is_unsigned = false;
  std::size_t known = 0;
  for (const std::string_view word : words) {
    longs += word == "long" ? 1U : 0U;
    is_unsigned = is_unsigned || word == "unsigned";
    known += word == "long" || word == "unsigned" || word == "signed" || word == "int" ? 1U : 0U;
  }
  // The remaining word is the name.
  if (known == 0 || words.size() > known + 1) return std::nullopt;
  // On CUDA hosts, long has 64 bits.
  if (longs > 0) return is_unsigned ? kUnsignedLongLong : kLongLong;
  return is_unsigned ? "unsigned" : "int";
}

/// Signed and unsigned integers of one size may stand for each other.
std::string_view without_sign(std::string_view as) {
  if (as == "unsigned") return "int";
  return as == kUnsignedLongLong ? kLongLong : as;
}

std::string_view passed_as(DType type) {
  switch (type) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::i32:
      return "int";
    case DType::u32:
      return "unsigned";
    case DType::i64:
      return kLongLong;
    case DType::u64:
      return kUnsignedLongLong;
    default:
      return "";
  }
}

}  // namespace

std::string passed_as(std::string_view declaration) {
  declaration = declaration.substr(0, declaration.find('='));
  if (declaration.find_first_of("*[") != std::string_view::npos) return std::string(kPointer);
  std::vector<std::string_view> words = words_of(declaration);
  std::erase_if(words, [](std::string_view word) {
    return word == "const" || word == "volatile" || word == "std" || word == "__grid_constant__";
  });
  if (words.empty() || declaration.find_first_of("<&") != std::string_view::npos) return "";
  if (const auto integer = integer_of(words)) return std::string(*integer);
  const auto* const known =
      std::ranges::find(kWords, words.front(), &std::pair<std::string_view, std::string_view>::first);
  return known == kWords.end() || words.size() > 2 ? std::string() : std::string(known->second);
}

std::vector<Passed> passed_by(const std::vector<KernelParam>& params, const std::vector<Argument>& args) {
  std::vector<Passed> passed;
  for (const KernelParam& param : params) {
    std::string_view as;
    switch (param.kind) {
      case KernelParam::Kind::ptr:
      case KernelParam::Kind::workspace:
        as = kPointer;
        break;
      case KernelParam::Kind::dim:
      case KernelParam::Kind::value:
        as = kLongLong;
        break;
      case KernelParam::Kind::scalar: {
        const auto arg = std::ranges::find(args, param.name, &Argument::name);
        if (arg != args.end() && arg->type) as = passed_as(*arg->type);
        break;
      }
      case KernelParam::Kind::map:
        break;
    }
    passed.push_back({param.name, std::string(as)});
  }
  return passed;
}

std::vector<KernelParam> all_params(const std::vector<Argument>& args, const std::vector<std::string>& dims) {
  using Kind = KernelParam::Kind;
  std::vector<KernelParam> params;
  for (const Argument& arg : args) params.push_back({arg.role == ArgRole::scalar ? Kind::scalar : Kind::ptr, arg.name});
  for (const std::string& dim : dims) params.push_back({Kind::dim, dim});
  return params;
}

bool agree(const std::vector<std::string>& declarations, const std::vector<Passed>& passed) {
  return std::ranges::equal(declarations, passed, [](const std::string& declaration, const Passed& given) {
    const std::string declared = passed_as(declaration);
    return declared.empty() || given.as.empty() || without_sign(declared) == without_sign(given.as);
  });
}

std::string text(const std::vector<Passed>& passed) {
  std::vector<std::string> parts;
  for (const Passed& each : passed) {
    parts.push_back(each.as.empty() ? each.name : fmt::format("{} {}", each.as, each.name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace tilewright::reading
