#!/usr/bin/env python3
"""Runs and compiles what README.md, CONTRIBUTING.md and docs/ show:

    python3 pages_test.py path/to/impart path/to/c++ path/to/python/package

The last may be '' where the package was not built.

What a block's fence means: `sh` is run, one folder per page; a plain block behind it is what it
prints. `cpp` is a whole file that compiles. `python` compiles, names of the package exist, and it
is run if it starts with an import. `console`, `diff`, `yaml`, `json`, `text` and plain blocks are
only shown.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

IMPART, COMPILER, PACKAGE = pathlib.Path(sys.argv.pop(1)).resolve(), sys.argv.pop(1), sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md",
         *sorted((ROOT / "docs").rglob("*.md"))]
FENCES = {"", "sh", "console", "cpp", "python", "diff", "yaml", "json", "text"}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
# In backticks, from the root of the repository, and not a pattern.
PATH = re.compile(r"`((?:impart|cli|python|tests|bench|examples|presets|experiments|docs|tools|cmake)"
                  r"/[\w./-]*)`")


# Commands that take a minute and more as they are shown, and what makes them short. What the page
# itself sets comes later, and wins.
FEW = "data.train_examples=128 data.test_examples=64 threads=1"
SHORTER = [(re.compile(r"^(impart train (?:presets/)?quick(?:\.yaml)?)(?= |$)", re.M), rf"\1 {FEW}"),
           (re.compile(r"^(impart train presets/lm/generated\.yaml)(?= |$)", re.M), rf"\1 {FEW}"),
           (re.compile(r"^impart study (?:presets/studies/)?quick(?:\.yaml)?(?= +#|$)", re.M),
            f"impart study one-seed.yaml epochs=4 {FEW}")]


def study_of_one_seed():
    text = (ROOT / "presets" / "studies" / "quick.yaml").read_text()
    return re.sub(r"^seeds: .*$", "seeds: [1]", text, flags=re.M).replace("../quick.yaml", "presets/quick.yaml")


def name_of(page):
    return str(page.relative_to(ROOT))


def prose_of(page):
    return BLOCK.sub("", page.read_text())


def blocks(page, *kinds):
    """(kind, text) of the blocks of these kinds."""
    return [(kind, text) for kind, text in BLOCK.findall(page.read_text()) if kind in kinds]


def anchor(heading):
    """As GitHub makes it of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


class Commands(unittest.TestCase):
    def run_page(self, page):
        found = re.findall(r"^```sh\n(.*?)^```$(?:\n```\n(.*?)^```$)?", page.read_text(), re.S | re.M)
        environment = {**os.environ, "PATH": f"{IMPART.parent}:{os.environ['PATH']}"}
        with tempfile.TemporaryDirectory() as folder:
            for name in ["examples", "presets"]:
                os.symlink(ROOT / name, pathlib.Path(folder) / name)
            (pathlib.Path(folder) / "one-seed.yaml").write_text(study_of_one_seed())
            for commands, shown in found:
                if "./quickstart" in commands:  # sets up and builds
                    continue
                for long, short in SHORTER:
                    commands = long.sub(short, commands)
                done = subprocess.run(["bash", "-euc", commands], cwd=folder, text=True, check=False,
                                      capture_output=True, env=environment)
                self.assertEqual(done.returncode, 0, commands + done.stderr)
                if shown:
                    self.assertEqual(done.stdout, shown)

    def test_commands_run_and_print_what_is_shown(self):
        self.assertGreaterEqual(sum(len(blocks(page, "sh")) for page in PAGES), 15)
        for page in PAGES:
            with self.subTest(page=name_of(page)):
                self.run_page(page)

    def test_the_table_of_keys_is_up_to_date(self):
        table = subprocess.run([IMPART, "train", "--keys", "--markdown"], text=True, check=False,
                               capture_output=True).stdout
        self.assertIn(table, (ROOT / "docs" / "configuration.md").read_text())


