# SPDX-License-Identifier: Apache-2.0
"""What the tests of the page share: a page of a report in Debian's chromium."""
import os
import pathlib
import shutil
import tempfile
import time
import unittest

from real_records import missing_module


def missing():
    """What is not there that a browser test needs; empty when all is."""
    if shutil.which("chromium") is None:
        return "chromium is missing; scripts/setup --tests installs it"
    return missing_module(("axe_playwright_python", "playwright"))


class BrowserTest(unittest.TestCase):
    """A browser for the class, and the folder `folder`. Console errors and failed requests are kept in `errors`."""

    @classmethod
    def setUpClass(cls):
        lacking = missing()
        if lacking and os.environ.get("CI"):
            raise AssertionError(lacking)
        if lacking:
            raise unittest.SkipTest(lacking)
        from playwright.sync_api import sync_playwright
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-page-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        driver = sync_playwright().start()
        cls.addClassCleanup(driver.stop)
        cls.browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        cls.addClassCleanup(cls.browser.close)

    def tip(self, page, holder, place):
        """The text of the tip over a place of a chart, by the mouse."""
        box = holder.bounding_box()
        page.mouse.move(box["x"] + place[0] - 1, box["y"] + place[1])
        page.mouse.move(box["x"] + place[0], box["y"] + place[1])
        text = "(holder) => [...holder.querySelectorAll(':scope > div')].pop()?.innerText.trim()"
        for _ in range(200):
            told = holder.evaluate(text)
            if told:
                return told
            page.wait_for_timeout(50)
        self.fail("no tip is shown")

    def shown(self, page, words=""):
        """Waits until the view of the address is drawn, which has these words."""
        self.comes(page, f"location.hash.includes({words!r}) "
                         "&& document.querySelector('main').dataset.address === location.hash")

    def comes(self, page, truth, seconds=60):
        """Waits until an expression is true; by asking, since a page may forbid what wait_for_function() does."""
        end = time.monotonic() + seconds
        while not page.evaluate(truth):
            self.assertLess(time.monotonic(), end, truth)
            page.wait_for_timeout(50)

    def open(self, file, address="", width=1280, height=900, dark=False):
        """The report at an address of it, drawn; or a service's page, where `file` is its URL."""
        is_service = str(file).startswith("http:")
        context = self.browser.new_context(viewport={"width": width, "height": height}, offline=not is_service,
                                           color_scheme="dark" if dark else "light")
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(60_000)  # other tests run meanwhile
        self.errors = []
        page.on("console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        own = str(file) if is_service else "file:"
        page.on("request", lambda request: request.url.startswith((own, "data:", "blob:"))
                or self.errors.append(request.url))
        page.goto(f"{file}#{address}" if is_service else f"file://{file}#{address}")
        page.wait_for_selector("main[data-ready]")
        return page
