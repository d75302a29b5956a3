#!/usr/bin/env python3
"""Whole runs whose examples live with their workers, against runs that hold everything.

    python3 store_test.py path/to/impart

IMPART_FAULTS (2) says how many jobs are killed and resumed, IMPART_TEST_SEED (1) draws the moments.
IMPART_STORE_RUNS=all has parts in memory and on disk for every number of processes.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
import unittest

import training
from training import SHORT, on_small_images, settings, wait_until

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "store"))
from store_directory import read_store  # noqa: E402

FAULTS = int(os.environ.get("IMPART_FAULTS", "2"))
SEED = int(os.environ.get("IMPART_TEST_SEED", "1"))
SHAPES = {**SHORT, "epochs": 4, "data.train_examples": 163, "partition.warmup": 1, "importance.ignore": 0,
          "workers.reduce": "exact"}
BASE = on_small_images(SHAPES)
PARTS = {"store.kind": "partitioned"}
LOCAL = {"partition.heuristic": "random", "partition.interval": 0, "partition.warmup": 0}
HEURISTICS = {
    "global": {"partition.heuristic": "random", "partition.interval": 1, "partition.warmup": 0},
    "local": LOCAL,
    "stripes": {"partition.heuristic": "stripes"},
    "sticky stripes": {"partition.heuristic": "stripes", "partition.sticky": "true"},
    "blocks": {"partition.heuristic": "blocks"},
    "sticky blocks": {"partition.heuristic": "blocks", "partition.sticky": "true"},
}
EXCHANGES = {strategy: {**LOCAL, "exchange.strategy": strategy, "exchange.fraction": 0.3}
             for strategy in ["partial", "is", "is-pair", "ilag-pair", "balance-pair"]}
PAYLOAD = training.SMALL_SIDE ** 2
FRAME = 8
ACKNOWLEDGEMENT = 8


def ledger(run):
    return [json.loads(line) for line in (run.path / "ledger.jsonl").read_text().splitlines()]


def total(lines, key):
    return sum(worker[key] for line in lines for worker in line["workers"])


def wire_bytes(placement):
    """Each flow here is one batch, which is acknowledged once."""
    return (placement["moved"] * (PAYLOAD + FRAME) + placement["messages"] * ACKNOWLEDGEMENT)


class StoreTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.make_small_images()

    def finish(self, base, name, processes=None, **changes):
        self.succeed(*settings(base, **changes), f"output={name}", processes=processes)
        run = self.run_folder(name)
        self.assertEqual(run.markers(), ["DONE"])
        return run


class StrategyTest(StoreTest):
    """From parts every strategy trains the same as from the whole."""

    def check_strategies(self, strategies):
        for name, strategy in strategies.items():
            with self.subTest(strategy=name):
                base = {**BASE, **strategy}
                whole = self.finish(base, f"{name} whole")
                slug = name.replace(" ", "-")
                parts = self.finish(
                    {**base, **PARTS, "name": slug, "store.path": "parts/{name}"}, f"{slug} parts")
                self.assertTrue((self.folder / "parts" / slug / "worker-0003").is_dir())
                self.assertEqual(parts.sha(), whole.sha())
                self.assertEqual(parts.partitions(), whole.partitions())
                self.check_ledger(parts, strategy)

    def check_ledger(self, run, strategy):
        """What the ledger has counted is what was decided."""
        lines = ledger(run)
        for line, record in zip(lines, run.metrics()):
            placement = record.get("placement", {"moved": 0, "messages": 0})
            self.assertEqual(total([line], "examples_sent"), placement["moved"])
            self.assertEqual(total([line], "flows_sent"), placement["messages"])
            self.assertEqual(total([line], "bytes_sent"), wire_bytes(placement))
            self.assertEqual(total([line], "bytes_received"), total([line], "bytes_sent"))
            if "pair" in strategy.get("exchange.strategy", ""):
                for worker in line["workers"]:
                    self.assertLessEqual(worker["flows_sent"], 1)
                    self.assertLessEqual(worker["flows_received"], 1)
        summary = run.summary()
        self.assertEqual(summary["examples_moved"], total(lines, "examples_sent"))
        self.assertEqual(summary["payload_bytes_total"], 163 * PAYLOAD)
        part = -(-163 // 4)
        fraction = strategy.get("exchange.fraction", 1)
        peak = max(worker["peak_stored"] for line in lines for worker in line["workers"])
        self.assertLessEqual(peak, part + -(-part * fraction // 1))
        self.assertGreaterEqual(peak, part)
        seconds = [process["seconds"] for line in lines for process in line["processes"]]
        self.assertGreater(sum(s["forward"] for s in seconds), 0)
        wants_pass = strategy.get("exchange.strategy") in ("is", "is-pair")
        self.assertEqual(sum(s["importance_pass"] for s in seconds) > 0, wants_pass)


class HeuristicsTest(StrategyTest):
    def test_every_heuristic_trains_the_same_from_parts_as_from_the_whole(self):
        self.check_strategies(HEURISTICS)


class ExchangesTest(StrategyTest):
    def test_every_exchange_trains_the_same_from_parts_as_from_the_whole(self):
        self.check_strategies(EXCHANGES)


class SameRunTest(StoreTest):
    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_any_number_of_processes_trains_the_same_from_parts(self):
        base = {**BASE, "exchange.strategy": "is", "exchange.fraction": 0.3,
                "partition.interval": 2}
        whole = self.finish(base, "whole")
        chosen = [(1, ""), (2, "parts"), (4, "parts")]  # of two in memory the next test has some
        if os.environ.get("IMPART_STORE_RUNS") == "all":
            chosen = [(processes, path) for processes in [1, 2, 4] for path in ["", "parts"]]
        for processes, path in chosen:
            with self.subTest(processes=processes, path=path):
                run = self.finish({**base, **PARTS, "store.path": path}, f"run-{processes}-{path}",
                                  processes)
                shutil.rmtree(self.folder / "parts", ignore_errors=True)
                self.assertEqual(run.sha(), whole.sha())
                placements = [r["placement"] for r in run.metrics() if "placement" in r]
                self.assertEqual(total(ledger(run), "bytes_sent"), sum(map(wire_bytes, placements)))

    def test_arrivals_may_come_while_the_first_steps_are_run(self):
        base = {**BASE, "exchange.strategy": "partial", "exchange.fraction": 0.3,
                "partition.interval": 0, "partition.heuristic": "random",
                "exchange.arrivals_last": "true"}
        whole = self.finish(base, "whole")
        self.assertNotEqual(whole.sha(), self.finish({**base, "exchange.arrivals_last": "false"},
                                                     "shuffled").sha())
        self.assertEqual(whole.summary()["seconds_exchange_hidden"], 0)
        for processes in [None, 2, 4] if shutil.which("mpirun") else [None]:
            parts = self.finish({**base, **PARTS}, f"parts-{processes}", processes)
            self.assertEqual(parts.sha(), whole.sha())
            lines = ledger(parts)
            placements = [r["placement"] for r in parts.metrics() if "placement" in r]
            self.assertEqual(total(lines, "bytes_sent"), sum(map(wire_bytes, placements)))
            hidden = [line["processes"][0]["exchange_hidden"] for line in lines]
            self.assertGreater(sum(hidden), 0)
            self.assertAlmostEqual(parts.summary()["seconds_exchange_hidden"], sum(hidden))

    def test_reading_from_files_at_every_visit_trains_the_same(self):
        whole = self.finish(BASE, "whole")
        files = self.finish(BASE, "files", store__files="true", store__cache=0)
        self.assertEqual(files.sha(), whole.sha())

    def test_background_threads_change_nothing(self):
        runs = [self.finish({**BASE, **PARTS}, f"threads-{threads}", data__decode_threads=threads)
                for threads in [0, 1, 3]]
        self.assertEqual(len({run.sha() for run in runs}), 1)


class PartsTest(StoreTest):
    """What is in store.path."""

    MOVING = {**PARTS, "store.path": "parts", "exchange.strategy": "partial",
              "exchange.fraction": 0.5, "partition.interval": 0, "partition.heuristic": "random"}
    BASE = {**BASE, **MOVING}

    def owners(self):
        """Who holds each example: {id: [workers]}; the reader checks every payload's hash."""
        owners = {}
        for worker, payloads in read_store(self.folder / "parts").items():
            for number in payloads:
                owners.setdefault(number, []).append(worker)
        return owners

    def check_parts(self, run):
        """Every example is in the folder of the worker that owned it last, and nowhere else."""
        last = sorted(run.partitions().items())[-1][1].splitlines()[1:]
        expected = {int(line.split(",")[0]): [int(line.split(",")[1])] for line in last}
        self.assertEqual(self.owners(), expected)


