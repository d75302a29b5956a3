#!/usr/bin/env python3
"""Runs `impart io` as a user would: python3 io_command_test.py path/to/impart"""

import csv
import io
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

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
        lines = self.succeed(*SMALL, "--all").splitlines()
        names = [line.split()[0] for line in lines if line.strip()]
        for name in ["vanilla", "local", "stripes@5", "stripes@10", "stripes@30",
                     "sticky-stripes@5", "blocks@10", "snake@10", "balanced@10",
                     "sticky-class-stripes@10", "partial@0.1", "partial@0.3", "is@0.1",
                     "is-pair@0.3", "ilag-pair@0.1", "balance-pair@0.3"]:
            self.assertEqual(names.count(name), 2, name)
        start = next(i for i, line in enumerate(lines) if line.startswith("strategy"))
        table = lines[start:lines.index("", start)]
        self.assertEqual(len({len(line) for line in table}), 1, "\n".join(table))

    def test_by_default_ten_strategies_fit_into_100_columns_and_are_sorted(self):
        lines = self.succeed(*SMALL, "--bytes").splitlines()
        self.assertLessEqual(max(map(len, lines)), 100, lines)
        start = next(i for i, line in enumerate(lines) if line.startswith("strategy"))
        table = [line.split() for line in lines[start + 1:lines.index("", start)]]
        self.assertEqual(sorted(row[0] for row in table), [
            "balance-pair@0.1", "ilag-pair@0.1", "is-pair@0.1", "is@0.1", "local", "partial@0.1",
            "sticky-blocks@10", "sticky-stripes@10", "stripes@10", "vanilla"])
        sent = [int(row[-2]) for row in table]
        self.assertEqual(sent, sorted(sent))
        self.assertEqual((table[0][0], table[-1][0]), ("local", "vanilla"))

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
        all_rows = self.strategies(*SMALL, "--interval", "4,8", "--fraction", 0.2)
        self.assertLessEqual({"stripes@4", "stripes@8", "snake@8", "is@0.2"}, set(all_rows))
        self.assertNotIn("snake@10", all_rows)

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


