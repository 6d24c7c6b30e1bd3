# SPDX-License-Identifier: Apache-2.0
"""Every view of the report, with real records of an H200, in a real browser."""
import contextlib
import hashlib
import json
import pathlib
import re
import shutil
import tempfile
import unittest
import urllib.parse

import cache_rows
from browser import BrowserTest
from real_records import ROOT, program, write_real_cache, write_real_sweep

VIEWS = ["summary", "heat", "roofline", "strip", "effects", "timeline", "failures", "evidence"]
LIBRARY_HASH = "e84270bd0cd5bdf60fefc26d00c2a391cb2e81f4d26a7a9ee16185a54773a3cf"


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-library-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        write_real_cache(folder / "cache.db")
        program("report", "--cache", folder / "cache.db", "-o", folder / "report.html")
        cls.page = (folder / "report.html").read_text(encoding="utf-8")

    def test_the_charting_library_in_the_page_is_the_published_file(self):
        library = self.page.split("<script>\n", 1)[1].split("\n</script>", 1)[0]
        self.assertEqual(hashlib.sha256(library.encode()).hexdigest(), LIBRARY_HASH)
        self.assertIn(LIBRARY_HASH, (ROOT / "tuner/report/CMakeLists.txt").read_text(encoding="utf-8"))

    def test_its_notice_and_licences_are_in_the_page(self):
        before = self.page.split("<script>\n", 1)[0]
        for file in (ROOT / "tuner/report/page/library/NOTICE", ROOT / "LICENSE"):
            self.assertIn(file.read_text(encoding="utf-8"), before)
        for holder in ("The Apache Software Foundation", "Baidu Inc.", "Mike Bostock"):
            self.assertIn(holder, before)


