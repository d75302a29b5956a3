#!/usr/bin/env python3
"""Whole runs that read from files through caches, against runs that hold everything in memory.

    python3 caches_test.py path/to/impart

IMPART_CACHE_RUNS=all kills and resumes every policy on every number of processes.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

import training
from training import SHORT, settings, wait_until, write_images

SIDE = 64
COUNT = 640
PAYLOAD = SIDE * SIDE
KEPT = (1 << 20) // PAYLOAD  # examples that 1 MiB holds
FRAME = 8
GLOBAL = {"partition.heuristic": "random", "partition.interval": 1, "partition.warmup": 0}
LOCAL = {**GLOBAL, "partition.interval": 0}
BASE = {**{key: value for key, value in SHORT.items() if not key.startswith("data.")},
        "epochs": 3, "data.name": "idx", "data.root": "images", "data.limit": COUNT, "workers.batch": 32,
        "workers.reduce": "exact", "importance.ignore": 0, "importance.images": 0,
        "partition.save": "false", **GLOBAL}
FILES = {"store.files": "true", "store.cache": 1}
PIN = {**FILES, "store.cache_policy": "pin"}
SELECTING = {**LOCAL, "epochs": 6, "selection.strategy": "infobatch", "selection.final": 0}
TIERS = ["cache_hits", "cache_hits_disk", "cache_hits_peers", "cache_misses"]
# Policy, cooperative or not, processes.
KILLED = [(policy, cooperative, processes)
          for policy in ["clock", "pin", "importance"] for cooperative in [False, True]
          for processes in [1, 2, 4] if not (policy == "clock" and cooperative)]


def totals(run, key):
    """By epoch, over all workers."""
    lines = (run.path / "ledger.jsonl").read_text().splitlines()
    return [sum(worker[key] for worker in json.loads(line)["workers"]) for line in lines]


class CachesTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        write_images(self.folder / "images", SIDE, COUNT, 40)

    def finish(self, name, *changes, processes=None):
        chosen = dict(BASE)
        for change in changes:
            chosen.update(change)
        self.succeed(*settings(chosen), f"output={name}", processes=processes)
        return self.run_folder(name)

    def impart(self, *arguments):
        done = subprocess.run([training.IMPART, *arguments], cwd=self.folder, capture_output=True, text=True,
                              env=training.ENVIRONMENT)
        return done.returncode, done.stdout + done.stderr

    def predict(self, *arguments):
        code, out = self.impart("io", *settings({**BASE, **PIN, "data.limit": 0}), "--examples", str(COUNT),
                                "--payload", str(PAYLOAD), "--strategy", "config", "--json", *arguments)
        self.assertEqual(code, 0, out)
        return json.loads(out)["strategies"][0]

    def compare_with_recorded(self, name, changes, processes=None):
        """A run whose bytes from the source and from peers another one's losses predict, to the byte."""
        run = self.finish(name, FILES, SELECTING, changes, processes=processes)
        code, out = self.impart("io", "--importance-of", "recorded", *settings({**FILES, **changes}), "--strategy",
                                "config", "--processes", str(processes or 1), "--json")
        self.assertEqual(code, 0, out)
        predicted, summary = json.loads(out)["strategies"][0], run.summary()
        for known, measured in [("run_replicated_source_bytes", "bytes_source"),
                                ("run_peer_bytes", "bytes_peers"), ("run_visits", "visits")]:
            self.assertEqual(round(predicted[known]), summary[measured], f"{name}: {measured}")
        return run


