// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/sources.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/definition/helpers.hpp"

namespace tilewright::reading {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const Mistakes& mistakes) {
  std::vector<std::string> found;
  try {
    mistakes.throw_if_any();
  } catch (const DefinitionError& error) {
    for (const Diagnostic& mistake : error.mistakes()) found.push_back(mistake.text());
  }
  return found;
}

Node text_at(const std::string& text, int line) {
  Node node;
  node.kind = Node::Kind::text;
  node.text = text;
  node.place = {line, 1};
  return node;
}

TEST(Sources, reads_a_file_once_however_it_is_named) {
  const test::TempFolder folder;
  folder.write("a.cu", "");
  Sources sources(folder.path(), {});
  Mistakes mistakes("f.toml");
  const SourceClosure* first = sources.find(text_at("a.cu", 1), mistakes);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(sources.find(text_at("./a.cu", 2), mistakes), first);
  EXPECT_EQ(first->files.front().path, folder.path() / "a.cu");
}

TEST(Sources, reports_files_and_includes_that_are_not_there) {
  const test::TempFolder folder;
  folder.write("a.cu", "#include \"gone.cuh\"\n");
  Sources sources(folder.path(), {});
  Mistakes mistakes("f.toml");
  EXPECT_EQ(sources.find(text_at("b.cu", 1), mistakes), nullptr);
  EXPECT_NE(sources.find(text_at("a.cu", 2), mistakes), nullptr);
  EXPECT_THAT(
      texts(mistakes),
      ElementsAre(fmt::format("f.toml:1:1: there is no file 'b.cu' in {}", folder.path().string()),
                  "f.toml:2:1: a.cu includes \"gone.cuh\", which is neither beside it nor in the kernels folder"));
}

TEST(Sources, refuses_headers_of_the_host_in_a_line) {
  const test::TempFolder folder;
  folder.write("a.cu",
               "#include <cmath>\n#include <math.h>\n#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n"
               "#include <cuda/std/limits>\n// #include <vector>\n");
  Sources sources(folder.path(), {});
  Mistakes mistakes("f.toml");
  EXPECT_NE(sources.find(text_at("a.cu", 2), mistakes), nullptr);
  EXPECT_THAT(texts(mistakes),
              ElementsAre(testing::StartsWith("f.toml:2:1: a.cu includes <cmath>, which is a header of the host: "
                                              "device code has expf"),
                          testing::StartsWith("f.toml:2:1: a.cu includes <math.h>, which is a header of the host")));
}

TEST(Sources, finds_kernels_in_headers_too) {
  const test::TempFolder folder;
  folder.write("a.cu", "#include \"a.cuh\"\n");
  folder.write("a.cuh", "__global__ void in_header(int x);\n");
  Sources sources(folder.path(), {});
  Mistakes mistakes("f.toml");
  const SourceClosure* closure = sources.find(text_at("a.cu", 1), mistakes);
  ASSERT_NE(closure, nullptr);
  using Given = std::vector<Passed>;
  Sources::check_kernel(*closure, text_at("in_header", 2), Given{{"seed", "int"}}, "'params'", mistakes);
  EXPECT_THAT(texts(mistakes), ElementsAre());
  Sources::check_kernel(*closure, text_at("in_header", 3), Given{{"seed", "int"}, {"y", ""}}, "'params'", mistakes);
  Sources::check_kernel(*closure, text_at("in_heater", 4), std::nullopt, "'params'", mistakes);
  EXPECT_THAT(texts(mistakes),
              ElementsAre("f.toml:3:1: kernel 'in_header' takes 1 parameters in a.cuh, and 'params' gives it 2: it "
                          "takes (int x) and is given (int seed, y)",
                          "f.toml:4:1: there is no kernel 'in_heater' in a.cu; did you mean 'in_header'?"));
}

TEST(Sources, have_the_fixed_includes_as_their_prelude_where_they_exist) {
  const test::TempFolder folder;
  folder.write("kernels/device/config.cuh", "#include \"device/more.cuh\"\n");
  folder.write("kernels/device/more.cuh", "");
  EXPECT_THAT(Sources(folder.path(), {folder.path() / "kernels"}).prelude(), testing::SizeIs(2));
  EXPECT_THAT(Sources(folder.path(), {folder.path()}).prelude(), testing::IsEmpty());
}

}  // namespace
}  // namespace tilewright::reading