class Page(BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cache = cls.folder / "cache.db"
        write_real_cache(cls.cache)
        cls.report = cls.folder / "report.html"
        program("report", "--cache", cls.cache, "-o", cls.report)

    def charts(self, page):
        """How many points each chart of the view holds."""
        return page.evaluate("""() => [...document.querySelectorAll('.chart')].map((holder) =>
            holder.chart.getOption().series.reduce((sum, series) => sum + series.data.length, 0))""")

    def hover(self, page, chart=0, series=0, point=0):
        """The text of the tip over a point, by the mouse."""
        holder = page.locator(".chart").nth(chart)
        holder.scroll_into_view_if_needed()
        place = holder.evaluate("""(holder, [series, point]) => {
            const option = holder.chart.getOption().series[series].data[point];
            const value = option.value || option;
            return holder.chart.convertToPixel({seriesIndex: series}, value.slice(0, 2)); }""", [series, point])
        return self.tip(page, holder, place)

    def test_every_view_renders_real_data_without_an_error(self):
        for view in VIEWS:
            with self.subTest(view=view):
                page = self.open(self.report, f"view={view}&op=gemm" if view != "heat" else "view=heat&op=softmax")
                self.assertEqual(page.locator("nav a[aria-current]").count(), 1)
                charts = self.charts(page)
                self.assertGreater(len(charts), 0)
                self.assertTrue(all(points > 0 for points in charts), charts)
                self.assertEqual(self.errors, [])

    def test_each_view_passes_axe_in_both_themes(self):
        from axe_playwright_python.sync_playwright import Axe
        for dark in (False, True):
            for view in VIEWS:
                with self.subTest(view=view, dark=dark):
                    page = self.open(self.report, f"view={view}", dark=dark)
                    for summary in page.locator("summary").all():
                        summary.click()
                    violations = Axe().run(page).response["violations"]
                    told = [(one["id"], one["nodes"][0]["html"][:200]) for one in violations]
                    self.assertEqual(told, [])

    def test_the_heat_map_has_the_numbers_of_the_table(self):
        table = json.loads(program("table", "softmax", "--dtype", "bf16", "--cache", self.cache, "--format", "json"))
        expected = {row["shape_key"]: row for row in table["rows"]}
        page = self.open(self.report, "view=heat&op=softmax&dtype=bf16")
        for name in ("time_ns", "share_of_ceiling", "gb_per_s", "flop_per_byte", "bound", "speedup_over_base"):
            shown = page.evaluate("""(name) => Object.fromEntries(winnersOf(stateFor(heatView)).map((row) =>
                [row.get('shape_key'), row.get(name)]))""", name)
            self.assertEqual(shown.keys(), expected.keys())
            for key, row in expected.items():
                if isinstance(row[name], float):
                    self.assertAlmostEqual(shown[key] / row[name], 1, places=6)  # the page has seven digits
                else:
                    self.assertEqual(shown[key], row[name])

    def test_a_cell_of_the_heat_map_tells_its_winner_and_leads_to_all_configs(self):
        page = self.open(self.report, "view=heat&op=softmax&dtype=bf16")
        tip = self.hover(page, series=0, point=3)
        self.assertRegex(tip, r"\w+\{.*\}")
        self.assertRegex(tip, r"of ceiling [\d.]+ %")
        page.mouse.down()
        page.mouse.up()
        page.wait_for_selector("main[data-ready=strip]")
        self.assertIn("view=strip", page.url)

    def test_the_heat_map_colours_by_any_parameter(self):
        page = self.open(self.report, "view=heat&op=softmax&dtype=bf16")
        page.select_option("select[name=figure]", "parameter.num_warps")
        self.shown(page, "parameter.num_warps")
        pieces = page.evaluate(
            "document.querySelector('.chart').chart.getOption().visualMap[0].pieces.map((p) => p.label)")
        self.assertGreater(len(pieces), 1)
        self.assertTrue(all(re.fullmatch(r"\d+", piece) for piece in pieces), pieces)

    def test_shapes_that_fill_no_grid_are_points_over_logarithmic_axes(self):
        for width, labels in ((1280, 14), (390, 7)):
            page = self.open(self.report, "view=heat&op=softmax&dtype=bf16", width=width)
            chart = page.evaluate("""() => { const option = document.querySelector('.chart').chart.getOption();
                return [option.series[0].type, option.xAxis[0].type, option.yAxis[0].type,
                    option.xAxis[0].axisLabel.customValues]; }""")
            self.assertEqual(chart[:3], ["scatter", "log", "log"])
            self.assertTrue(3 <= len(chart[3]) <= labels, chart[3])
            self.assertEqual(page.locator("select[name=figure]").input_value(), "share_of_ceiling")

    def test_shapes_of_a_grid_are_its_cells(self):
        cache, report = self.folder / "grid.db", self.folder / "grid.html"
        shutil.copyfile(self.cache, cache)
        with contextlib.closing(cache_rows.connect(cache)) as database, database:
            database.execute("DELETE FROM problems WHERE dims GLOB '*rows=*' AND dims NOT IN "
                             "('rows=4096,cols=8192', 'rows=4096,cols=16384', 'rows=16,cols=4096')")
        program("report", "softmax", "--cache", cache, "-o", report)
        page = self.open(report, "view=heat&op=softmax&dtype=bf16")
        self.assertEqual(page.evaluate("document.querySelector('.chart').chart.getOption().series[0].type"), "heatmap")

    def test_a_view_opens_the_blocks_that_it_shows_and_no_others(self):
        page = self.open(self.report, "view=summary")
        opened = "[...opened].map((name) => name.split('.')[1])"
        self.assertEqual(set(page.evaluate(opened)), {"winners"})
        page = self.open(self.report, "view=strip&op=gemm&dtype=bf16")
        self.assertEqual(sorted(page.evaluate("[...opened]")), ["gemm.trials", "gemm.winners"])
        page.evaluate("go({view: 'evidence', op: 'softmax'})")
        self.shown(page, "op=softmax")
        self.assertEqual(sorted(page.evaluate("[...opened]"))[2:], ["softmax.evidence", "softmax.winners"])
        self.assertEqual(page.evaluate("specOf(winnersOf(stateFor(evidenceView))[0].problem).op"), "softmax")

    def test_a_link_names_a_problem_by_its_shape_key(self):
        key = "softmax[dtype=bf16,pitch=dense]{rows=4096,cols=8192}"
        page = self.open(self.report, f"view=evidence&op=softmax&problem={urllib.parse.quote(key)}")
        self.assertEqual(page.locator("main .key").first.inner_text(), key)

    def test_no_text_of_a_table_is_cut_on_a_phone(self):
        page = self.open(self.report, "view=failures&op=gemm", width=390, height=844)
        for cell in page.locator(".stacked tbody td, .stacked tbody th").all():
            box = cell.bounding_box()
            self.assertLessEqual(box["x"] + box["width"], 390)
            self.assertLessEqual(cell.evaluate("(cell) => cell.scrollWidth - cell.clientWidth"), 0)
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.stacked .scroll')]"
                                       ".filter((box) => box.scrollHeight > box.clientHeight).length"), 0)

    def test_a_line_of_a_config_ends_after_a_comma(self):
        lines = """() => {
          const texts = document.createTreeWalker(document.querySelector(".stacked .config"), NodeFilter.SHOW_TEXT);
          const words = [];
          while (texts.nextNode()) {
            const range = document.createRange();
            range.selectNodeContents(texts.currentNode);
            words.push([texts.currentNode.data, range.getClientRects().length]);
          }
          return words;
        }"""
        for width in (1280, 390):
            words = self.open(self.report, "view=failures&op=gemm", width=width).evaluate(lines)
            self.assertGreater(len(words), 5)
            self.assertEqual({lines for _, lines in words}, {1}, words)

    def test_the_effects_have_the_numbers_of_the_table(self):
        table = json.loads(program("table", "gemm", "--by", "stages", "--cache", self.cache, "--format", "json"))
        rows = [row for row in table["rows"] if row["problems"] > 0]
        self.assertGreater(len({row["implementation"] for row in rows}), 1)
        for implementation in {row["implementation"] for row in rows}:
            page = self.open(self.report, f"view=effects&op=gemm&implementation={implementation}")
            shown = page.evaluate("""() => { const state = stateFor(effectsView);
                const {best, byImplementation} = timesByImplementation(state);
                return effectLines(byImplementation.get(state.implementation), best)
                    .filter((line) => line.parameter === 'stages')
                    .map((line) => [line.value, line.count, line.problems, line.cost]); }""")
            expected = [row for row in rows if row["implementation"] == implementation]
            if len(expected) < 2:
                continue  # The page has no line for a parameter with one value.
            self.assertEqual([line[:3] for line in shown],
                             [[row["value"], row["configs"], row["problems"]] for row in expected])
            for line, row in zip(shown, expected):
                self.assertAlmostEqual(line[3], row["best_ratio"], places=3)  # as it is shown

    def test_a_point_of_the_strip_tells_its_config(self):
        page = self.open(self.report, "view=strip&op=gemm&dtype=bf16")
        tip = self.hover(page, series=0, point=0)
        self.assertRegex(tip, r"wgmma\w*\{.*block_m=\d+.*\}")
        self.assertRegex(tip, r"time [\d.]+ [µm]s")

    def test_the_strip_has_every_config_of_its_problem_and_marks_the_winner(self):
        page = self.open(self.report, "view=strip&op=gemm&dtype=bf16")
        counts = page.evaluate("""() => { const state = stateFor(stripView);
            const problem = problemsTried(state)[0];
            return [configsOf(problem, state).filter(isTimed).length, winnerOf(problem, state).get('winner')]; }""")
        self.assertEqual(self.charts(page)[0], counts[0])
        page.locator("summary").first.click()
        winner = page.locator("table tbody th", has_text="(winner)")
        winner.first.wait_for()  # The table is made once it is unfolded.
        marked = winner.all_inner_texts()
        self.assertEqual(marked, [f"{counts[1]} (winner)"])

    def test_filters_narrow_what_is_shown_and_stand_in_the_address(self):
        page = self.open(self.report, "view=summary")
        before = page.locator(".cards dd").nth(1).inner_text()
        page.select_option("select[name=op]", "rmsnorm")
        self.shown(page, "op=rmsnorm")
        self.assertNotEqual(page.locator(".cards dd").nth(1).inner_text(), before)
        self.assertEqual(page.locator("main table tbody th").first.inner_text(), "rmsnorm")
        page.select_option("select[name=dtype]", "f16")
        self.shown(page, "dtype=f16")
        self.assertEqual(page.locator("main table tbody tr").count(), 1)
        page.go_back()
        page.wait_for_function("!location.hash.includes('dtype=f16')")
        self.shown(page)
        self.assertGreater(page.locator("main table tbody tr").count(), 1)
        self.assertEqual(self.errors, [])

    def test_a_link_opens_the_view_and_the_filters_that_it_names(self):
        page = self.open(self.report, "view=roofline&op=add&dtype=f32")
        self.assertEqual(page.locator("h2").inner_text(), "Roofline")
        self.assertEqual(page.locator("select[name=op]").input_value(), "add")
        self.assertEqual(page.locator("select[name=dtype]").input_value(), "f32")

    def test_an_address_of_what_is_not_there_shows_what_is(self):
        page = self.open(self.report, "view=nonsense&op=nothing&dtype=f7&problem=99999999&sweep=x")
        self.assertEqual(page.locator("h2").inner_text(), "Summary")
        for view in VIEWS:
            self.open(self.report, f"view={view}&op=nothing&dtype=f7&device=x&problem=99999999&sweep=x&find=zzz")
            self.assertEqual(self.errors, [], view)

    def test_failures_are_told_by_kind_and_reason(self):
        page = self.open(self.report, "view=failures&op=gemm")
        text = page.locator("main").inner_text()
        self.assertIn("exceeds_limits", text)
        self.assertIn("spills", text)

    def test_the_timeline_says_what_the_cache_does_not_know(self):
        page = self.open(self.report, "view=timeline&op=gemm")
        text = page.locator("main").inner_text()
        self.assertIn("tilewright sweep gemm", text)
        self.assertIn("no worker", text)
        self.assertEqual(page.locator("select[name=stretch]").count(), 0)

    def test_the_keyboard_reaches_views_filters_and_tables(self):
        page = self.open(self.report, "view=heat&op=softmax&dtype=bf16")
        reached = set()
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.name || document.activeElement.tagName"))
        self.assertTrue({"op", "dtype", "device", "mode", "figure", "A", "SUMMARY", "BUTTON"} <= reached, reached)
        page.locator("summary").first.focus()
        page.keyboard.press("Enter")
        page.locator("details table tbody tr").nth(3).wait_for(state="attached")

    def test_the_theme_changes_by_its_button_and_with_the_system(self):
        page = self.open(self.report, "view=summary", dark=True)
        color = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(color)
        page.click("#theme")
        self.assertNotEqual(page.evaluate(color), dark)

    def test_nothing_is_wider_than_a_phone(self):
        for view in VIEWS:
            page = self.open(self.report, f"view={view}&op=gemm", width=390, height=844)
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 390, view)

    def test_a_print_has_the_table_of_each_figure(self):
        page = self.open(self.report, "view=strip&op=gemm&dtype=bf16", dark=True)
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.assertTrue(page.locator("details table").first.is_visible())
        self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "light")
        self.assertLess(page.locator(".chart").first.bounding_box()["width"], 720, "as wide as paper")
        self.assertGreater(len(page.pdf()), 20_000)
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.assertGreater(page.locator(".chart").first.bounding_box()["width"], 1000)

    def test_texts_of_a_cache_are_never_read_as_html(self):
        mark = "<img src=x onerror=alert(1)>"
        cache, report = self.folder / "marked.db", self.folder / "marked.html"
        shutil.copyfile(self.cache, cache)
        with contextlib.closing(cache_rows.connect(cache)) as database, database:
            database.execute("UPDATE trials SET reason = ? || reason WHERE reason <> ''", (mark,))
            database.execute("UPDATE sweeps SET command = ? || command", (mark,))
            database.execute("UPDATE devices SET facts = json_set(facts, '$.name', ? || json_extract(facts, '$.name'))",
                             (mark,))
        program("report", "--cache", cache, "-o", report)
        shown = {}
        for view in VIEWS:
            with self.subTest(view=view):
                page = self.open(report, f"view={view}&op=gemm&find=" + urllib.parse.quote(mark))
                for summary in page.locator("summary").all():
                    summary.click()
                shown[view] = page.locator("main").text_content()
                self.assertEqual(page.locator("img").count(), 0)
                self.assertEqual(self.errors, [])
        for view, what in (("failures", "reasons"), ("timeline", "commands"), ("evidence", "devices")):
            self.assertIn(mark, shown[view], f"{what} are shown there")
        page = self.open(report, "view=strip&op=gemm&dtype=bf16")
        self.hover(page, series=0, point=0)
        self.assertEqual(page.locator("img").count(), 0)