class OneProcessTest(CachesTest):
    def test_pinned_hits_are_the_size_of_the_cache_and_as_predicted(self):
        whole = self.finish("whole")
        pinned = self.finish("pinned", PIN)
        self.assertEqual(pinned.sha(), whole.sha())
        self.assertEqual(totals(pinned, "cache_hits"), [0, KEPT, KEPT])
        self.assertEqual(totals(pinned, "bytes_source"),
                         [COUNT * PAYLOAD] + 2 * [(COUNT - KEPT) * PAYLOAD])
        summary = pinned.summary()
        self.assertEqual(summary["cache_hits"], 2 * KEPT)
        self.assertEqual(summary["bytes_source"], sum(totals(pinned, "bytes_source")))
        predicted = self.predict("--processes", "1")["run_replicated_source_bytes"]
        self.assertLess(abs(predicted / summary["bytes_source"] - 1), 0.01)
        clock = self.finish("clock", FILES)
        self.assertEqual(clock.sha(), whole.sha())
        self.assertLess(sum(totals(clock, "cache_hits")), 2 * KEPT)

    def test_a_disk_keeps_what_it_has_for_the_next_run_and_checks_it(self):
        disk = {**PIN, "store.cache": 0, "store.cache_path": "cache", "store.cache_disk": 1}
        first = self.finish("first", disk)
        self.assertEqual(totals(first, "cache_hits_disk"), [0, KEPT, KEPT])
        code, out = self.impart("data", "cache", "verify", "cache")
        self.assertEqual(code, 0, out)
        self.assertIn(f"{KEPT} payloads", out)
        payloads = self.folder / "cache" / "process-0000" / "payloads"
        data = bytearray(payloads.read_bytes())
        data[PAYLOAD + 7] ^= 1
        payloads.write_bytes(data)
        self.assertEqual(self.impart("data", "cache", "verify", "cache")[0], 65)
        again = self.finish("again", disk)
        self.assertEqual(again.sha(), first.sha())
        self.assertEqual(totals(again, "cache_hits_disk"), [KEPT - 1, KEPT, KEPT])
        self.assertEqual(self.impart("data", "cache", "clear", "cache")[0], 0)
        self.assertFalse((self.folder / "cache").exists())

    def test_what_a_selection_visits_most_is_kept_and_answers_more(self):
        """A third of the data fits. What makes room for others is not missed before."""
        selecting = {**LOCAL, "epochs": 8, "selection.strategy": "infobatch", "selection.final": 0}
        shares = {}
        for policy in ["pin", "importance"]:
            run = self.finish(policy, FILES, selecting, {"store.cache_policy": policy})
            later = [sum(totals(run, tier)[2:]) for tier in TIERS]
            shares[policy] = later[0] / sum(later)
        self.assertGreater(shares["importance"], shares["pin"] + 0.03)

    def test_what_is_read_follows_from_the_losses_of_a_run_without_a_cache(self):
        recorded = self.finish("recorded", FILES, SELECTING, {"store.cache": 0, "importance.history": "true"})
        for policy in ["pin", "importance"]:
            run = self.compare_with_recorded(policy, {"store.cache_policy": policy})
            self.assertEqual(run.sha(), recorded.sha())
            self.assertLess(run.summary()["bytes_source"], recorded.summary()["bytes_source"])

    def test_what_does_not_go_together_is_refused(self):
        for wrong, said in [({"store.cooperative": "true"}, "store.cache_policy: pin"),
                            ({"store.cache_path": "x"}, "store.cache_disk"),
                            ({"store.cache_policy": "pine"}, "did you mean 'pin'")]:
            self.fail_with(2, said, *settings({**BASE, **FILES, **wrong}), "output=wrong")


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class ProcessesTest(CachesTest):
    def test_cooperating_caches_train_the_same_and_read_the_source_once(self):
        whole = self.finish("whole")
        for processes in [2, 4]:
            with self.subTest(processes=processes):
                run = self.finish(f"run-{processes}", PIN, {"store.cooperative": "true"}, processes=processes)
                self.assertEqual(run.sha(), whole.sha())
                kept = min(COUNT, processes * KEPT)
                self.assertEqual(totals(run, "cache_misses"), [COUNT, COUNT - kept, COUNT - kept])
                peers = totals(run, "cache_hits_peers")
                self.assertEqual([a + b for a, b in zip(totals(run, "cache_hits"), peers)], [0, kept, kept])
                self.assertEqual(totals(run, "bytes_peers"), [n * (PAYLOAD + FRAME) for n in peers])
                predicted = self.predict("store.cooperative=true", "--processes", str(processes))
                summary = run.summary()
                self.assertLess(abs(predicted["run_replicated_source_bytes"] / summary["bytes_source"] - 1), 0.01)
                self.assertLess(abs(predicted["run_peer_bytes"] / summary["bytes_peers"] - 1), 0.1)


    def test_what_peers_send_follows_from_the_losses_of_one_process(self):
        self.finish("recorded", FILES, SELECTING, {"store.cache": 0, "importance.history": "true"})
        self.compare_with_recorded("peers", {"store.cache_policy": "importance", "store.cooperative": "true"},
                                   processes=2)


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class KilledTest(CachesTest):
    def kill_and_resume(self, name, changes, processes, resumed_on):
        """A run that is killed some time after its second epoch, and goes on on so many processes."""
        job = self.start(*settings({**BASE, **changes}), f"output={name}", processes=processes)
        run = self.run_folder(name)
        self.assertTrue(wait_until(lambda: run.lines() >= 2 or job.is_over(), 60), job.texts())
        time.sleep(0.2 * random.Random(name).random())
        for rank in job.ranks().values():
            os.kill(rank, signal.SIGKILL)
        job.wait()
        self.succeed("--resume", name, processes=resumed_on)
        return run

    def test_a_killed_job_goes_on_with_its_disk_and_trains_the_same(self):
        selecting = {"epochs": 8, "selection.strategy": "infobatch", **LOCAL}
        exchanging = {"epochs": 8, "exchange.strategy": "partial", "exchange.fraction": 0.2, **LOCAL}
        expected = {name: self.finish(name, changes).sha()
                    for name, changes in [("selecting", selecting), ("exchanging", exchanging)]}
        chosen = KILLED if os.environ.get("IMPART_CACHE_RUNS") == "all" else [
            ("importance", True, 2), ("clock", False, 4)]
        for at, (policy, cooperative, processes) in enumerate(chosen):
            base = selecting if policy == "importance" else exchanging
            changes = {**base, **FILES, "store.cache": 0, "store.cache_path": f"cache-{at}",
                       "store.cache_disk": 1, "store.cache_policy": policy,
                       "store.cooperative": str(cooperative).lower()}
            resumed_on = random.Random(at).choice([1, 2, 4])
            with self.subTest(policy=policy, cooperative=cooperative, processes=processes,
                              resumed_on=resumed_on):
                run = self.kill_and_resume(f"run-{at}", changes, processes, resumed_on)
                self.assertEqual(run.sha(), expected["selecting" if base is selecting else "exchanging"])
                self.assertGreater(sum(totals(run, "cache_hits_disk")), 0)


if __name__ == "__main__":
    unittest.main()