class FolderTest(PartsTest):
    """What happens to what is in store.path."""

    def test_holds_every_example_once_with_its_owner(self):
        self.check_parts(self.finish(self.BASE, "run"))

    def test_a_later_run_starts_from_the_parts_that_are_there(self):
        self.finish(self.BASE, "first")
        again = self.finish(self.BASE, "second", seed=7)
        self.assertEqual(total(ledger(again), "bytes_source"), 0)
        self.check_parts(again)

    def test_parts_of_other_data_are_left_alone(self):
        self.finish(self.BASE, "run")
        before = self.owners()
        self.fail_with(2, "parts/worker-", *settings(self.BASE, data__limit=164),
                       "output=other")
        self.assertEqual(self.owners(), before)

    def test_a_run_that_is_stopped_while_examples_move_goes_on_from_its_parts(self):
        base = {**SHAPES, **self.MOVING, "exchange.arrivals_last": "true", "epochs": 6,
                "data.train_examples": 400, "partition.save": "true"}
        whole = self.finish({**base, "store.path": "whole"}, "whole")
        started = self.start(*settings(base), "output=run")
        run = self.run_folder("run")
        wait_until(lambda: run.lines() >= 2 or started.is_over(), 60)
        started.signal(signal.SIGTERM)
        self.assertEqual(started.wait(), 85)
        self.succeed("--resume", "run")
        self.assertEqual(run.sha(), whole.sha())
        self.check_parts(run)

    def test_a_damaged_part_is_noticed_and_then_read_again_from_the_data_set(self):
        first = self.finish(self.BASE, "run")
        payloads = self.folder / "parts" / "worker-0002" / "payloads"
        data = bytearray(payloads.read_bytes())
        data[PAYLOAD + 10] ^= 1
        payloads.write_bytes(data)
        self.fail_with(65, f"worker-0002/payloads: offset {PAYLOAD}: the {PAYLOAD} bytes of example",
                       *settings(self.BASE), "output=damaged")
        again = self.finish(self.BASE, "again")
        self.assertEqual(again.sha(), first.sha())
        self.check_parts(again)

    def test_a_full_disk_says_which_file_and_loses_nothing(self):
        run = self.finish(self.BASE, "run")
        for behind in ["false", "true"]:
            large = settings({**SHAPES, **self.MOVING}, seed=8, store__path=f"narrow-{behind}",
                             exchange__arrivals_last=behind)
            code, _, err = self.train_with_limit(60_000, *large, f"output=full-{behind}")
            self.assertEqual(code, 74, err)
            self.assertIn(f"narrow-{behind}/worker-", err)
        self.check_parts(run)

    def train_with_limit(self, file_bytes, *arguments):
        """No file may grow beyond so many bytes."""
        import resource
        import subprocess

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

        done = subprocess.run([training.IMPART, "train", *arguments], cwd=self.folder,
                              env=training.ENVIRONMENT, capture_output=True, text=True,
                              preexec_fn=limit)
        return done.returncode, done.stdout, done.stderr