class RealTimeline(BrowserTest):
    """The timeline of a sweep of an H200, with more bars than can be told apart."""

    def test_of_an_h200_it_has_the_gpu_and_each_compiler_and_how_busy_they_were(self):
        cache, report = self.folder / "sweep.db", self.folder / "report.html"
        write_real_sweep(cache)
        program("report", "--cache", cache, "-o", report)
        page = self.open(report, "view=timeline")
        names = page.evaluate("() => lanesOf(0).map((lane) => lane.name)")
        self.assertIn("H200", names[0])
        self.assertEqual(sorted(names[1:], key=lambda name: int(name.split()[1])),
                         [f"compiler {n}" for n in range(1, 17)])
        page.locator("summary").first.click()
        busy = page.locator("table", has_text="pieces of work").locator("tbody tr").first.inner_text()
        share = float(re.search(r"([\d.]+) %", busy).group(1))
        self.assertTrue(50 < share < 100, busy)
        self.assertEqual(self.errors, [])


class Timeline(BrowserTest):
    """The timeline of a sweep that was made a moment ago, on the emulator."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cache = cls.folder / "cache.db"
        program("sweep", "softmax", "--dtype", "f32", "--shapes", "rows=2,3 cols=64", "--device", "cpu", "--strategy",
                "exhaustive",
                "--max-configs", "4", "--budget-ms", "1", "--jobs", "2", "--no-ceilings", "--no-prune", "--cache",
                cache)
        cls.report = cls.folder / "report.html"
        program("report", "--cache", cache, "-o", cls.report)

    def lanes(self, page):
        """[{name, bars: [[kind, from, to], …]}, …]"""
        return page.evaluate("""() => lanesOf(0).map((lane) => ({name: lane.name,
            bars: lane.bars.map((bar) => [bar.kind, bar.from, bar.to])}))""")

    def test_each_compiler_and_the_device_have_a_lane_with_their_work(self):
        page = self.open(self.report, "view=timeline")
        lanes = self.lanes(page)
        self.assertEqual(lanes[0]["name"], "emulator")
        self.assertLessEqual({lane["name"] for lane in lanes[1:]}, {"compiler 1", "compiler 2"})
        kinds = [bar[0] for bar in lanes[0]["bars"]]
        self.assertEqual(kinds.count("set up"), 2)
        self.assertGreaterEqual(kinds.count("verify"), 4)
        self.assertGreaterEqual(kinds.count("measure"), 4)
        self.assertTrue(all(bar[0] == "compile" for lane in lanes[1:] for bar in lane["bars"]))
        # Configs that depend on no dim, and the reference, serve both shapes.
        self.assertGreaterEqual(sum(len(lane["bars"]) for lane in lanes[1:]), 2)
        self.assertEqual(self.errors, [])

    def test_what_a_device_did_follows_one_behind_the_other(self):
        page = self.open(self.report, "view=timeline")
        bars = self.lanes(page)[0]["bars"]
        for before, after in zip(bars, bars[1:]):
            self.assertGreaterEqual(after[1], before[2] - 0.001, (before, after))

    def test_the_table_has_every_piece_of_work_and_the_share_that_each_lane_was_busy(self):
        page = self.open(self.report, "view=timeline")
        pieces = sum(len(lane["bars"]) for lane in self.lanes(page))
        page.locator("summary").first.click()
        rows = page.locator("details").first.locator("tbody tr")
        rows.first.wait_for(state="attached")
        self.assertEqual(rows.count(), min(pieces, 100))
        busy = page.locator("table", has_text="pieces of work").locator("tbody tr").first.inner_text()
        self.assertRegex(busy, r"emulator\s+[\d.]+ %")

    def test_a_bar_tells_its_config_and_problem(self):
        page = self.open(self.report, "view=timeline")
        holder = page.locator(".chart").first
        holder.scroll_into_view_if_needed()
        place = holder.evaluate("""(holder) => {
            const bars = holder.chart.getOption().series.find((series) => series.id === 'measure').data;
            const span = (bar) => bar.value[2] - bar.value[1];
            const [lane, from, to] = bars.reduce((a, b) => (span(b) > span(a) ? b : a)).value;
            return holder.chart.convertToPixel({xAxisIndex: 0, yAxisIndex: 0}, [(from + to) / 2, lane]); }""")
        tip = self.tip(page, holder, place)
        self.assertRegex(tip, r"measure, [\d.]+ [µm]?s")
        self.assertRegex(tip, r"\w+\{.*num_warps=\d+.*\}")
        self.assertIn("softmax f32 rows=", tip)

    def test_the_keyboard_looks_closer_at_one_problem(self):
        page = self.open(self.report, "view=timeline")
        page.select_option("select[name=stretch]", index=2)
        self.shown(page, "stretch=")
        zoom = page.evaluate("""(() => {
            const zoom = document.querySelector('.chart').chart.getOption().dataZoom[0];
            return [zoom.startValue, zoom.endValue]; })()""")
        whole = page.evaluate("workEnd(lanesOf(0))")
        self.assertGreater(zoom[0], 0)
        self.assertLessEqual(zoom[1], whole)
        self.assertEqual(self.errors, [])

    def test_is_as_wide_as_a_phone_and_passes_axe(self):
        from axe_playwright_python.sync_playwright import Axe
        page = self.open(self.report, "view=timeline", width=390, height=844)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 390)
        page.locator("summary").first.click()
        violations = Axe().run(page).response["violations"]
        self.assertEqual([(one["id"], one["nodes"][0]["html"][:200]) for one in violations], [])


if __name__ == "__main__":
    unittest.main()
