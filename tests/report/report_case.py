"""What the tests of `impart report` share: a folder, and the command in it.

    python3 report_test.py path/to/impart
"""

import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
ARMS = {"vanilla": {"heuristic": "random", "interval": 1},
        "stripes": {"heuristic": "stripes", "level": 80.1},
        "blocks": {"heuristic": "blocks", "level": 77.0}}


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def impart(self, *args, **more):
        return subprocess.run([IMPART, "report", *map(str, args)], cwd=self.folder, text=True,
                              capture_output=True, check=False, **more)

    def succeed(self, *args, **more):
        done = self.impart(*args, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def read(self, name):
        return (self.folder / name).read_text()

    def rows(self, name):
        with open(self.folder / name, newline="") as file:
            return {row["setting"]: row for row in csv.DictReader(file)}
