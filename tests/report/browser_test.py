#!/usr/bin/env python3
"""Opens a report in headless Chromium: python3 browser_test.py path/to/impart"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser
import made_runs

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
KEEP = os.environ.get("IMPART_SCREENSHOTS")  # a folder to look at them in


def colours_in(path):
    """The distinct colours of a PNG as Chromium writes it: 8 bits, RGB or RGBA, not interlaced."""
    data = pathlib.Path(path).read_bytes()
    at, packed, width, depth = 8, b"", 0, 0
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, depth = struct.unpack(">I", body[:4])[0], {2: 3, 6: 4}[body[9]]
        if kind == b"IDAT":
            packed += body
        at += length + 12
    raw, stride, found = zlib.decompress(packed), width * depth, set()
    above = bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        line = bytearray(raw[start + 1:start + 1 + stride])
        unfilter(raw[start], line, above, depth)
        found.update(bytes(line[i:i + 3]) for i in range(0, stride, depth))
        above = line
    return found


def unfilter(kind, line, above, depth):
    for i in range(len(line)):
        left = line[i - depth] if i >= depth else 0
        corner = above[i - depth] if i >= depth else 0
        if kind == 1:
            line[i] = (line[i] + left) & 255
        elif kind == 2:
            line[i] = (line[i] + above[i]) & 255
        elif kind == 3:
            line[i] = (line[i] + (left + above[i]) // 2) & 255
        elif kind == 4:
            guess = left + above[i] - corner
            best = min((left, above[i], corner), key=lambda value: abs(guess - value))
            line[i] = (line[i] + best) & 255


@unittest.skipIf(browser.PROGRAM is None, "there is no Chromium (Debian: chromium)")
@unittest.skipIf(shutil.which("gnuplot") is None, "there is no gnuplot (Debian: gnuplot-nox)")
class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        arms = {"vanilla": {"heuristic": "random", "interval": 1}}
        for interval in [5, 10, 30]:
            for warmup in [3, 6]:
                arms[f"stripes W{warmup} I{interval}"] = {"heuristic": "stripes", "warmup": warmup,
                                                         "interval": interval}
        arms["<script>document.title='broken'</script><img src=http://127.0.0.1:9/x>"] = {
            "heuristic": "blocks"}
        made_runs.make_study(cls.folder / "study", arms, range(1, 6), examples=300)
        subprocess.run([IMPART, "report", cls.folder / "study"], check=True,
                       stdout=subprocess.DEVNULL)
        cls.page = cls.folder / "study/report/report.html"
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        shutil.rmtree(cls.folder)

    def test_nothing_is_requested_and_nothing_complains(self):
        self.browser.open(self.page, 1100)
        self.assertEqual([url for url in self.browser.requests() if not url.startswith("data:")],
                         [f"file://{self.page}"])
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual(self.browser.evaluate("document.title"), "study")

    def test_figures_show_something_in_light_and_dark(self):
        for dark in [False, True]:
            self.browser.open(self.page, 1100, dark=dark)
            boxes = self.browser.evaluate(
                "[...document.querySelectorAll('figure svg')].map(svg => {"
                " const box = svg.getBoundingClientRect();"
                " return {x: box.x, y: box.y + scrollY, width: box.width, height: box.height}})")
            self.assertGreaterEqual(len(boxes), 6)
            for number, box in enumerate(boxes):
                self.assertGreater(min(box["width"], box["height"]), 150)
                path = self.folder / f"figure-{number}.png"
                self.browser.screenshot(path, box, scale=0.4)  # quicker to decode
                colours = colours_in(path)
                self.assertGreater(len(colours), 20, f"figure {number} is blank")
                brightness = [sum(colour) for colour in colours]
                self.assertGreater(max(brightness) - min(brightness), 350, "text is not readable")
            if KEEP:
                height = self.browser.evaluate("document.documentElement.scrollHeight")
                self.browser.screenshot(f"{KEEP}/{'dark' if dark else 'light'}.png",
                                        {"x": 0, "y": 0, "width": 1100, "height": height})

    def test_a_narrow_page_does_not_scroll_sideways(self):
        for width in [400, 320]:
            self.browser.open(self.page, width)
            self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
            wide = self.browser.evaluate(
                "[...document.querySelectorAll('p, h1, h2, nav, .scroll, figure')].filter(element =>"
                " element.getBoundingClientRect().right > innerWidth + 1).length")
            self.assertEqual(wide, 0)
            if KEEP:
                self.browser.screenshot(f"{KEEP}/{width}.png",
                                        {"x": 0, "y": 0, "width": width, "height": 2600})

    def test_tables_are_there_and_sort_on_click(self):
        self.browser.open(self.page, 1100)
        column = ("[...document.querySelector('#results tbody').rows]"
                  ".map(row => parseFloat(row.cells[2].dataset.v))")
        click = "document.querySelectorAll('#results th')[2].click()"
        before = self.browser.evaluate(column)
        self.assertEqual(len(before), 8)
        self.browser.evaluate(click)
        self.assertEqual(self.browser.evaluate(column), sorted(before))
        self.browser.evaluate(click)
        self.assertEqual(self.browser.evaluate(column), sorted(before, reverse=True))


if __name__ == "__main__":
    unittest.main()
