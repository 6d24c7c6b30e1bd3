# SPDX-License-Identifier: Apache-2.0
"""What scripts/lib/check_decisions.py refuses of a record of docs/decisions."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
import check_decisions  # noqa: E402


def record(number, status="Stands."):
    return (f"# {number}. A subject\n\n**Context.** A need.\n\n**Decision.** A choice.\n\n**Not taken.** Another.\n\n"
            f"**Consequences.** A price.\n\n**Status.** {status}\n")


def found(*more, page="[why](decisions/0007-a-subject.md)", **changed):
    texts = {"docs/decisions/0007-a-subject.md": record(7), "docs/page.md": page, **dict(more)}
    texts.update(changed)
    return [f"{path}: {mistake}" for path, _, mistake in check_decisions.mistakes(texts)]


class CheckDecisions(unittest.TestCase):
    def test_a_record_of_the_form_that_a_page_links_is_good(self):
        self.assertEqual(found(), [])

    def test_a_record_may_be_named_by_a_comment(self):
        self.assertEqual(found(("cache/a.hpp", "/// As decision 7 says."), page=""), [])

    def test_a_record_that_nothing_refers_to_is_refused(self):
        self.assertIn("no page or source refers to it", found(page="")[0])

    def test_another_record_and_the_changelog_do_not_count(self):
        other = ("docs/decisions/0008-b.md", record(8).replace("A need.", "[7](0007-a-subject.md), decision 7."))
        mistakes = found(other, ("CHANGELOG.md", "decision 7"), page="decision 8")
        self.assertTrue(any("0007-a-subject.md: no page or source refers to it" in mistake for mistake in mistakes))

    def test_a_record_without_a_part_is_refused(self):
        for part in check_decisions.PARTS:
            text = record(7).replace(f"**{part}.**", "")
            self.assertIn("has not the parts", found(("docs/decisions/0007-a-subject.md", text))[0])

    def test_a_title_of_another_number_is_refused(self):
        self.assertIn("its title", found(("docs/decisions/0007-a-subject.md", record(8)))[0])

    def test_a_status_in_other_words_is_refused(self):
        mistakes = found(("docs/decisions/0007-a-subject.md", record(7, "Mostly replaced.")))
        self.assertIn("its status is neither", mistakes[0])

    def test_a_record_that_is_replaced_by_none_is_refused(self):
        gone = record(7, "Replaced by [9](0009-gone.md).")
        self.assertIn("which is not there", found(("docs/decisions/0007-a-subject.md", gone), page="")[0])

    def test_a_record_that_is_replaced_by_one_that_does_not_stand_is_refused(self):
        itself = record(7, "Replaced by [7](0007-a-subject.md).")
        self.assertIn("stands no more", found(("docs/decisions/0007-a-subject.md", itself), page="")[0])

    def test_a_text_that_contradicts_its_status_is_refused(self):
        said = record(7).replace("A need.", "A need, which no longer stands.")
        self.assertIn("its text says 'no longer stands'", found(("docs/decisions/0007-a-subject.md", said))[0])

    def test_a_record_that_refers_to_a_replaced_one_is_refused(self):
        replaced = ("docs/decisions/0007-a-subject.md", record(7, "Replaced by [8](0008-b.md)."))
        newer = ("docs/decisions/0008-b.md", record(8).replace("A need.", "As [7](0007-a-subject.md)."))
        self.assertIn("0007-a-subject.md was replaced", found(replaced, newer, page="decision 8")[0])

    def test_a_status_that_calls_a_record_by_another_number_is_refused(self):
        wrong = record(7, "Replaced by [9](0008-b.md).")
        newer = ("docs/decisions/0008-b.md", record(8))
        mistakes = found(("docs/decisions/0007-a-subject.md", wrong), newer, page="decision 8")
        self.assertIn("its status calls 0008-b.md 9", mistakes[0])

    def test_a_record_that_was_replaced_is_referred_to_by_nothing(self):
        replaced = ("docs/decisions/0007-a-subject.md", record(7, "Replaced by [8](0008-b.md)."))
        newer = ("docs/decisions/0008-b.md", record(8))
        self.assertEqual(found(replaced, newer, page="decision 8"), [])
        self.assertIn("was replaced", found(replaced, newer, page="decision 8, decision 7")[0])

    def test_a_reference_that_leads_nowhere_is_refused(self):
        self.assertIn("decision 9 is not there", found(page="decision 7 and decision 9")[0])

    def test_a_record_of_more_than_a_page_is_refused(self):
        long = record(7).replace("A need.", "word " * check_decisions.MOST_WORDS)
        self.assertIn("words at most", found(("docs/decisions/0007-a-subject.md", long))[0])

    def test_two_records_of_one_number_are_refused(self):
        mistakes = found(("docs/decisions/0007-other.md", record(7)), page="0007 (decisions/0007-other.md), decision 7")
        self.assertEqual(sum("another record has the number 7" in mistake for mistake in mistakes), 2)

    def test_more_records_than_are_allowed_are_refused(self):
        more = [(f"docs/decisions/{n:04}-x.md", record(n)) for n in range(8, 8 + check_decisions.MOST)]
        page = " ".join(f"decision {n}" for n in range(7, 8 + check_decisions.MOST))
        self.assertIn("are the most", found(*more, page=page)[0])


if __name__ == "__main__":
    unittest.main()
