#!/usr/bin/env python3
"""Runs `impart simulate` as a user would: python3 simulate_command_test.py path/to/impart"""

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
SMALL = ["--nodes", "8", "--examples", "800", "--payload", "10KB", "--network", "1Gb/s", "--latency", "50us"]


class SimulateTest(unittest.TestCase):
    def impart(self, *args):
        return subprocess.run([IMPART, "simulate", *args], text=True, capture_output=True, check=False)

    def succeed(self, *args):
        done = self.impart(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_strategies_stand_side_by_side_in_100_columns(self):
        for wiring in [["--topology", "fat-tree", "--leaf", "2"], ["--topology", "dragonfly", "--leaf", "1"]]:
            text = self.succeed(*SMALL, *wiring)
            self.assertLessEqual(max(map(len, text.splitlines())), 100, text)
            for name in ["vanilla", "sticky-stripes@10", "partial@0.1", "is-pair@0.1", "balance-pair@0.1"]:
                self.assertIn(f"\n{name} ", text)

    def test_numbers_are_those_of_the_network(self):
        rows = json.loads(self.succeed(*SMALL, "--topology", "switch", "--strategy", "is-pair@0.1", "--exchanges", "2",
                                       "--json"))["strategies"]
        self.assertEqual([row["strategy"] for row in rows], ["is-pair@0.1"])
        self.assertEqual(len(rows[0]["exchanges"]), 2)
        for exchange in rows[0]["exchanges"]:
            # 10 frames of 10008 bytes each way at 95 % of 1 Gb/s; two latencies, for pieces and answers. Moments
            # are a hundredth of the time of a payload beside seven others: 7 us.
            self.assertEqual(exchange["examples"], 80)
            self.assertAlmostEqual(exchange["seconds"], 10 * 10008 / (0.95 * 1e9 / 8) + 2 * 50e-6, delta=2 * 7e-6)
            self.assertAlmostEqual(exchange["bytes"], 8 * (10 * 10008 + 8), delta=1)

    def test_csv_has_a_line_for_every_exchange_on_every_cluster(self):
        text = self.succeed("--nodes", "4,8", *SMALL[2:], "--strategy", "partial,stripes@2", "--csv", "--step", "10ms")
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([(row["nodes"], row["strategy"]) for row in rows],
                         [("4", "partial@0.1"), ("4", "stripes@2"), ("8", "partial@0.1"), ("8", "stripes@2")])
        for row in rows:
            self.assertGreaterEqual(float(row["seconds"]), float(row["least_seconds"]))
            interval = 2 if row["strategy"] == "stripes@2" else 1
            self.assertAlmostEqual(float(row["epoch_exchange"]), float(row["seconds"]) / interval, delta=1e-6)

    @unittest.skipUnless(shutil.which("gnuplot"), "needs gnuplot")
    def test_a_picture_has_a_line_for_every_strategy(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder) / "a.svg"
            self.succeed("--nodes", "4,8", *SMALL[2:], "--strategy", "partial,is-pair", "-o", str(picture))
            text = "".join(ElementTree.parse(picture).getroot().itertext())
        for name in ["partial@0.1", "is-pair@0.1", "seconds of an exchange"]:
            self.assertIn(name, text)

    def test_what_a_run_has_decided_is_simulated(self):
        with tempfile.TemporaryDirectory() as folder:
            partitions = pathlib.Path(folder) / "partitions"
            partitions.mkdir()
            for epoch, shift in [(0, 0), (3, 1)]:
                lines = [f"{i},{(i + shift) % 4}" for i in range(40)]
                (partitions / f"epoch-{epoch:04}.csv").write_text("\n".join(["id,worker", *lines]) + "\n")
            told = json.loads(self.succeed(folder, "--payload", "1KB", "--network", "1Gb/s", "--json"))
        row, = told["strategies"]
        self.assertEqual((row["nodes"], row["strategy"]), (4, "recorded"))
        self.assertEqual([(one["epoch"], one["examples"]) for one in row["exchanges"]], [(3, 40)])

    def test_what_is_missing_or_wrong_is_said_in_one_line(self):
        for args, message in [
                (["--nodes", "4", "--examples", "10", "--network", "1Gb/s"], "give --payload"),
                (["--nodes", "4", "--examples", "10", "--payload", "10"], "give --machine NAME or --network"),
                (["--nodes", "4", "--payload", "10", "--network", "1Gb/s"], "give --examples"),
                ([*SMALL, "--nodes", "0"], "'0' is wrong; give a number above 0"),
                ([*SMALL, "-o", "a.svg"], "give several, --nodes"),
                ([*SMALL, "--topology", "fattree"], "did you mean 'fat-tree'?"),
                ([*SMALL, "--strategy", "is-par"], "did you mean 'is-pair'?"),
                ([*SMALL, "--oversubscription", "0.5"], "it is 1 or more")]:
            done = self.impart(*args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            done = self.impart(folder, "--payload", "1KB", "--network", "1Gb/s")
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertIn("partition.save=true", done.stderr)


if __name__ == "__main__":
    unittest.main()