class SecondsTest(IoTest):
    MACHINE = ["--network", "1Gb/s", "--latency", "1ms", "--disk", "1MB/s", "--step", "100ms"]

    def test_seconds_follow_from_rates(self):
        # A node sends 30 of 120 examples of 3080 bytes at 125 MB/s, in one message: 1.7392 ms. It
        # has 300 examples: 10 steps of 32, 1 s, and a third of that for the importance pass.
        rows = self.strategies(*SMALL, *self.MACHINE, "--store", "memory", "--batch", 32)
        row = rows["is-pair@0.1"]
        self.assertAlmostEqual(row["epoch_exchange_seconds"], 1.7392e-3)
        self.assertEqual(row["epoch_exchange_hidden_seconds"], 0)
        self.assertAlmostEqual(row["epoch_compute_seconds"], 1)
        self.assertAlmostEqual(row["epoch_forward_seconds"], 1 / 3)
        self.assertAlmostEqual(row["epoch_seconds"], 4 / 3 + 1.7392e-3)
        self.assertAlmostEqual(row["epoch_node_seconds"], 4 * row["epoch_seconds"])
        self.assertAlmostEqual(row["run_seconds"], row["first_seconds"] + 30 * row["epoch_seconds"])
        # In directories a node reads its 300 examples of 3072 bytes, twice, at 1 MB/s: all but 4/3 s
        # of it hides.
        there = self.strategies(*SMALL, *self.MACHINE, "--batch", 32)["is-pair@0.1"]
        self.assertAlmostEqual(there["epoch_reading_seconds"], 600 * 3072e-6)
        self.assertAlmostEqual(there["epoch_reading_hidden_seconds"], 4 / 3)

    def test_steps_gradients_and_arrivals_count(self):
        some = [*SMALL, *self.MACHINE, "--store", "memory", "--strategy", "partial@0.1"]
        row = self.strategies(*some, "--steps-per-epoch", 7, "--parameters", 1000)["partial@0.1"]
        self.assertAlmostEqual(row["epoch_compute_seconds"], 0.7)
        # 7 times 6000 bytes at 125 MB/s and 6 messages of 1 ms.
        self.assertAlmostEqual(row["epoch_gradient_seconds"], 7 * (4.8e-5 + 6e-3))
        self.assertEqual(row["epoch_gradient_seconds"], row["epoch_gradient_hidden_seconds"])
        last = self.strategies("exchange.arrivals_last=true", *some)["partial@0.1"]
        self.assertGreater(last["epoch_exchange_seconds"], 0)
        self.assertEqual(last["epoch_exchange_seconds"], last["epoch_exchange_hidden_seconds"])

    def test_shared_statistics_are_waited_for(self):
        some = [*SMALL, *self.MACHINE, "--strategy", "local", "--steps-per-epoch", 7]
        own = self.strategies(*some)["local"]
        shared = self.strategies("workers.batch_norm=shared", *some)["local"]
        self.assertEqual(own["epoch_statistics_seconds"], 0)
        # 7 times two rounds: 6 messages of 1 ms, and twice 224 channels of two doubles at 125 MB/s.
        self.assertAlmostEqual(shared["epoch_statistics_seconds"], 7 * 2 * (6e-3 + 7168 / 125e6))
        self.assertAlmostEqual(shared["epoch_seconds"] - own["epoch_seconds"],
                               shared["epoch_statistics_seconds"])

    def test_a_machine_has_a_name_or_a_file_and_flags_win(self):
        def machine(*args):
            done = self.succeed(*SMALL, "--strategy", "local", "--json", *args)
            return json.loads(done)["machine"]
        self.assertEqual(machine("--machine", "ethernet-1g"),
                         {"disk": 5e8, "network": 1.25e8, "latency": 5e-5, "file_system": None,
                          "step": None})
        (self.folder / "own.yaml").write_text("network: 8Gb/s\nstep: 2ms\n")
        own = machine("--machine", "own.yaml", "--step", "3ms", "--file-system", "1GB/s")
        self.assertEqual((own["network"], own["step"], own["file_system"]), (1e9, 3e-3, 1e9))

    def test_the_table_is_narrow_and_sorted_and_ends_with_advice(self):
        lines = self.succeed(*SMALL, "--network", "1Mb/s", "--step", "10ms").splitlines()
        self.assertLessEqual(max(len(line) for line in lines if not line.startswith("Take")), 100)
        start = next(i for i, line in enumerate(lines) if line.startswith("strategy"))
        names = [line.split()[0] for line in lines[start + 1:lines.index("", start)]]
        self.assertEqual((len(names), names[0], names[-1]), (10, "local", "vanilla"))
        advice = next(line for line in lines if line.startswith("Take "))
        self.assertRegex(advice, "vanilla waits .* s of .* s an epoch for its exchange")
        fast = self.succeed(*SMALL, "--machine", "fabric-200g", "--step", "250ms")
        self.assertIn("there is nothing to gain from moving less", fast)
        self.assertNotIn("What moves", fast)
        self.assertIn("What moves", self.succeed(*SMALL, "--machine", "fabric-200g", "--all"))

    def test_the_example_of_the_help_runs(self):
        text = self.succeed("--help")
        command = text[text.index("impart io --examples 1281167"):text.index("in seconds")]
        # With fewer examples: sanitizers take minutes for as many.
        out = self.succeed(*command.replace("\\\n", " ").replace("1281167", "1281").split()[2:])
        self.assertIn("128 nodes: network 25 Gb/s", out)

    def test_wrong_rates_are_explained(self):
        self.fail_with(2, "--network: '25Gbps' is no rate; did you mean '25Gb/s'?", *SMALL,
                       "--network", "25Gbps")
        self.fail_with(2, "--latency: '5' is no time: it needs a unit", *SMALL, "--latency", 5)
        self.fail_with(2, "no machine of that name; did you mean 'ethernet-1g'?", *SMALL,
                       "--machine", "ethrenet-1g")
        self.fail_with(2, "unknown store 'memroy', did you mean 'memory'?", *SMALL, *self.MACHINE,
                       "--store", "memroy")
        self.fail_with(2, "--steps-per-epoch is for seconds", *SMALL, "--steps-per-epoch", 3)
        (self.folder / "own.yaml").write_text("netwrok: 8Gb/s\n")
        self.fail_with(2, "own.yaml:1:1: unknown key of a machine 'netwrok'", *SMALL, "--machine",
                       "own.yaml")


class PictureTest(IoTest):
    FEW = [*SMALL, "--strategy", "vanilla,is-pair@0.1", "--network", "1Gb/s"]

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_seconds_are_drawn_against_nodes(self):
        self.succeed(*self.FEW, "-o", "seconds.svg")
        drawn = ElementTree.fromstring((self.folder / "seconds.svg").read_text())
        words = {text.strip() for text in drawn.itertext()}
        self.assertLessEqual({"vanilla", "is-pair@0.1", "seconds of an epoch", "nodes", "1024"}, words)
        self.assertNotIn("2048", words)  # there are 1200 examples

    def test_what_cannot_be_drawn(self):
        self.fail_with(2, "ends in .svg", *self.FEW, "-o", "seconds.png")
        self.fail_with(2, "-o draws seconds", *SMALL, "-o", "seconds.svg")
        self.assertEqual(os.listdir(self.folder), [])


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


