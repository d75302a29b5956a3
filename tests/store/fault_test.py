"""Kills processes at random points of exchanges; afterwards each example must have one owner.

    fault_test.py PATH_OF_store_job [unittest options]

One schedule: a job of 4 processes with 4 to 6 workers settles, then exchanges, in every second
schedule on a thread of the store while the processes add up; a random process kills itself
(SIGKILL) at a random event. Sometimes the restarted job is killed while it settles,
too. The last restart settles to the partition of before or after the exchange, as a checkpoint
would say, and must need nothing from the data set: no process lost anything. Then the folders are read by store_directory.py, which shares no code with the store.
IMPART_FAULTS is the number of schedules, IMPART_TEST_SEED draws them.
"""

import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from store_directory import faults_of, read_shelf, read_store

PROGRAM = sys.argv.pop(1) if __name__ == "__main__" else os.environ["STORE_JOB"]
PROCESSES = 4
EXAMPLES, BYTES = 600, 1000
SCHEDULES = int(os.environ.get("IMPART_FAULTS", "8"))
SEED = int(os.environ.get("IMPART_TEST_SEED", "1"))
ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
)
# How often a process sees these in one exchange, roughly.
EVENTS = {
    "any": 900,
    "piece sent": 110,
    "piece received": 110,
    "record written": 110,
    "batch stored": 12,
    "batch acknowledged": 12,
    "forgotten": 110,
    "flow acknowledged": 4,
}
FAST = pathlib.Path("/dev/shm")


def draw_kill(draw):
    event = draw.choice(list(EVENTS))
    return f"{draw.randrange(PROCESSES)}:{event}:{draw.randrange(EVENTS[event])}"


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class FaultTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="impart-fault-", dir=FAST if FAST.is_dir() else None)
        self.addCleanup(shutil.rmtree, self.folder)

    def run_job(self, path, workers, **options):
        command = ["mpirun", "-n", str(PROCESSES), PROGRAM, f"path={path}", f"workers={workers}"]
        command += [f"examples={EXAMPLES}", f"bytes={BYTES}"]
        command += [f"{key}={value}" for key, value in options.items() if value is not None]
        job = subprocess.run(
            command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
        )
        if job.returncode not in (0, 128 + signal.SIGKILL):
            self.fail(f"{command}: exit code {job.returncode}: {job.stdout.decode()}")
        return job.returncode != 0

    def run_schedule(self, number, counts):
        draw = random.Random(f"{SEED}-{number}")
        workers = draw.choice([4, 5, 6])
        path = f"{self.folder}/{number}"
        before = draw.randrange(100)
        exchanges = draw.randrange(1, 4)
        order = draw_kill(draw)
        killed = self.run_job(path, workers, **{"from": before, "to": before + exchanges, "kill": order,
                                                "behind": number % 2})
        counts["killed in an exchange" if killed else "ended before its kill"] += 1
        checkpoint = before + draw.randrange(exchanges + 1)
        if draw.random() < 0.3:
            again = draw_kill(draw) + ":settle"
            counts["killed while settling"] += self.run_job(path, workers, **{"from": checkpoint, "kill": again})
        self.assertFalse(self.run_job(path, workers, **{"from": checkpoint, "costs": self.folder}))
        for rank in range(PROCESSES):
            record = json.loads((pathlib.Path(self.folder) / f"costs-{rank}.json").read_text())
            lost = [cost["bytes_source"] for cost in record["costs"] if cost["bytes_source"] > 0]
            self.assertEqual(lost, [], f"schedule {number}, {order}: lost, and taken from the source")
        parts = read_store(path)
        self.assertEqual(sorted(parts), list(range(workers)))
        self.assertEqual(list(faults_of(parts, EXAMPLES, BYTES, True)), [], f"schedule {number}: {order}")
        sizes = [len(payloads) for payloads in parts.values()]
        self.assertLessEqual(max(sizes) - min(sizes), 1, "the partition has equal parts")
        for worker in parts:
            self.assertTrue(read_shelf(pathlib.Path(path) / f"worker-{worker:04}")[1], "closed in order")
        shutil.rmtree(path)

    def test_every_example_has_one_owner_and_its_bytes_after_any_fault(self):
        counts = collections.Counter()
        for number in range(SCHEDULES):
            self.run_schedule(number, counts)
        print(f"{SCHEDULES} schedules, seed {SEED}: {dict(counts)}; every example had one owner")
        self.assertGreaterEqual(counts["killed in an exchange"], SCHEDULES // 4, "too few faults")

    def test_the_reader_finds_what_is_wrong(self):
        path = f"{self.folder}/wrong"
        self.run_job(path, 4, **{"from": 1})
        parts = read_store(path)
        number, payload = next(iter(parts[2].items()))
        del parts[2][number]
        self.assertEqual(list(faults_of(parts, EXAMPLES, BYTES, True)), [f"example {number} is held by workers []"])
        parts[1][number] = parts[3][number] = payload + b"x"
        found = list(faults_of(parts, EXAMPLES, BYTES, True))
        self.assertEqual(len(found), 3, found)


if __name__ == "__main__":
    unittest.main()