class KilledJobTest(PartsTest):
    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_a_job_killed_at_any_moment_goes_on_with_every_example_once(self):
        base = {**SHAPES, **self.MOVING, "epochs": 12, "data.train_examples": 800, "workers.reduce": "fast",
                "workers.batch": 100, "partition.save": "true"}
        started = time.monotonic()
        whole = self.finish({**base, "store.path": "whole"}, "whole", 4)
        seconds = time.monotonic() - started
        random.seed(SEED)
        for fault in range(FAULTS):
            with self.subTest(fault=fault, seed=SEED):
                shutil.rmtree(self.folder / "parts", ignore_errors=True)
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                base["exchange.arrivals_last"] = "true" if fault % 2 else "false"
                self.kill_once(base, random.uniform(0.2, 1.0) * seconds)
                run = self.run_folder("run")
                resume = (run.path / "config.yaml").exists()
                arguments = ["--resume", "run"] if resume else [*settings(base), "output=run"]
                self.succeed(*arguments, processes=random.choice([1, 2, 4]))
                self.check_parts(run)
                self.assertEqual(run.partitions(), whole.partitions())

    def kill_once(self, base, seconds):
        job = self.start(*settings(base), "output=run", processes=4)
        wait_until(job.is_over, seconds)
        ranks = job.ranks()
        if ranks:
            try:
                os.kill(random.choice(list(ranks.values())), signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.wait()


if __name__ == "__main__":
    unittest.main()
