# SPDX-License-Identifier: Apache-2.0
"""A report of 10,000 winners and 200,000 trials opens and stays usable. The times are printed."""
import time
import unittest

import make_big_cache
from browser import BrowserTest
from real_records import WINNERS, program

# Processor time of all threads of the page's process, which depends little on the machine's load. The view that a
# report opens with has a lower limit than the others, which may be linked to.
MOST_SECONDS = 5
MOST_SECONDS_OF_THE_FIRST = 3
VIEWS = ["summary", "heat", "roofline", "strip", "effects", "timeline", "failures", "evidence"]


class BigCache(BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        small, big = cls.folder / "small.db", cls.folder / "big.db"
        program("import", WINNERS, "--cache", small)
        make_big_cache.main(small, big)
        cls.report = cls.folder / "report.html"
        began = time.monotonic()
        cls.told = program("report", "--cache", big, "-o", cls.report)
        cls.wrote_in = time.monotonic() - began

    def processor_seconds(self, page):
        """What the page's process took so far."""
        metrics = page.context.new_cdp_session(page)
        metrics.send("Performance.enable")
        return next(one["value"] for one in metrics.send("Performance.getMetrics")["metrics"]
                    if one["name"] == "ProcessTime")

    def test_every_view_opens_in_time(self):
        print(f"\nwritten in {self.wrote_in:.2f} s: {self.told.strip()}")
        for view in VIEWS:
            with self.subTest(view=view):
                began = time.monotonic()
                page = self.open(self.report, f"view={view}&op=softmax&dtype=bf16")
                wall, took = time.monotonic() - began, self.processor_seconds(page)
                print(f"{view}: opened in {wall:.2f} s, {took:.2f} s of the processor")
                self.assertLess(took, MOST_SECONDS_OF_THE_FIRST if view == VIEWS[0] else MOST_SECONDS)
                self.assertEqual(self.errors, [])

    def test_going_from_view_to_view_is_fast(self):
        page = self.open(self.report, "view=summary&op=softmax&dtype=bf16")
        for view in [*VIEWS[1:], VIEWS[0]]:
            with self.subTest(view=view):
                before, began = self.processor_seconds(page), time.monotonic()
                page.evaluate("(view) => go({view})", view)
                page.wait_for_selector(f"main[data-ready={view}]")
                wall, took = time.monotonic() - began, self.processor_seconds(page) - before
                print(f"{view}: shown in {wall:.2f} s, {took:.2f} s of the processor")
                self.assertLess(took, MOST_SECONDS / 2)


if __name__ == "__main__":
    unittest.main()
