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


PUBLISHED = "published"

# Run in the page: what a person would call cut off.
FIND_CUT = """(() => {
  const found = [];
  const name = element => element.tagName + '.' + element.getAttribute('class') + ' '
    + element.textContent.slice(0, 40);
  for (const element of document.querySelectorAll('body *')) {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0 || element.closest('nav input')) continue;
    if (element.closest('svg') && element.tagName !== 'svg') continue;
    if (box.left < -1 || box.right > innerWidth + 1) found.push('outside: ' + name(element));
    if (getComputedStyle(element).display === 'inline') continue;
    if (element.scrollWidth > element.clientWidth + 1) found.push('overflows: ' + name(element));
  }
  for (const text of document.querySelectorAll('svg text')) {
    const box = text.getBoundingClientRect();
    const frame = text.closest('svg').getBoundingClientRect();
    if (box.width === 0) continue;
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
      found.push('picture cuts: ' + text.textContent);
  }
  return found;
})()"""

# Texts whose colour is too near to what is behind them: WCAG 2.1, 1.4.3.
FIND_FAINT = """(() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(at).backgroundColor);
      layers.push([r, g, b, a]);
      if (a === 1) break;
    }
    return layers.reverse().reduce((under, [r, g, b, a]) =>
      [r, g, b].map((v, i) => v * a + under[i] * (1 - a)), [255, 255, 255]);
  };
  const found = new Set();
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || element.getBoundingClientRect().width === 0 || element.tagName === 'SCRIPT') continue;
    const style = getComputedStyle(element);
    const colour = numbers(element.closest('svg') ? style.fill : style.color);
    const [a, b] = [light(colour), light(behind(element))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700);
    if ((a + 0.05) / (b + 0.05) < (large ? 3 : 4.5)) found.add(element.tagName + ' ' + element.textContent.slice(0, 30));
  }
  return [...found];
})()"""

HEADINGS = "[...document.querySelectorAll('h1,h2,h3,h4')].map(heading => Number(heading.tagName[1]))"
PICTURES_WITHOUT_WORDS = ("[...document.querySelectorAll('img')].filter(image => !image.alt).length +"
                          "[...document.querySelectorAll('svg')].filter("
                          "svg => !svg.getAttribute('aria-label')).length")


