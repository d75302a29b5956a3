#!/usr/bin/env python3
"""What is seen on a real terminal, tmux, while its window is resized: screens_test.py path/to/impart"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest

from commands import IMPART

FAKE_ENGINE = pathlib.Path(__file__).resolve().parents[1] / "study" / "fake_engine.py"

# Runs that never end their first epoch: what is shown stays the same.
STUDY = """
name: small
config: {epochs: 3, importance.ignore: 0, partition.warmup: 1, partition.interval: 1, data.train_examples: 100}
arms:
  vanilla: {baseline: true, partition.heuristic: random}
  stripes: {partition.heuristic: stripes}
seeds: [5, 6]
jobs: 2
output: study
"""
WIDE = """before
small: 0 of 4 runs done, 2 running, 2 waiting
  arm         done running  failed    best_accuracy difference
  vanilla      0/2       1                            baseline
  stripes      0/2       1
  running: vanilla seed 5  epoch 1/3
  running: stripes seed 5  epoch 1/3
"""
SCREENS = {120: WIDE, 80: WIDE, 45: """before
small: 0 of 4 runs done, 2 running, 2 waiti…
  arm         done running  failed    best_…
  vanilla      0/2       1                 …
  stripes      0/2       1                 …
  running: vanilla seed 5  epoch 1/3
  running: stripes seed 5  epoch 1/3
"""}
RUN = ["epochs=99", "threads=1", "data.train_examples=4000", "data.test_examples=100", "model.name=mlp",
       "workers.batch=4", "checkpoint.every=0", "output=run"]
LIVE = re.compile(r"epoch \d+/99 .*%", re.M)


@unittest.skipUnless(shutil.which("tmux"), "no tmux")
class ScreenTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-screen-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def tmux(self, *args):
        return subprocess.run(["tmux", "-u", "-f", "/dev/null", "-S", self.folder / "socket", *args],
                              cwd=self.folder, env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"},
                              text=True, capture_output=True, check=True).stdout

    def show(self, *command, columns=120, **environment):
        """Starts a command in a window of that width, at the bottom of a screen full of lines."""
        settings = [f"{name}={value}" for name, value in environment.items()]
        self.tmux("new-session", "-d", "-x", str(columns), "-y", "24",
                  f"seq 30; echo before; exec env {shlex.join([*settings, *map(str, command)])}")
        self.addCleanup(self.tmux, "kill-server")

    def resize(self, columns):
        self.tmux("resize-window", "-x", str(columns))

    def screen(self, *how):
        """What is seen below those lines, also what has left the window at its top."""
        rows = self.tmux("capture-pane", "-p", "-S", "-", *how).splitlines()
        shown = "".join(f"{row.rstrip()}\n" for row in rows).rstrip("\n") + "\n"
        return shown.partition("\n30\n")[2]

    def wait_for(self, holds, seconds=20):
        limit = time.monotonic() + seconds
        while not holds(shown := self.screen()) and time.monotonic() < limit:
            time.sleep(0.05)
        return shown

    def assert_shows(self, expected):
        self.assertEqual(self.wait_for(lambda shown: shown == expected, seconds=5), expected)


class StudyScreens(ScreenTest):
    def start(self, **how):
        (self.folder / "study.yaml").write_text(STUDY)
        (self.folder / "behaviour.json").write_text('{"*": {"epoch_seconds": 1000}}')
        self.show(IMPART, "study", "study.yaml", "--engine", FAKE_ENGINE, **how)
        self.wait_for(lambda shown: "running: stripes" in shown)

    def test_the_table_fits_its_window_and_leaves_nothing_behind(self):
        self.start()
        for columns in [120, 80, 45, 80, 45, 120]:
            self.resize(columns)
            with self.subTest(columns=columns):
                self.assert_shows(SCREENS[columns])

    def test_a_border_that_is_dragged_leaves_nothing_behind(self):
        self.start(columns=80)
        for columns in [*range(80, 45, -1), *range(45, 80), *range(80, 44, -1)]:
            self.resize(columns)
        self.assert_shows(SCREENS[45])

    def test_there_are_colours(self):
        self.start()
        self.assertIn("\x1b[1msmall: 0 of 4", self.screen("-e"))

    def test_there_are_none_where_they_are_not_wanted(self):
        self.start(NO_COLOR=1)
        self.assertNotIn("\x1b", self.screen("-e"))


class TrainScreens(ScreenTest):
    def test_there_is_one_live_line_at_the_end_whatever_the_width(self):
        self.show(IMPART, "train", *RUN)
        self.wait_for(LIVE.search, seconds=100)
        for columns, last in {80: r"^train .*left$", 45: r"^epoch \d+/99 .*left$", 120: r"^train .*examples/s"}.items():
            self.resize(columns)
            with self.subTest(columns=columns):
                shown = self.wait_for(lambda text: re.search(last, text.splitlines()[-1]))
                self.assertRegex(shown.splitlines()[-1], last)
                self.assertEqual(len(LIVE.findall(shown)), 1, shown)
                self.assertEqual(shown.splitlines()[0], "before")


if __name__ == "__main__":
    unittest.main()
