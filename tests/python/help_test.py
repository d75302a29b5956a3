#!/usr/bin/env python3
"""Type hints and examples of the Python package.

    PYTHONPATH=build/dev/python python3 help_test.py path/to/repository
"""

import doctest
import importlib
import inspect
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import impart

ROOT = pathlib.Path(sys.argv.pop(1))
MODULES = ["impart.batch_sampler", "impart.dataset", "impart.maps", "impart.named", "impart.outer",
           "impart.partitioning", "impart.sampler", "impart.tracker"]


class Examples(unittest.TestCase):
    def test_they_say_what_happens(self):
        for name in MODULES:
            with self.subTest(name):
                failed, tried = doctest.testmod(importlib.import_module(name))
                self.assertEqual(failed, 0)
                self.assertGreater(tried, 0)

    def test_all_that_is_offered_has_one(self):
        for name in impart.__all__:
            thing = getattr(impart, name)
            if inspect.isclass(thing) and issubclass(thing, (Exception, tuple)):
                continue
            with self.subTest(name):
                self.assertIn("Examples\n", inspect.getdoc(thing))
                self.assertIn(">>> ", inspect.getdoc(thing))


@unittest.skipUnless(shutil.which("mypy"), "mypy is not installed (Debian: mypy)")
class Types(unittest.TestCase):
    def check(self, *arguments):
        with tempfile.TemporaryDirectory() as cache:
            return subprocess.run(["mypy", "--cache-dir", cache, "--config-file", ROOT / "pyproject.toml",
                                   *arguments], cwd=ROOT, capture_output=True, text=True)

    def test_the_package_keeps_its_hints(self):
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_wrong_use_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "use.py"
            path.write_text("import impart\nimpart.partition([1.0], workers='two')\n")
            done = self.check(path)
        self.assertIn('incompatible type "str"; expected "int"', done.stdout)


if __name__ == "__main__":
    unittest.main()
