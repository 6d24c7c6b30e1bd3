# SPDX-License-Identifier: Apache-2.0
"""What the tests of the page share: a cache of real records, its report, and a page of it in Debian's chromium."""
import importlib.util
import lzma
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests/page/assets/h200_gemm.db.xz"
SHIPPED = ROOT / "kernels/winners/nvidia-h200.db"


def missing():
    """What is not there that a browser test needs; empty when all is."""
    if shutil.which("chromium") is None:
        return "chromium is missing; scripts/setup installs it"
    for module in ("axe_playwright_python", "playwright"):
        if importlib.util.find_spec(module) is None:
            return f"the Python module {module} is missing; scripts/setup brings it"
    return ""


def program(*arguments):
    """Runs tilewright; its stdout."""
    command = [os.environ["TILEWRIGHT_TEST_PROGRAM"], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def write_real_cache(path):
    """Trials of gemm sweeps of one H200, failures among them, and the shipped winners with their ceilings."""
    path.write_bytes(lzma.decompress(RECORDED.read_bytes()))
    program("import", SHIPPED, "--cache", path)


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

    def open(self, file, address="", width=1280, height=900, dark=False):
        """The report at an address of it, drawn."""
        context = self.browser.new_context(viewport={"width": width, "height": height}, offline=True,
                                           color_scheme="dark" if dark else "light")
        self.addCleanup(context.close)
        page = context.new_page()
        self.errors = []
        page.on("console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("file:", "data:", "blob:")) or self.errors.append(request.url))
        page.goto(f"file://{file}#{address}")
        page.wait_for_selector("main[data-ready]")
        return page
