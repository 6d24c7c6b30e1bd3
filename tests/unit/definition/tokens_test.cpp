// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/tokens.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::reading {
namespace {

TEST(Tokens, are_the_same_whatever_the_comments_and_the_white_space) {
  const std::string written =
      "// A row.\ntemplate <class T>\n__global__ void f(float* x, int n) {\n  x[n] += 1.5e-3f;  /* here */\n}\n";
  EXPECT_EQ(tokens_of(written),
            tokens_of("template<class T>__global__\tvoid f ( float*x,int n ){x[ n ]+=\\\n1.5e-3f;}//\\\nno more"));
  EXPECT_EQ(tokens_of("a /* */ b"), "a\nb\n");
  EXPECT_EQ(tokens_of("a // one \\\n two\nb"), "a\nb\n") << "a continued line continues its comment";
  EXPECT_EQ(tokens_of("a /* never ends"), "a\n");
}

TEST(Tokens, differ_where_a_compiler_sees_another_text) {
  EXPECT_NE(tokens_of("a + +b"), tokens_of("a ++b"));
  EXPECT_NE(tokens_of("int x"), tokens_of("intx"));
  EXPECT_NE(tokens_of("a > > b"), tokens_of("a >> b"));
  EXPECT_NE(tokens_of("1.5e-3"), tokens_of("1.5e -3"));
  EXPECT_NE(tokens_of("1 .5"), tokens_of("1.5"));
  EXPECT_NE(tokens_of("f(\"a b\")"), tokens_of("f(\"ab\")"));
  EXPECT_NE(tokens_of("f(\"//\")"), tokens_of("f(\"\")"));
  EXPECT_NE(tokens_of("'\\''"), tokens_of("'\"'"));
}

TEST(Tokens, end_a_directive_with_its_line) {
  EXPECT_EQ(tokens_of("#if A\nb\n#endif\n"), "#\nif\nA\n\nb\n#\nendif\n\n");
  EXPECT_EQ(tokens_of("#  if A // yes\n b"), tokens_of("#if A\nb"));
  EXPECT_NE(tokens_of("#if A\nb\n#endif"), tokens_of("#if A b\n#endif"));
  EXPECT_EQ(tokens_of("#define N \\\n 3\nx"), tokens_of("#define N 3\nx"));
  EXPECT_EQ(tokens_of("a # b"), "a\n#\nb\n") << "not at the beginning of its line";
}

TEST(Tokens, tell_a_macro_with_parameters_from_one_in_parentheses) {
  EXPECT_NE(tokens_of("#define f(x) x"), tokens_of("#define f (x) x"));
  EXPECT_EQ(tokens_of("#define f( x )  x"), tokens_of("#define f(x) x"));
  EXPECT_EQ(tokens_of("#if f(x)"), tokens_of("#if f (x)"));
}

TEST(Tokens, leave_literals_as_they_are) {
  EXPECT_EQ(tokens_of("R\"x(a \"b\" // c)x\" d"), "R\"x(a \"b\" // c)x\"\nd\n");
  EXPECT_EQ(tokens_of("\"a \\\" // b\" c"), "\"a \\\" // b\"\nc\n");
  EXPECT_EQ(tokens_of("1'000 'a'"), "1'000\n'a'\n");
  EXPECT_EQ(tokens_of("\"never ends"), "\"never ends\n");
}

}  // namespace
}  // namespace tilewright::reading
