# SPDX-License-Identifier: Apache-2.0
"""What scripts/lib/check_names.py takes for two definitions of one name."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
import check_names  # noqa: E402


def in_space(text, name="tilewright"):
    return f"namespace {name} {{\n\n{text}\n\n}}  // namespace {name}\n"


class CheckNames(unittest.TestCase):
    def test_two_files_that_define_a_name_in_one_namespace_clash(self):
        files = {"a.hpp": in_space("struct Query {\n};"), "b.cpp": in_space("class Query final {\n};")}
        found = check_names.clashes(files)
        self.assertEqual(found, {"tilewright::Query": [("a.hpp", 3), ("b.cpp", 3)]})

    def test_an_alias_and_an_enum_clash_too(self):
        found = check_names.clashes(
            {"a.hpp": in_space("using Id = int;"), "b.hpp": in_space("enum class Id : std::uint8_t {\n  none\n};")}
        )
        self.assertEqual(list(found), ["tilewright::Id"])

    def test_what_is_aligned_or_has_an_attribute_clashes_too(self):
        found = check_names.clashes({"a.hpp": in_space("class alignas(64) Op {\n};"),
                                     "b.hpp": in_space("struct [[nodiscard]] Op final {\n};")})
        self.assertEqual(list(found), ["tilewright::Op"])

    def test_constants_clash_too(self):
        files = {
            "a.hpp": in_space("inline constexpr std::size_t kMost = 8;"),
            "b.hpp": in_space("constexpr std::chrono::seconds kMost{8};"),
        }
        self.assertEqual(list(check_names.clashes(files)), ["tilewright::kMost"])

    def test_other_namespaces_and_those_of_a_file_alone_do_not_clash(self):
        nameless = in_space("namespace {\n\nstruct Query {\n};\n\n}  // namespace")
        other = in_space("struct Query {\n};", "tilewright::app")
        self.assertEqual(check_names.clashes({"a": in_space("struct Query {\n};"), "b": nameless, "c": other}), {})

    def test_what_is_declared_or_nested_is_no_definition_of_its_own(self):
        text = in_space("class Query;\nstruct Query::Part {\n};\nstruct Query make(int);\n  struct Query {\n  };")
        self.assertEqual(list(check_names.definitions(text)), [])


if __name__ == "__main__":
    unittest.main()