@unittest.skipIf(browser.PROGRAM is None, "there is no Chromium (Debian: chromium)")
@unittest.skipIf(shutil.which("gnuplot") is None, "there is no gnuplot (Debian: gnuplot-nox)")
class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        cls.pages = {"study": cls.make_study(), "one run": cls.make_one_run(),
                     "texts": cls.make_texts(), PUBLISHED: cls.make_published()}
        cls.page = cls.pages["study"]
        cls.browser = browser.Browser()

    @classmethod
    def report(cls, *args):
        subprocess.run([IMPART, "report", *map(str, args)], check=True, cwd=cls.folder,
                       stdout=subprocess.DEVNULL)

    @classmethod
    def make_study(cls):
        arms = {"vanilla": {"heuristic": "random", "interval": 1}}
        for interval in [5, 10, 30]:
            for warmup in [3, 6]:
                arms[f"stripes W{warmup} I{interval}"] = {"heuristic": "stripes", "warmup": warmup,
                                                         "interval": interval}
        arms["<script>document.title='broken'</script><img src=http://127.0.0.1:9/x>"] = {
            "heuristic": "blocks"}
        made_runs.make_study(cls.folder / "study", arms, range(1, 6), examples=300)
        for run in (cls.folder / "study/runs").glob("*/1"):
            made_runs.add_images(run)
            made_runs.add_hidden(run)
        cls.report("study")
        return cls.folder / "study/report/report.html"

    @classmethod
    def make_one_run(cls):
        made_runs.make_run(cls.folder / "one", 1, examples=300)
        made_runs.add_images(cls.folder / "one")
        cls.report("one")
        return cls.folder / "one/report/report.html"

    @classmethod
    def make_texts(cls):
        texts = ["To be, or not to be:\nthat is the question " * 5, "x" * 300, "é" * 400]
        for name, level in [("random", 70), ("stripes", 80)]:
            made_runs.make_run(cls.folder / "texts" / name, 1, level=level, heuristic=name)
            made_runs.make_language(cls.folder / "texts" / name, texts)
        cls.report("texts")
        return cls.folder / "texts/report/report.html"

    @classmethod
    def make_published(cls):
        made_runs.make_published(cls.folder / "csv")
        cls.report("--csv", "csv", "-o", "published")
        return cls.folder / "published/report.html"

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        shutil.rmtree(cls.folder)

    def keep(self, name, width, height=None):
        if KEEP:
            height = height or self.browser.evaluate("document.documentElement.scrollHeight")
            self.browser.screenshot(f"{KEEP}/{name}-{width}.png",
                                    {"x": 0, "y": 0, "width": width, "height": height})

    def test_nothing_is_requested_and_nothing_complains(self):
        for name, page in self.pages.items():
            self.browser.open(page, 1100)
            self.assertEqual([url for url in self.browser.requests() if not url.startswith("data:")],
                             [f"file://{page}"])
            self.assertEqual(self.browser.complaints(), [], name)
        self.browser.open(self.page, 1100)
        self.assertEqual(self.browser.evaluate("document.title"), "study")

    def test_figures_show_something_in_light_and_dark(self):
        for dark in [False, True]:
            self.browser.open(self.page, 1100, dark=dark)
            boxes = self.browser.evaluate(
                "[...document.querySelectorAll('figure .wide svg')].map(svg => {"
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

    def screens(self):
        """Every page at every width, light and dark; its sections are open."""
        for name, page in self.pages.items():
            self.browser.open(page, 1280)
            self.browser.evaluate("document.querySelectorAll('details')"
                                  ".forEach(details => { details.open = true; })")
            for width in [1280, 800, 360]:
                for dark in [False, True]:
                    self.browser.look(width, dark=dark)
                    yield name, width, "dark" if dark else "light"

    def test_nothing_is_cut_or_faint_on_any_screen(self):
        for name, width, theme in self.screens():
            self.keep(f"{name}-{theme}", width)
            with self.subTest(name, width=width, theme=theme):
                self.assertEqual(self.browser.evaluate(FIND_CUT), [])
                self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
                self.assertEqual(self.browser.evaluate(FIND_FAINT), [])

    def test_a_dot_tells_which_example_it_is_on_every_screen(self):
        maps = set()
        for name, width, theme in self.screens():
            if not self.browser.evaluate("document.querySelector('#data-map') !== null"):
                continue
            maps.add(name)
            with self.subTest(name, width=width, theme=theme):
                _, said = self.point_at(7, "narrow" if width == 360 else "wide")
                self.assertRegex(said, r"example \d+")
        self.assertEqual(maps, {"study", "one run"})

    def test_everybody_can_read_it(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                self.browser.open(page, 1280)
                self.assertEqual(self.browser.evaluate(PICTURES_WITHOUT_WORDS), 0)
                levels = self.browser.evaluate(HEADINGS)
                self.assertEqual((levels[0], levels.count(1)), (1, 1))
                for before, after in zip(levels, levels[1:]):
                    self.assertLessEqual(after, before + 1, levels)

    def test_the_first_screen_has_verdict_number_and_picture(self):
        for name, page in self.pages.items():
            self.browser.open(page, 1280, height=900)
            self.keep(f"{name}-first", 1280, 900)
            for part in [".headline", ".keys b", ".lead svg, .lead img"]:
                bottom = self.browser.evaluate(
                    f"document.querySelector('{part}').getBoundingClientRect().bottom")
                self.assertLess(bottom, 900, f"{name}: {part}")

    def test_one_run_alone_has_nothing_to_be_compared_with(self):
        self.browser.open(self.pages["one run"], 1280)
        text = self.browser.evaluate("document.querySelector('.page').innerText")
        self.assertNotIn("baseline", text)
        self.assertNotIn("over runs", text)
        whole = self.browser.evaluate("document.querySelector('.page').textContent")
        self.assertNotIn("the others", whole)
        self.assertIn("(1 row)", whole)
        self.assertRegex(text, r"The best accuracy is [\d.]+ %, reached in epoch \d+ of 20\.")

    def test_the_navigation_stays_in_view_and_leads_to_closed_sections(self):
        for width in [1280, 800, 360]:
            with self.subTest(width=width):
                self.browser.open(self.page, width)
                self.browser.evaluate("scrollTo(0, 5000)")
                box = self.browser.evaluate("(box => [box.top, box.bottom])"
                                            "(document.querySelector('nav').getBoundingClientRect())")
                self.assertGreaterEqual(box[0], 0)
                self.assertLess(box[0], 50)
                self.assertGreater(box[1], 20)
                is_open = "document.querySelector('#provenance details').open"
                self.assertFalse(self.browser.evaluate(is_open))
                if width < 1000:
                    self.browser.evaluate("document.querySelector('nav label').click()")
                link = "document.querySelector('nav a[href=\"#provenance\"]')"
                self.assertGreater(self.browser.evaluate(f"{link}.getBoundingClientRect().height"), 0)
                self.browser.evaluate(f"{link}.click()")
                self.browser.evaluate("new Promise(done => setTimeout(done, 50))", wait=True)
                self.assertTrue(self.browser.evaluate(is_open))
                top = self.browser.evaluate("document.querySelector('#provenance h2')"
                                            ".getBoundingClientRect().top")
                self.assertGreater(top, 0 if width > 1000 else 30, "the bar hides the heading")
                self.assertLess(top, 900)

    def test_sections_fold(self):
        self.browser.open(self.page, 1100)
        height = "document.querySelector('#results').getBoundingClientRect().height"
        before = self.browser.evaluate(height)
        self.browser.evaluate("document.querySelector('#results summary').click()")
        self.assertLess(self.browser.evaluate(height), min(100, before))

    def point_at(self, number, kind):
        """Rests the pointer on a dot of the first map. What the note then says."""
        place = self.browser.evaluate(
            f"(() => {{ const svg = document.querySelector('#data-map .{kind} svg');"
            " svg.scrollIntoView({block: 'center'});"
            " const width = path => Number(path.getAttribute('stroke-width'));"
            " const paths = [...svg.querySelectorAll('path[stroke-linecap=round]')];"
            " const least = Math.min(...paths.map(width));"
            " const dots = paths.filter(path => width(path) === least)"
            "  .flatMap(path => path.getAttribute('d').slice(1).split('h0M'));"
            f" const [x, y] = dots[{number}].split(' ').map(parseFloat);"
            " const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());"
            " return [at.x, at.y, dots.length] })()")
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        return place[2], self.browser.evaluate(
            "(tip => tip.hidden ? '' : tip.innerText + (tip.querySelector('img') ? ' picture' : ''))"
            "(document.getElementById('tip'))")

    def test_a_dot_of_the_data_map_tells_which_example_it_is(self):
        for width, kind in [(1280, "wide"), (360, "narrow")]:
            self.browser.open(self.pages["one run"], width)
            count, _ = self.point_at(0, kind)
            self.assertEqual(count, 300)
            ids = self.browser.evaluate(
                "JSON.parse(document.querySelector('#data-map [data-notes]').dataset.notes).ids")
            self.assertEqual(sorted(ids), list(range(300)))
            for number in [0, 150, 299]:
                said = self.point_at(number, kind)[1]
                self.assertRegex(said, r"^(circle|star|heart)\nexample \d+")
            # Of examples that have one, the picture is shown. A neighbour may lie nearer.
            with_picture = [n for n in range(300) if ids[n] < 32]
            self.assertTrue(any("picture" in self.point_at(n, kind)[1] for n in with_picture[:8]))
            self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
            self.assertTrue(self.browser.evaluate("document.getElementById('tip').hidden"))

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
