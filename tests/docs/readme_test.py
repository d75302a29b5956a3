#!/usr/bin/env python3
"""Runs the commands of README.md: python3 readme_test.py path/to/impart"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

IMPART = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks():
    """The shell blocks of the README, without those that set up and build."""
    text = (ROOT / "README.md").read_text()
    found = re.findall(r"```sh\n(.*?)```(?:\n```\n(.*?)```)?", text, re.S)
    return [(commands, shown) for commands, shown in found if "./quickstart" not in commands]


class ReadmeTest(unittest.TestCase):
    def test_commands_run_and_print_what_is_shown(self):
        self.assertGreaterEqual(len(blocks()), 3)
        with tempfile.TemporaryDirectory() as folder:
            for name in ["examples", "presets"]:
                os.symlink(ROOT / name, pathlib.Path(folder) / name)
            path = f"{IMPART.parent}:{os.environ['PATH']}"
            for commands, shown in blocks():
                done = subprocess.run(["bash", "-euc", commands], cwd=folder, text=True, check=False,
                                      capture_output=True, env={**os.environ, "PATH": path})
                self.assertEqual(done.returncode, 0, commands + done.stderr)
                if shown:
                    self.assertEqual(done.stdout, shown)

    def test_the_table_of_keys_is_up_to_date(self):
        table = subprocess.run([IMPART, "train", "--keys", "--markdown"], text=True, check=False,
                               capture_output=True).stdout
        self.assertIn(table, (ROOT / "docs" / "configuration.md").read_text())

    def test_links_lead_somewhere(self):
        for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
            prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
            for link in re.findall(r"\]\(([^)#]+)\)", prose):
                if "://" not in link:
                    self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")


if __name__ == "__main__":
    unittest.main()