class Code(unittest.TestCase):
    def test_cpp_compiles(self):
        count = 0
        for page in PAGES:
            for _, text in blocks(page, "cpp"):
                with self.subTest(page=name_of(page)):
                    done = subprocess.run(
                        [COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                         f"-I{ROOT}", "-x", "c++", "-"],
                        input=text, text=True, capture_output=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                count += 1
        self.assertGreaterEqual(count, 3)

    def test_python_compiles_and_what_stands_alone_runs(self):
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        for page in PAGES:
            for _, text in blocks(page, "python"):
                with self.subTest(page=name_of(page)):
                    compile(text, name_of(page), "exec")
                    if PACKAGE and text.startswith("import "):
                        done = subprocess.run([sys.executable, "-c", text], env=environment, text=True,
                                              capture_output=True, check=False)
                        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(PACKAGE, "built without the Python package")
    def test_names_of_the_python_package_exist(self):
        names = sorted({name for page in PAGES for _, text in blocks(page, "python")
                        for name in re.findall(r"\bimpart\.([a-zA-Z]\w+)", text)}
                       - {"huggingface", "lightning"})
        self.assertGreaterEqual(len(names), 5)
        asked = f"import impart; print([n for n in {names} if not hasattr(impart, n)])"
        done = subprocess.run([sys.executable, "-c", asked], text=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": PACKAGE}, check=False)
        self.assertEqual(done.stdout.strip(), "[]", done.stderr)


class Pages(unittest.TestCase):
    def test_every_fence_says_what_is_done_with_it(self):
        for page in PAGES:
            for kind, _ in BLOCK.findall(page.read_text()):
                self.assertIn(kind, FENCES, name_of(page))

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
                if "://" in link:
                    continue
                path, _, part = link.partition("#")
                target = (page.parent / path) if path else page
                with self.subTest(page=name_of(page), link=link):
                    self.assertTrue(target.exists())
                    if part:
                        headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", target.read_text()), re.M)
                        self.assertIn(part, [anchor(heading) for heading in headings])

    def test_paths_in_backticks_exist(self):
        for page in PAGES:
            if page.name == "CHANGELOG.md":  # names what is gone, too
                continue
            for path in PATH.findall(prose_of(page)):
                with self.subTest(page=name_of(page), path=path):
                    self.assertTrue((ROOT / path).exists())

    def test_the_readme_is_short(self):
        self.assertLess(len((ROOT / "README.md").read_text().splitlines()), 75)

    def test_every_page_is_on_the_map(self):
        docs = ROOT / "docs"
        mapped = {(docs / link.partition("#")[0]).resolve()
                  for link in re.findall(r"\]\(([^)\s]+)\)", (docs / "README.md").read_text())}
        listed = {(docs / "results" / link).resolve() for link in
                  re.findall(r"\]\(([^)#\s]+)\)", (docs / "results" / "README.md").read_text())}
        for page in sorted(docs.rglob("*.md")):
            if page != docs / "README.md":
                self.assertIn(page.resolve(), mapped | listed, name_of(page))


class Walk(unittest.TestCase):
    """docs/walk.md: steps are rows of its table, each names one file."""

    def test_the_walk_is_as_short_as_it_says(self):
        text = (ROOT / "docs" / "walk.md").read_text()
        steps = re.findall(r"^\| \d+ \| `([^`]+)` \|", text, re.M)
        files, crossings = set(steps), sum(pathlib.Path(a).parent != pathlib.Path(b).parent
                                           for a, b in zip(steps, steps[1:]))
        said = re.search(r"(\d+) files and (\d+) crossings", text)
        self.assertEqual((len(files), crossings), (int(said[1]), int(said[2])))
        self.assertLessEqual(len(files), 30)
        self.assertLessEqual(crossings, 20)


if __name__ == "__main__":
    unittest.main()
