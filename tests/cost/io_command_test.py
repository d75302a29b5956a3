#!/usr/bin/env python3
"""Runs `impart io` as a user would: python3 io_command_test.py path/to/impart"""

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

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
SMALL = ["--examples", 1200, "--payload", 3072, "--workers", 4, "--epochs", 31]
STORAGE = ["bytes_source", "bytes_local", "bytes_written", "bytes_sent", "bytes_received",
           "flows_sent", "flows_received", "sends", "receives", "examples_sent",
           "examples_received", "peak_stored", "cache_hits", "cache_misses"]


class IoTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def impart(self, *args):
        return subprocess.run([IMPART, "io", *map(str, args)], cwd=self.folder, text=True,
                              capture_output=True, check=False)

    def succeed(self, *args):
        done = self.impart(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def strategies(self, *args):
        rows = json.loads(self.succeed(*args, "--json"))["strategies"]
        return {row["strategy"]: row for row in rows}

    def fail_with(self, code, message, *args):
        done = self.impart(*args)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class PredictionTest(IoTest):
    def test_one_aligned_row_per_strategy_in_both_tables(self):
        lines = self.succeed(*SMALL).splitlines()
        names = [line.split()[0] for line in lines if line.strip()]
        for name in ["vanilla", "local", "stripes@5", "stripes@10", "stripes@30",
                     "sticky-stripes@5", "blocks@10", "snake@10", "balanced@10",
                     "sticky-class-stripes@10", "partial@0.1", "partial@0.3", "is@0.1",
                     "is-pair@0.3", "ilag-pair@0.1", "balance-pair@0.3"]:
            self.assertEqual(names.count(name), 2, name)
        start = next(i for i, line in enumerate(lines) if line.startswith("strategy"))
        table = lines[start:lines.index("", start)]
        self.assertEqual(len({len(line) for line in table}), 1, "\n".join(table))

    def test_csv_parses_and_says_the_same_as_json(self):
        from_json = self.strategies(*SMALL)
        from_csv = list(csv.DictReader(io.StringIO(self.succeed(*SMALL, "--csv"))))
        self.assertEqual([row["strategy"] for row in from_csv], list(from_json))
        for row in from_csv:
            for key, text in row.items():
                value = from_json[row["strategy"]][key]
                if key == "strategy":
                    continue
                self.assertEqual(None if text == "" else float(text), value, key)

    def test_formulas_hold(self):
        rows = self.strategies(*SMALL)
        self.assertEqual(rows["vanilla"]["expected_moved_run"], 30 * 900)
        self.assertAlmostEqual(rows["vanilla"]["epoch_examples_moved"], 900, delta=20)
        self.assertEqual(rows["is-pair@0.1"]["epoch_examples_moved"], 120)
        self.assertEqual(rows["is-pair@0.1"]["epoch_network_bytes"], 120 * 3080)
        self.assertEqual(rows["is-pair@0.1"]["epoch_importance_pass"], 1200)
        self.assertEqual(rows["ilag-pair@0.1"]["epoch_importance_pass"], 0)
        self.assertEqual(rows["local"]["run_network_bytes"], 0)
        self.assertIsNone(rows["stripes@5"]["expected_moved_run"])
        for name, row in rows.items():
            self.assertLessEqual(row["peak_stored"], row["peak_bound"], name)
            self.assertEqual(row["first_partitioned_source_bytes"], 1200 * 3072)

    def test_only_the_chosen_strategies(self):
        rows = self.strategies(*SMALL, "--strategy", "local,stripes,partial@0.25", "--interval",
                               "4,8")
        self.assertEqual(list(rows), ["local", "stripes@4", "stripes@8", "partial@0.25"])

    def test_a_config_is_a_row_of_its_own(self):
        (self.folder / "run.yaml").write_text(
            "workers: {count: 3}\nepochs: 12\npartition: {heuristic: blocks, warmup: 2}\n")
        rows = self.strategies("run.yaml", "partition.interval=5", "--examples", 300, "--payload",
                               10, "--strategy", "config,blocks@5")
        moved = [row["run_examples_moved"] for row in rows.values()]
        self.assertGreater(moved[0], 0)
        self.assertEqual(moved[0], moved[1])
        usual = self.strategies("run.yaml", "--examples", 300, "--payload", 10)
        self.assertEqual(next(iter(usual)), "config")

    def test_gradients_and_raw_bytes(self):
        arguments = [*SMALL, "--strategy", "local", "--parameters", 1000, "--batch", 100]
        # 300 examples per worker: 3 steps of 4 workers that send 2·4000·3/4 bytes.
        self.assertIn(" 72000 per epoch", self.succeed(*arguments, "--bytes"))
        self.assertIn(" 70.3 KiB per epoch", self.succeed(*arguments))

    def test_statistics_of_batch_norms(self):
        shared = [*SMALL, "--strategy", "local", "--batch", 100, "workers.batch_norm=shared"]
        # 3 steps; 3 of 4 processes' worth of 2 rows of two doubles for 224 channels, there and back.
        self.assertIn("batch 100: 129024 per epoch", self.succeed(*shared, "--bytes"))
        self.assertEqual(self.strategies(*shared)["local"]["epoch_statistics_bytes"], 129024)
        self.assertNotIn("Statistics", self.succeed(*shared, "--processes", 1))
        self.assertNotIn("Statistics", self.succeed(*shared, "model.norm=group"))
        self.assertNotIn("Statistics", self.succeed(*SMALL, "--strategy", "local"))

    def test_weights_of_workers_that_train_apart(self):
        arguments = [*SMALL, "--strategy", "local", "--parameters", 1000, "--batch", 100]
        out = self.succeed("workers.sync=2", *arguments, "--bytes")  # after 2 steps and after the third
        self.assertIn("Gradients of 1000 parameters, batch 100: 72000 per epoch", out)
        self.assertIn("Weights instead, every 2 steps: 48000 per epoch, 1.5 times less.", out)
        row = json.loads(self.succeed("workers.sync=epoch", *arguments, "--json"))["strategies"][0]
        self.assertEqual(row["epoch_gradient_bytes"], 72000)
        self.assertEqual(row["epoch_weight_bytes"], 24000)

    def test_a_cache_spares_reads(self):
        rows = self.strategies(*SMALL, "--strategy", "local,vanilla", "--cache", "1MB")
        self.assertEqual(rows["local"]["epoch_replicated_source_bytes"], 0)
        self.assertGreater(rows["vanilla"]["epoch_replicated_source_bytes"], 0)

    def test_a_large_run_is_shortened_and_says_so(self):
        out = self.succeed("--examples", 200, "--payload", "110KB", "--workers", 8,
                           "--epochs", 50_000, "--strategy", "vanilla,local")
        self.assertIn("fewer events", out)
        self.assertIn("vanilla: 2001 of 50000", out)

    def test_help_has_examples(self):
        self.assertIn("impart io --examples 50000 --payload 3072", self.succeed("--help"))

    def test_bad_usage(self):
        self.fail_with(2, "give --examples", "--payload", 10)
        self.fail_with(2, "give --payload", "--examples", 10)
        self.fail_with(2, "did you mean 'stripes'?", *SMALL, "--strategy", "strips")
        self.fail_with(2, "drift 2 is not between 0 and 1", *SMALL, "--drift", 2)
        self.fail_with(2, "--workers", "--examples", 9, "--payload", 9, "--workers", 0)
        self.fail_with(2, "does not fit", *SMALL, "--warmup", 99)
        self.fail_with(2, "--csv", *SMALL, "--csv", "--json")
        self.fail_with(2, "more processes than workers", *SMALL, "--processes", 5)
        self.fail_with(2, "missing.yaml", "missing.yaml", *SMALL)
        self.fail_with(2, "did you mean", "epoch=3", *SMALL)


class RunTest(IoTest):
    def fabricate(self, name="run", store="partitioned", excess=0, ledger=True):
        """A run of two workers and 100 examples of 50 bytes; 10 move before each of two epochs."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "config.yaml").write_text(
            f"workers: {{count: 2}}\nepochs: 3\nstore: {{kind: {store}}}\n"
            "partition: {heuristic: random, warmup: 0, interval: 0}\n"
            "exchange: {strategy: partial, fraction: 0.1}\n")
        metrics, ledgers = [], []
        for epoch in range(3):
            moved = 10 if epoch else 0
            metrics.append({"epoch": epoch, "placement": {
                "event": "exchange" if epoch else "random", "moved": moved,
                "messages": 2 if moved else 0}})
            cost = dict.fromkeys(STORAGE, 0)
            if store == "partitioned":
                cost.update(bytes_sent=moved // 2 * 58 + excess, flows_sent=1 if moved else 0,
                            examples_sent=moved // 2, peak_stored=50 + moved // 2,
                            bytes_source=0 if epoch else 2500)
            ledgers.append({"epoch": epoch, "workers": [{"worker": w, **cost} for w in range(2)],
                            "processes": [], "skipped": 0})
        lines = lambda records: "".join(json.dumps(record) + "\n" for record in records)
        (folder / "metrics.jsonl").write_text(lines(metrics))
        if ledger:
            (folder / "ledger.jsonl").write_text(lines(ledgers))
        (folder / "summary.json").write_text(json.dumps(
            {"examples": 100, "payload_bytes_total": 5000, "largest_part": 50}))
        (folder / "DONE").write_text("")
        return name

    def test_predicted_stands_next_to_measured(self):
        out = self.succeed(self.fabricate(), "--bytes")
        row = next(line for line in out.splitlines() if line.startswith("network_bytes")).split()
        self.assertEqual(row[1:4], ["1160", "1160", "+0.00"])
        self.assertNotIn("!", out)
        self.assertIn("peak stored: 55 examples, at most 55 allowed", out)

    def test_deviations_above_one_percent_are_marked(self):
        out = self.succeed(self.fabricate(excess=10))
        row = next(line for line in out.splitlines() if line.startswith("network_bytes"))
        self.assertIn("+5.17 % !", row)
        self.assertNotIn("!", next(line for line in out.splitlines() if line.startswith("flows")))

    def test_several_runs_as_csv_and_json(self):
        names = [self.fabricate("a"), self.fabricate("b", excess=10)]
        rows = list(csv.DictReader(io.StringIO(self.succeed(*names, "--csv"))))
        self.assertEqual([row["run"] for row in rows], ["a"] * 4 + ["b"] * 4)
        network = [float(r["deviation"]) for r in rows if r["quantity"] == "network_bytes"]
        self.assertEqual(network[0], 0)
        self.assertAlmostEqual(network[1], 60 / 1160)
        runs = json.loads(self.succeed(*names, "--json"))
        self.assertEqual(runs[0]["peak_bound"], 55)

    def test_says_when_there_is_nothing_to_compare(self):
        self.assertIn("has no ledger.jsonl", self.succeed(self.fabricate("a", ledger=False)))
        self.assertIn("replicated in memory", self.succeed(self.fabricate("b", store="replicated")))

    def test_bad_runs(self):
        run = self.fabricate()
        (self.folder / "empty").mkdir()
        self.fail_with(65, "empty: is no run directory", "empty")
        self.fail_with(2, "run directories cannot be mixed", run, "epochs=3")
        (self.folder / run / "ledger.jsonl").write_text('{"epoch": 0}\n{"epoch": 1}\n')
        self.fail_with(65, "run/ledger.jsonl:1: \"workers\" is missing", run)
        (self.folder / run / "metrics.jsonl").unlink()
        self.fail_with(65, "metrics.jsonl", run)


if __name__ == "__main__":
    unittest.main()
