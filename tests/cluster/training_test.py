"""A run whose processes are on several hosts, one of which may be cut off: python3 training_test.py path/to/impart"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from namespaced_hosts import NamespacedHosts  # noqa: E402

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
HOSTS = 4
# Parts in memory, with examples that change hosts before every epoch; sums in a fixed order.
RUN = ["quick", "threads=1", "epochs=3", "data.train_examples=320", "data.test_examples=50", "model.name=mlp",
       "workers.batch=8", "workers.reduce=exact", "store.kind=partitioned", "importance.ignore=0",
       "partition.warmup=1", "partition.interval=1"]
TIMEOUT = 3  # seconds
LIMIT = 5  # seconds after it: everybody has ended


def wait_until(holds, seconds):
    """Whether it came to be."""
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


def processes_with(argument):
    """Those that have it on their command line, but mpirun and its daemons."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # ended meanwhile
        if argument in command and os.path.basename(command[0]).startswith("impart"):
            found.append(int(process.name))
    return found


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class TrainingTest(unittest.TestCase):
    def hosts(self):
        hosts = NamespacedHosts(HOSTS)
        self.addCleanup(hosts.remove)
        if hosts.reason:
            self.skipTest(hosts.reason)
        return hosts

    def folder(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def test_hosts_that_exchange_examples_train_what_one_process_does(self):
        hosts, folder = self.hosts(), self.folder()
        apart = self.train(folder / "apart", hosts.mpirun(folder))
        together = self.train(folder / "together", [])
        self.assertEqual((apart["processes"], together["processes"]), (HOSTS, 1))
        self.assertGreater(apart["examples_moved"], 0)
        self.assertEqual(apart["weights_sha256"], together["weights_sha256"])

    def test_a_host_that_is_cut_off_is_named_and_the_job_ends(self):
        hosts, folder = self.hosts(), self.folder()
        setting = f"output={folder / 'run'}"
        # Every process leaves its exit code: mpirun waits for the host that it does not reach.
        job = 'code="$0/$OMPI_COMM_WORLD_RANK.code"; "$@" 2> "$0/$OMPI_COMM_WORLD_RANK.err"; echo $? > "$code"'
        command = [*hosts.mpirun(folder), "sh", "-c", job, str(folder), IMPART, "train", *RUN, "epochs=100000",
                   f"comm.timeout={TIMEOUT}", setting]
        mpirun = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (hosts.remove(), mpirun.wait()))
        metrics = folder / "run" / "metrics.jsonl"
        self.assertTrue(wait_until(lambda: metrics.exists() and metrics.read_text().count("\n") > 2, 60), "no epochs")
        hosts.cut(HOSTS - 1)
        cut_at = time.monotonic()
        self.assertTrue(wait_until(lambda: not processes_with(setting), TIMEOUT + LIMIT), "somebody waits for ever")
        print(f"cut: ended after {time.monotonic() - cut_at:.2f} s")
        time.sleep(0.2)  # shells write what their programs ended with
        codes = {int(path.stem): int(path.read_text()) for path in folder.glob("*.code")}
        # mpirun ends the neighbours of who ends first; it does not reach the host that was cut off.
        self.assertEqual(set(codes.values()), {75}, codes)
        self.assertIn(HOSTS - 1, codes)
        self.assertTrue(codes.keys() - {HOSTS - 1}, codes)
        said = "".join((folder / f"{rank}.err").read_text() for rank in codes if rank != HOSTS - 1)
        self.assertRegex(said, rf"process {HOSTS - 1} of {HOSTS} was lost: nothing was heard of it for \d+ s \(comm.timeout\)")

    def train(self, output, mpirun):
        command = [*mpirun, IMPART, "train", *RUN, f"output={output}"]
        done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((output / "summary.json").read_text())


if __name__ == "__main__":
    unittest.main()
