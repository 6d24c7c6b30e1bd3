#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/pictures.py PROGRAM [NAME...]: makes docs/images anew, or those named alone, from the records of an H200 that
are in this repository. PROGRAM is a built tilewright. Needs what scripts/setup brings for the tests of the page; with
Pillow the files get smaller."""
import os
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / ".browser"), str(ROOT / "tests")]

from playwright.sync_api import sync_playwright  # noqa: E402

from real_records import program, write_real_cache, write_real_sweep  # noqa: E402

GEMM = "op=gemm&dtype=bf16"
# name: report, address, width, height (0: all of the page), dark
PICTURES = {
    "report-heat": ("h200", "view=heat&op=softmax&dtype=bf16&figure=share_of_ceiling", 1280, 0, False),
    "report-heat-390": ("h200", "view=heat&op=softmax&dtype=bf16&figure=share_of_ceiling&x=cols", 390, 0, False),
    "report-roofline": ("h200", "view=roofline", 1280, 800, False),
    "report-configs": ("h200", f"view=strip&{GEMM}&find=m%3D4096", 1280, 760, False),
    "report-effects": ("h200", f"view=effects&{GEMM}", 1280, 0, True),
    "report-effects-390": ("h200", f"view=effects&{GEMM}", 390, 0, False),
    "report-timeline": ("h200_sweep", "view=timeline", 1280, 860, False),
}


def make_report(name):
    """In the current folder, so that commands which the report tells have short paths."""
    cache, report = pathlib.Path(f"{name}.db"), pathlib.Path(f"{name}.html")
    {"h200": write_real_cache, "h200_sweep": write_real_sweep}[name](cache)
    program("report", "--cache", cache, "-o", report)
    return report.resolve()


def make_smaller(file):
    try:
        from PIL import Image
    except ImportError:
        return
    with Image.open(file) as image:
        small = image.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        small.save(file, optimize=True)


def take(browser, report, address, width, height, dark, file):
    context = browser.new_context(viewport={"width": width, "height": height or 400},
                                  color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.goto(f"file://{report}#{address}")
    page.wait_for_selector("main[data-ready]")
    page.screenshot(path=file, full_page=height == 0)
    context.close()
    make_smaller(file)


def main():
    names = sys.argv[2:] or list(PICTURES)
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK) or not set(names) <= set(PICTURES):
        sys.exit(__doc__)
    os.environ["TILEWRIGHT_TEST_PROGRAM"] = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        os.chdir(folder)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        reports = {report: make_report(report) for report in {PICTURES[name][0] for name in names}}
        for name in names:
            report, *what = PICTURES[name]
            take(browser, reports[report], *what, ROOT / "docs/images" / f"{name}.png")


if __name__ == "__main__":
    main()