class RecordedTest(IoTest):
    """Four examples of which two are easy: a run of one worker that left out one of them."""
    LOSSES = [[1, None, 2], [2, 2, None], [8, 8, 8], [9, 9, 9]]
    SELECTING = ["selection.strategy=infobatch", "selection.share=0.5", "selection.final=0"]

    def record(self, name="run", losses=None, **summary):
        folder = self.folder / name
        folder.mkdir()
        (folder / "config.yaml").write_text(
            "workers: {count: 1}\nepochs: 3\npartition: {heuristic: random, warmup: 0, interval: 0}\n"
            "importance: {history: true, ignore: 0}\nstore: {files: true, cache: 0}\n")
        losses = losses or self.LOSSES
        header = str({"descr": "<f4", "fortran_order": False, "shape": (len(losses), len(losses[0]))})
        header = header.encode().ljust(117) + b"\n"
        values = [float("nan") if loss is None else loss for row in losses for loss in row]
        (folder / "history.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
                                             + header + struct.pack(f"<{len(values)}f", *values))
        (folder / "summary.json").write_text(
            json.dumps({"examples": 4, "payload_bytes_total": 400, **summary}))
        return name

    def test_a_run_brings_its_configuration_its_sizes_and_its_losses(self):
        run = self.record()
        all_visits = self.strategies("--importance-of", run, "--strategy", "config")["config"]
        self.assertEqual((all_visits["run_visits"], all_visits["run_replicated_source_bytes"]), (12, 1200))
        selected = self.strategies("--importance-of", run, *self.SELECTING, "--strategy", "config")["config"]
        # After the first epoch one of the two easy examples is left out.
        self.assertEqual((selected["run_visits"], selected["run_visits_hidden"]), (10, 2))
        self.assertEqual(selected["run_replicated_source_bytes"], 1000)

    def test_another_configuration_and_other_sizes_win(self):
        run = self.record()
        (self.folder / "other.yaml").write_text(
            "epochs: 2\nworkers: {count: 1}\npartition: {heuristic: random, warmup: 0, interval: 0}\n"
            "importance: {ignore: 0}\n")
        row = self.strategies("other.yaml", "--importance-of", run, "--payload", 10, "--strategy", "config")
        self.assertEqual(row["config"]["run_replicated_source_bytes"], 80)

    def test_what_is_kept_is_not_read_again(self):
        run = self.record()
        pinned = self.strategies("--importance-of", run, "store.cache_policy=pin", "store.cache=1", "--cache", 200,
                                 "--strategy", "config")["config"]
        self.assertEqual(pinned["run_cache_hits"], 4)
        self.assertEqual(pinned["run_replicated_source_bytes"], 800)

    def test_the_output_says_whose_losses_decided(self):
        run = self.record()
        self.assertIn("importance of run", self.succeed("--importance-of", run))
        said = json.loads(self.succeed("--importance-of", run, "--json"))
        self.assertEqual((said["importance_of"], said["drift"]), ("run", None))

    def test_what_does_not_fit_is_refused(self):
        run = self.record()
        fail = lambda code, message, *args: self.fail_with(code, message, "--importance-of", run, *args)
        fail(2, "there are 5 examples, and run had 4", "--examples", 5)
        fail(2, "there are 2 workers, and run had 1", "--workers", 2)
        fail(2, "run has losses of 3; give --epochs 3", "--epochs", 4)
        fail(2, "kakurenbo looks at whether visits were right", "selection.strategy=kakurenbo")
        fail(2, "forgetting looks at more than losses", "importance.notion=forgetting", "--strategy", "stripes")
        fail(2, "run directories are compared", run)
        fail(2, "--drift", "--drift", 0.1)
        fail(2, "--importance-of", "-o", "nodes.svg", "--network", "1Gb/s")

    def test_damaged_recordings_are_bad_data(self):
        history = self.folder / self.record("cut") / "history.npy"
        history.write_bytes(history.read_bytes()[:-4])
        self.fail_with(65, "cut/history.npy: its header promises 48 bytes of data, but there are 44",
                       "--importance-of", "cut")
        self.record("other", examples=5)
        self.fail_with(65, "history.npy: is of 4 examples; summary.json says 5", "--importance-of", "other")
        (self.folder / self.record("none") / "history.npy").unlink()
        self.fail_with(2, "importance.history=true", "--importance-of", "none")
        self.fail_with(65, "missing: is no run directory", "--importance-of", "missing")


if __name__ == "__main__":
    unittest.main()
