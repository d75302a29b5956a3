"""A run whose processes are on several hosts: python3 training_test.py path/to/impart"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from namespaced_hosts import NamespacedHosts  # noqa: E402

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
HOSTS = 4
# Parts in memory, with examples that change hosts before every epoch; sums in a fixed order.
RUN = ["quick", "threads=1", "epochs=3", "data.train_examples=320", "data.test_examples=50", "model.name=mlp",
       "workers.batch=8", "workers.reduce=exact", "store.kind=partitioned", "importance.ignore=0",
       "partition.warmup=1", "partition.interval=1"]


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class TrainingTest(unittest.TestCase):
    def test_hosts_that_exchange_examples_train_what_one_process_does(self):
        hosts = NamespacedHosts(HOSTS)
        self.addCleanup(hosts.remove)
        if hosts.reason:
            self.skipTest(hosts.reason)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, folder)
        apart = self.train(folder / "apart", hosts.mpirun(folder))
        together = self.train(folder / "together", [])
        self.assertEqual((apart["processes"], together["processes"]), (HOSTS, 1))
        self.assertGreater(apart["examples_moved"], 0)
        self.assertEqual(apart["weights_sha256"], together["weights_sha256"])

    def train(self, output, mpirun):
        command = [*mpirun, IMPART, "train", *RUN, f"output={output}"]
        done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((output / "summary.json").read_text())


if __name__ == "__main__":
    unittest.main()
