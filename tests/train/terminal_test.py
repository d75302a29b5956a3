#!/usr/bin/env python3
"""What `impart train` shows: on real pseudo-terminals of several widths, and without one.

    python3 terminal_test.py path/to/impart
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

import training
from training import ENVIRONMENT, IMPART, SHORT, settings

TINY = {**SHORT, "epochs": 3, "data.train_examples": 320, "partition.warmup": "50%",
        "importance.ignore": 0}
LONG = {**SHORT, "epochs": 99, "data.train_examples": 4000, "checkpoint.every": 0}
WIDTHS = [120, 80, 45, 20]
UPDATES = 50  # at every width
LIVE = re.compile(r"epoch \d+/\d+ +.*%")  # on the painted line, not on that of an epoch that is over
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def texts_of(shown):
    """What was written between two returns of the carriage, as it is seen."""
    return [ESCAPE.sub("", text) for text in re.split(r"[\r\n]+", shown) if ESCAPE.sub("", text)]


def updates_of(shown):
    return [text for text in texts_of(shown) if LIVE.search(text)]


class Screen:
    """A pseudo-terminal with a command on it."""

    def __init__(self, args, folder, columns, **environment):
        self.main, side = pty.openpty()
        self.resize(columns)
        self.process = subprocess.Popen(
            [IMPART, "train", *args], cwd=folder, stdin=side, stdout=side, stderr=side,
            env={**ENVIRONMENT, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment})
        os.close(side)

    def resize(self, columns):
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self, enough=lambda shown: False, seconds=300, doze=0):
        """What is shown until that is enough, the command ends, or the time is over.

        The command dozes after each piece, since updates take time and not work.
        """
        shown, limit = b"", time.monotonic() + seconds
        while time.monotonic() < limit and not enough(shown.decode(errors="ignore")):
            if not select.select([self.main], [], [], 0.1)[0]:
                continue
            try:
                shown += os.read(self.main, 65536)
            except OSError:  # the other side is closed
                break
            self.doze(doze)
        return shown.decode(errors="ignore")

    def doze(self, seconds):
        if seconds > 0:
            self.process.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            self.process.send_signal(signal.SIGCONT)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.main)


class TerminalTest(training.TrainingTest):
    def screen(self, base, *args, columns=80, **environment):
        screen = Screen([*settings(base), "output=run", *args], self.folder, columns, **environment)
        self.addCleanup(screen.end)
        return screen

    def show(self, base, *args, **how):
        screen = self.screen(base, *args, **how)
        shown = screen.read()
        self.assertEqual(screen.process.wait(), 0, shown)
        return shown


class WidthTest(TerminalTest):
    def test_no_line_wraps_in_200_updates_while_the_terminal_is_resized(self):
        screen = self.screen(LONG, columns=WIDTHS[0])
        live = {}
        for columns in WIDTHS:
            screen.resize(columns)
            screen.read(seconds=0.3)  # an update that was under way
            shown = screen.read(lambda text: len(updates_of(text)) >= UPDATES + 2, doze=0.045)
            live[columns] = updates_of(shown)[1:-1]  # without halves
            for text in texts_of(shown)[1:-1]:
                self.assertLess(len(text), columns, text)
        screen.process.send_signal(signal.SIGINT)
        screen.read()
        self.assertEqual(screen.process.wait(), 85)
        self.assertGreaterEqual(sum(map(len, live.values())), 200)
        self.assertRegex(live[120][-1], r"^train {6}  epoch \d+/99  [━╸ ]{4,30}  +\d+%  loss \d\.\d{4}  "
                                        r"\d+ examples/s  \w+ left")
        self.assertRegex(live[80][-1], r"epoch \d+/99 .*\d+%  loss \d\.\d{4}.*left")
        self.assertRegex(live[45][-1], r"^epoch \d+/99 .*\d+%  loss \d\.\d{4}")
        self.assertRegex(live[20][-1], r"^epoch \d+/99  +\d+%$")

    def test_epochs_are_counted_to_the_last_and_not_beyond(self):
        shown = self.show({**TINY, "data.train_examples": 1600})
        counted = {(int(epoch), int(epochs)) for epoch, epochs in re.findall(r"epoch +(\d+)/(\d+)", shown)}
        self.assertEqual(counted, {(1, 3), (2, 3), (3, 3)})
        self.assertTrue(LIVE.search(ESCAPE.sub("", shown)), shown)
        # What stays when the line is erased is what a pipe would get.
        rows = [re.split(r"\r\x1b\[J", row)[-1].strip("\r") for row in shown.split("\n")]
        self.assertEqual([row[:11] for row in rows if row.startswith("epoch ")],
                         ["epoch   1/3", "epoch   2/3", "epoch   3/3"])

    def test_the_loss_is_that_of_the_epoch_so_far(self):
        shown = self.show({**TINY, "epochs": 1, "partition.warmup": 1, "data.train_examples": 9600})
        done, last = re.findall(r"(\d+)%.*?loss (\d+\.\d+)", ESCAPE.sub("", shown))[-1]
        final = re.findall(r"epoch   1/1  loss (\d+\.\d+)", ESCAPE.sub("", shown))[0]
        self.assertGreater(int(done), 50)
        self.assertAlmostEqual(float(last), float(final), delta=0.3)


class ColourTest(TerminalTest):
    def test_colours_unless_they_are_not_wanted(self):
        self.assertRegex(self.show(TINY), r"\x1b\[3\dm")
        plain = self.show(TINY, "--overwrite", NO_COLOR="1")
        self.assertNotRegex(plain, r"\x1b\[[0-9;]*m")
        self.assertIn("\x1b[2K", plain)

    def test_a_dumb_terminal_gets_plain_lines(self):
        shown = self.show(TINY, TERM="dumb")
        self.assertNotIn("\x1b", shown)
        self.assertEqual(len(re.findall(r"^epoch ", shown, re.M)), 3)

    def test_without_utf_8_the_bar_is_ascii(self):
        shown = self.show(TINY, LC_ALL="C")
        self.assertTrue(shown.isascii())


class PipeTest(TerminalTest):
    def test_a_pipe_gets_one_plain_line_per_epoch(self):
        out, err = self.succeed(*settings(TINY), "output=run")
        self.assertRegex(out, r"^best accuracy [\d.]+ % \(epoch \d\), final .*\nrun directory: run\n$")
        self.assertNotRegex(out + err, r"[\x1b\r]")
        lines = err.splitlines()
        self.assertEqual(len(lines), 3, err)
        for number, line in enumerate(lines, 1):
            self.assertRegex(line, rf"^epoch +{number}/3  loss \d.*  train .* %  test .* %  .* s")
        self.assertIn("repartitioned", lines[2])

    def test_quiet_and_verbose(self):
        out, err = self.succeed(*settings(TINY), "output=run", "-q")
        self.assertEqual(err, "")
        self.assertRegex(out, r"^best accuracy ")
        _, err = self.succeed(*settings(TINY), "output=run", "--overwrite", "-v")
        self.assertIn("320 examples, 4 workers in 1 processes on cpu, epochs 1 to 3\n", err)
        self.assertRegex(err, r"epoch 3: heuristic, \d+ examples moved")
        self.assertRegex(err, r"epoch   1/3  .*s training  lr 0\.02")

    def test_json_has_an_object_per_line(self):
        out, err = self.succeed(*settings(TINY), "output=run", "--json")
        self.assertEqual(err, "")
        events = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([event["event"] for event in events],
                         ["start", "repartition", "epoch", "repartition", "epoch", "repartition",
                          "epoch", "end"])
        self.assertEqual(events[0], {"event": "start", "name": "run", "output": "run", "epoch": 0,
                                     "epochs": 3, "examples": 320, "evaluated_on": "test", "workers": 4,
                                     "processes": 1, "device": "cpu"})
        self.assertEqual([event["kind"] for event in events if event["event"] == "repartition"],
                         ["random", "random", "heuristic"])
        run = self.run_folder("run")
        for name, column in {"train_loss": "train_loss", "test_loss": "test_loss",
                             "score": "test_accuracy", "learning_rate": "learning_rate"}.items():
            self.assertEqual([e[name] for e in events if e["event"] == "epoch"], run.column(column))
        summary = run.summary()
        self.assertEqual((events[-1]["status"], events[-1]["best"], events[-1]["best_epoch"]),
                         ("done", summary["best_accuracy"], summary["best_epoch"]))


if __name__ == "__main__":
    unittest.main()
