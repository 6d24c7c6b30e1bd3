# SPDX-License-Identifier: Apache-2.0
"""The page of a service, in a real browser: what a report shows, and what the service is at."""
import contextlib
import json
import os
import re
import signal
import subprocess
import urllib.parse
import urllib.request

import cache_rows
from browser import BrowserTest
from real_records import program, write_real_cache

VIEWS = ["live", "summary", "heat", "roofline", "strip", "effects", "timeline", "failures", "evidence", "history",
         "misses", "health"]
# The views that a report lacks.
OWN_VIEWS = ["live", "history", "misses", "health"]
# The captions of tables wider than their place.
CUT_TABLES = """[...document.querySelectorAll('.scroll')].filter((place) => place.scrollWidth > place.clientWidth + 1)
    .map((place) => place.getAttribute('aria-label'))"""
H200 = "NVIDIA H200 (sm_90, 132 SMs, 140 GiB, 6016-bit)"


class Service:
    """`tilewright serve` on a cache."""

    def __init__(self, folder, cache, *options, port="0"):
        self.log = open(folder / "serve.log", "a", encoding="utf-8")
        command = [os.environ["TILEWRIGHT_TEST_PROGRAM"], "serve", "--port", port, "--cache", str(cache), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = re.search(r"http://\S+?(?=[.,]?\s)", self.process.stdout.readline()).group() + "/"

    def ask(self, path, document=None, token=None):
        body = None if document is None else json.dumps(document).encode()
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, body, headers), timeout=60) as answer:
            return json.load(answer)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.log.close()


