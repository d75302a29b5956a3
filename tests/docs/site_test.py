#!/usr/bin/env python3
"""The documentation's site is made without a warning, and everything in it leads somewhere:

    python3 site_test.py path/to/impart
"""

import functools
import html.parser
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import unittest
import urllib.parse

IMPART = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/report")]
import browser  # noqa: E402
from class_folder import ClassFolderTest  # noqa: E402


class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors, self.pictures = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "link" and found.get("href"):
            self.loaded.append(found["href"])
        self.loaded += [found[name] for name in ("src", "srcset") if found.get(name)]
        if tag == "img":
            self.pictures.append(found)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@unittest.skipUnless(shutil.which("mkdocs"), "needs mkdocs")
class Site(ClassFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = subprocess.run([sys.executable, ROOT / "tools" / "make_site.py", IMPART, cls.folder,
                               "--quick"], text=True, capture_output=True, check=False)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        cls.site = cls.folder / "html"
        cls.pages = {path: Page(path.read_text()) for path in sorted(cls.site.rglob("*.html"))
                     if "api" not in path.relative_to(cls.site).parts}

    def assert_leads_somewhere(self, page, link):
        target = urllib.parse.urlsplit(link)
        if target.scheme in ("http", "https", "data"):
            return
        path = (page.parent / urllib.parse.unquote(target.path)).resolve() if target.path else page
        with self.subTest(page=str(page.relative_to(self.site)), link=link):
            self.assertTrue(path.exists())
            if target.fragment and path in self.pages:
                self.assertIn(urllib.parse.unquote(target.fragment), self.pages[path].anchors)

    def test_links_and_pictures_lead_somewhere(self):
        self.assertGreater(len(self.pages), 30)
        for path, page in self.pages.items():
            if path.name == "404.html":  # its links are from the root of a server
                continue
            for link in [*page.links, *page.loaded]:
                self.assert_leads_somewhere(path, link)

    def test_every_page_is_in_the_navigation(self):
        linked = set(self.pages[self.site / "index.html"].links)
        for path in self.pages:
            name = str(path.relative_to(self.site))
            if not name.startswith("gallery/") and name not in ("404.html", "search.html"):
                self.assertIn(name, linked, "docs/mkdocs.yml does not list it")

    def test_nothing_is_loaded_from_elsewhere(self):
        for path, page in self.pages.items():
            for link in page.loaded:
                self.assertNotRegex(link, r"^(https?:)?//", path.name)

    def test_pictures_say_what_they_show(self):
        for path, page in self.pages.items():
            for picture in page.pictures:
                self.assertTrue(picture.get("alt"), f"{path.name}: {picture.get('src', '')[:80]}")

    def test_search_finds_keys_commands_and_headings(self):
        index = json.loads((self.site / "search" / "search_index.json").read_text())
        text = {entry["location"]: entry["text"] for entry in index["docs"]}
        self.assertIn("partition.warmup", text["configuration.html#keys"])
        self.assertIn("--dry-run", text["commands.html#impart-train"])
        self.assertIn("class-stripes", text["names.html#heuristics"])
        self.assertIn("tutorial.html", text)

    @unittest.skipIf(browser.PROGRAM is None, "there is no Chromium (Debian: chromium)")
    def test_searching_in_a_browser_leads_to_pages(self):
        handler = functools.partial(QuietHandler, directory=self.site)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        chromium = browser.Browser()
        self.addCleanup(chromium.close)
        chromium.open_address(f"http://127.0.0.1:{server.server_port}/search.html?q=warmup")
        found = chromium.evaluate(
            "new Promise(done => { const look = () => { const links = [...document.querySelectorAll("
            "'#mkdocs-search-results a')].map(link => link.getAttribute('href'));"
            " links.length ? done(links) : setTimeout(look, 50); }; look(); })", wait=True)
        self.assertTrue([link for link in found if "configuration.html" in link], found)

    def test_the_gallery_has_reports_with_pictures(self):
        gallery = self.pages[self.site / "gallery.html"]
        reports = [link for link in gallery.links if link.endswith("report.html")]
        for name in ["images", "texts", "run", "exchange", "selection", "local"]:
            self.assertIn(f"gallery/{name}/report.html", reports)
            drawn = [picture for picture in gallery.pictures
                     if picture["src"].startswith(f"gallery/{name}/")]
            self.assertTrue(drawn or not shutil.which("gnuplot"), f"{name} has no picture")
            made = (self.site / f"gallery/{name}/report.html").read_text()
            self.assertIn('id="provenance"', made, "it is not the file that impart report made")

    def test_pages_name_no_folder_of_this_machine(self):
        for path in self.pages:
            if "gallery" not in path.parts:
                self.assertNotIn(str(ROOT), path.read_text(), path.name)


if __name__ == "__main__":
    unittest.main()