class ServicePage(BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cache = cls.folder / "cache.db"
        write_real_cache(cls.cache)
        cls.service = Service(cls.folder, cls.cache, "--devices", "cpu")
        cls.addClassCleanup(cls.service.stop)
        cls.url = cls.service.url
        cls.service.ask("v1/misses", {"misses": [
            {"problem": "softmax[dtype=bf16]{rows=7,cols=5000}", "device": H200, "count": 3}]})
        softmax = next(row for row in cls.service.ask("v1/ops")["rows"] if row["op"] == "softmax")
        cls.campaign = {"name": "night", "sweeps": [
            {"op": "softmax", "interface": softmax["interface_hash"], "dtype": "f32", "attributes": {"pitch": "dense"},
             "shapes": ["rows=2,4 cols=64"]}]}

    def test_every_view_is_drawn_and_asks_the_service_alone(self):
        for view in VIEWS:
            with self.subTest(view=view):
                page = self.open(self.url, f"view={view}&op=gemm")
                self.assertEqual(page.locator("nav a[aria-current]").count(), 1)
                self.assertEqual(page.locator("main").get_attribute("data-ready"), view)
                self.assertEqual(page.locator("[role=alert]").count(), 0)
                self.assertEqual(self.errors, [])

    def test_each_view_passes_axe_in_both_themes_and_is_no_wider_than_a_phone(self):
        from axe_playwright_python.sync_playwright import Axe
        for width, dark in ((1280, False), (390, True)):
            for view in VIEWS:
                with self.subTest(view=view, dark=dark):
                    page = self.open(self.url, f"view={view}&op=gemm", width=width, dark=dark)
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                    violations = Axe().run(page).response["violations"]
                    self.assertEqual([(one["id"], one["nodes"][0]["html"][:200]) for one in violations], [])
                    if view in OWN_VIEWS:
                        self.assertEqual(page.evaluate(CUT_TABLES), [])

    def test_it_shows_the_winners_of_the_cache_as_a_report_does(self):
        report = self.folder / "report.html"
        program("report", "--cache", self.cache, "-o", report)
        rows = """() => winnersOf(stateFor(heatView)).map((row) => [row.get('shape_key'), row.get('winner'),
            row.get('time_ns')])"""
        shown = [self.open(place, "view=heat&op=softmax&dtype=bf16").evaluate(rows) for place in (self.url, report)]
        self.assertGreater(len(shown[0]), 10)
        self.assertEqual(*shown)

    def test_a_tip_is_shown_though_no_style_of_its_own_text_may_be(self):
        page = self.open(self.url, "view=heat&op=softmax&dtype=bf16")
        holder = page.locator(".chart").first
        place = holder.evaluate("""(holder) => holder.chart.convertToPixel({seriesIndex: 0},
            holder.chart.getOption().series[0].data[3].value.slice(0, 2))""")
        self.assertRegex(self.tip(page, holder, place), r"of ceiling [\d.]+ %")
        self.assertEqual(self.errors, [])

    def test_misses_wait_with_how_often_they_were_asked_for(self):
        page = self.open(self.url, "view=misses")
        self.assertRegex(page.locator("tbody tr").first.inner_text(), r"softmax\[dtype=bf16.*cols=5000\}\s+3\s")

    def test_a_campaign_is_seen_while_it_is_tuned_and_its_winners_when_they_are_read_again(self):
        from axe_playwright_python.sync_playwright import Axe
        page = self.open(self.url, "view=live")
        self.assertIn("Nothing is being tuned", page.locator("main").inner_text())
        campaign = self.service.ask("v1/campaigns", self.campaign)
        page.wait_for_selector("#job progress", timeout=60_000)
        page.wait_for_selector("#tried canvas", timeout=60_000)
        self.assertIn("campaign", page.locator("#job").inner_text())
        # A page opened during tuning shows it, too.
        other = self.open(self.url, f"view=live&campaign={campaign['id']}")
        self.comes(other, "document.querySelector('main').innerText.includes('Problems of campaign')")
        narrow = self.open(self.url, f"view=live&campaign={campaign['id']}", width=390, dark=True)
        for each in (other, narrow):
            self.assertEqual([one["id"] for one in Axe().run(each).response["violations"]], [])
            self.assertEqual(each.evaluate(CUT_TABLES), [])
        self.comes(page, "document.querySelector('#about').innerText.includes('2 problems tuned since')")
        self.comes(page, "document.querySelector('#job').innerText.includes('Nothing is being tuned')")
        done = page.locator("table", has_text="Tuned since this page was opened").locator("tbody tr")
        self.assertEqual(done.count(), 2)
        page.wait_for_timeout(10_000)  # the largest age of a page's data
        page.click("button[name=again]")
        self.comes(page, "!document.querySelector('#about').innerText.includes('tuned since')")
        done.first.locator("a").first.click()
        self.shown(page, "view=strip")
        self.assertIn("rows=", page.locator("main .key").first.inner_text())
        self.assertIn("emulator", page.locator("select[name=device]").input_value().lower() + "emulator")
        self.assertEqual(self.errors, [])

    def test_health_is_told(self):
        page = self.open(self.url, "view=health")
        self.comes(page, "document.querySelector('main').innerText.includes('come in')")
        text = page.locator("main").inner_text()
        self.assertIn("runs, Tilewright", text)
        self.assertIn("can be read", text)
        self.assertRegex(page.locator("tbody", has_text="/v1/page").inner_text(), r"/v1/page\s+\d+\s+0\s+0\s")

    def test_the_history_of_a_problem_tells_which_winner_was_slower(self):
        key = "softmax[dtype=bf16,pitch=dense]{rows=4096,cols=8192}"
        address = f"view=history&op=softmax&dtype=bf16&problem={urllib.parse.quote(key)}"
        cache = self.folder / "history.db"
        write_real_cache(cache)
        with contextlib.closing(cache_rows.connect(cache)) as database, database:
            place, = database.execute("SELECT id FROM problems WHERE dims = 'rows=4096,cols=8192' AND spec IN (SELECT "
                                      "id FROM specs WHERE op = 'softmax' AND dtype = 'bf16')").fetchone()
            columns = [row[1] for row in database.execute("PRAGMA table_info(trials)")]
            was = database.execute("SELECT trial FROM winners WHERE problem = ? AND role = 'best' AND position = 0",
                                   (place,)).fetchone()[0]
            row = dict(zip(columns, database.execute("SELECT * FROM trials WHERE id = ?", (was,)).fetchone()))
            row.update(id=database.execute("SELECT max(id) + 1 FROM trials").fetchone()[0],
                       measured_at=row["measured_at"] - 86400, median_ns=row["median_ns"] / 2,
                       low_ns=row["low_ns"] / 2, high_ns=row["high_ns"] / 2)
            database.execute(f"INSERT INTO trials ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                             tuple(row.values()))
            known = {row[1] for row in database.execute("PRAGMA table_info(past_winners)")}
            past = {"problem": place, "device": row["device"], "mode": row["mode"], "role": "best", "trial": row["id"]}
            self.assertLessEqual(set(past), known)
            database.execute(f"INSERT INTO past_winners ({', '.join(past)}) VALUES (?, ?, ?, ?, ?)",
                             tuple(past.values()))
        service = Service(self.folder, cache)
        self.addCleanup(service.stop)
        page = self.open(service.url, address)
        text = page.locator("main").inner_text()
        self.assertIn("2 winners; 1 slower than the one before, marked", text)
        self.assertRegex(text, r"slower, 0\.500x\s+measured again")
        self.assertEqual(self.errors, [])


class OtherServices(BrowserTest):
    def service(self, cache, *options, port="0"):
        service = Service(self.folder, cache, *options, port=port)
        self.addCleanup(service.stop)
        return service

    def test_one_that_asks_for_tokens_is_asked_for_one(self):
        cache, tokens = self.folder / "tokens.db", self.folder / "tokens.json"
        write_real_cache(cache)
        token = program("serve", "--tokens", tokens, "--new-token", "page", "--scopes", "read").strip()
        service = self.service(cache, "--tokens", str(tokens))
        page = self.open(service.url, "view=summary")
        self.assertEqual(page.locator("main").get_attribute("data-ready"), "token")
        self.errors.clear()  # a browser logs each 401
        page.fill("input[name=token]", token)
        page.keyboard.press("Enter")
        page.wait_for_selector("main[data-ready=summary]")
        self.assertGreater(page.locator("main table tbody tr").count(), 3)
        self.assertNotIn(token, page.content())
        self.assertEqual(self.errors, [])

    def test_one_of_a_cache_without_trials_says_so(self):
        cache = self.folder / "empty.db"
        write_real_cache(cache)
        with contextlib.closing(cache_rows.connect(cache)) as database, database:
            for table in ("winners", "trials"):
                database.execute(f"DELETE FROM {table}")
        service = self.service(cache)
        for view in VIEWS:
            page = self.open(service.url, f"view={view}")
            self.assertEqual(self.errors, [], view)
        page = self.open(service.url, "view=heat")
        self.assertIn("There is no trial to show.", page.locator("main").inner_text())

    def test_a_page_goes_on_when_its_service_is_started_again(self):
        cache = self.folder / "again.db"
        write_real_cache(cache)
        first = Service(self.folder, cache)
        page = self.open(first.url, "view=health")
        self.comes(page, "document.querySelector('main').innerText.includes('come in')")
        port = first.url.rsplit(":", 1)[1].strip("/")
        first.stop()
        self.comes(page, "document.querySelector('main').innerText.includes('the connection is lost')")
        self.service(cache, port=port)
        self.comes(page, "document.querySelector('main').innerText.includes('come in')")
