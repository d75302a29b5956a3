"""Training on data that is on a server: the weights are those of the folder, whatever the server
does. IMPART_FAULT_RUNS=100 tries more faults."""

import collections
import json
import os
import random
import shutil
import subprocess
import unittest

import nginx_server
import remote_case
from object_server import Keys
from remote_case import RemoteCase

SETTINGS = {
    "threads": 1, "epochs": 2, "model.name": "mlp", "data.image_size": 12, "workers.count": 2,
    "workers.batch": 4, "optimizer.lr": 0.02, "store.cache": 0, "remote.retries": 6,
    "remote.timeout": 3, "partition.interval": 0, "partition.warmup": 0, "importance.ignore": 0,
    "checkpoint.every": 0,
}
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
       "OMPI_MCA_hwloc_base_binding_policy": "none"}
KEYS = Keys(access="AKIDHIDDEN", secret="s3cr3t+never/shown=", token="t0ken-never-shown")


class TrainCase(RemoteCase):
    def setUp(self):
        super().setUp()
        self.runs = 0

    def arguments(self, kind, root, **changes):
        self.runs += 1
        chosen = {**SETTINGS, "data.name": kind, "data.root": root, "output": f"run{self.runs}",
                  **{key.replace("__", "."): value for key, value in changes.items()}}
        return ["train", *(f"{key}={value}" for key, value in chosen.items())]

    def train(self, kind, root, server=None, **changes):
        """The summary of the run."""
        self.succeed(*self.arguments(kind, root, **changes), server=server)
        return json.loads((self.folder / f"run{self.runs}/summary.json").read_text())

    def hash_of(self, *arguments, **options):
        return self.train(*arguments, **options)["weights_sha256"]


class SameWeightsTest(TrainCase):
    def test_photographs_over_http(self):
        local = self.hash_of("imagefolder", self.make_photos())
        server = self.serve(self.folder / "photos")
        self.assertEqual(self.hash_of("imagefolder", server.url, server=server), local)
        limited = self.hash_of("imagefolder", "photos", data__limit=9)
        self.assertEqual(self.hash_of("imagefolder", server.url, server=server, data__limit=9), limited)
        self.assertNotEqual(limited, local)

    def test_shards_of_s3_with_and_without_reading_ahead_and_in_parts(self):
        local = self.hash_of("mds", self.make_shards())
        server = self.serve(self.folder / "shards", keys=KEYS)
        requests = {}
        for prefetch in [64, 0]:
            server.requests.clear()
            summary = self.train("mds", server.url, server=server, store__prefetch=prefetch)
            self.assertEqual(summary["weights_sha256"], local)
            requests[prefetch] = len(server.requests)
        self.assertEqual(server.refusals, [])
        self.assertLess(requests[64], 0.7 * requests[0])  # neighbours come together
        for changes in [{"store__kind": "partitioned"}, {"data__validation": 0.25}]:
            local = self.hash_of("mds", "shards", **changes)
            self.assertEqual(self.hash_of("mds", server.url, server=server, **changes), local)

    def test_bytes_of_the_source_are_those_that_the_server_sent(self):
        self.make_shards()
        server = self.serve(self.folder / "shards")
        # What two epochs need at the same time comes once, so that more epochs may take less.
        summary = self.train("mds", server.url, server=server, epochs=1, remote__gap=0)
        payloads = json.loads(self.succeed("data", "info", "shards", "--json"))["sets"][0]
        self.assertEqual(summary["bytes_source"], payloads["payload_bytes"]["total"])

    def test_what_a_cache_will_keep_comes_once_and_is_read_ahead(self):
        self.make_shards()
        local = self.hash_of("mds", "shards", epochs=4)
        server = self.serve(self.folder / "shards")
        payloads = json.loads(self.succeed("data", "info", "shards", "--json"))["sets"][0]
        requests = {}
        for prefetch in [64, 0]:
            server.requests.clear()
            summary = self.train("mds", server.url, server=server, epochs=4, remote__gap=0,
                                 store__cache=1, store__cache_policy="pin", store__prefetch=prefetch)
            self.assertEqual(summary["weights_sha256"], local)
            self.assertEqual(summary["bytes_source"], payloads["payload_bytes"]["total"])
            self.assertEqual(summary["cache_misses"], summary["examples"])
            requests[prefetch] = len(server.requests)
        self.assertLess(requests[64], requests[0])

    @unittest.skipUnless(nginx_server.PROGRAM and nginx_server.OPENSSL, "needs nginx and openssl")
    def test_shards_over_http_2(self):
        local = self.hash_of("mds", self.make_shards(count=20))
        server = nginx_server.NginxServer(self.folder / "shards", self.folder / "nginx", certified="localhost")
        self.addCleanup(server.close)
        self.assertEqual(self.hash_of("mds", server.url, server=server), local)
        busy = [served for served in server.connections().values() if len(served) > 1]
        self.assertEqual({protocol for served in busy for protocol in served}, {"HTTP/2.0"})
        self.assertEqual(len(busy), 2)  # one for each of the two sets

    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_two_processes_each_ask_for_their_own(self):
        exact = {"workers__reduce": "exact"}
        local = self.hash_of("mds", self.make_shards(), **exact)
        server = self.serve(self.folder / "shards")
        command = ["mpirun", "-n", "2", remote_case.IMPART,
                   *map(str, self.arguments("mds", server.url, **exact))]
        done = subprocess.run(command, cwd=self.folder, text=True, capture_output=True, check=False,
                              env={**remote_case.CLEAN, **MPI, **server.environment()})
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads((self.folder / f"run{self.runs}/summary.json").read_text())
        self.assertEqual(summary["weights_sha256"], local)


class SecretsTest(TrainCase):
    def test_keys_are_in_no_file_and_no_message(self):
        self.make_shards()
        server = self.serve(self.folder / "shards", keys=KEYS)
        done = self.call(*self.arguments("mds", server.url), server=server)
        self.assertEqual(done.returncode, 0, done.stderr)
        texts = [done.stdout.encode(), done.stderr.encode()]
        texts += [file.read_bytes() for file in (self.folder / "run1").rglob("*") if file.is_file()]
        self.assertGreater(len(texts), 6)
        for hidden in [KEYS.access, KEYS.secret, KEYS.token]:
            self.assertFalse([text for text in texts if hidden.encode() in text])
        self.assertIn("s3://cats", (self.folder / "run1/config.yaml").read_text())

    def test_a_password_in_the_root_ends_before_there_is_a_run(self):
        output = self.fail_with(2, "name or password", *self.arguments("mds", "http://me:hunter2@x/y"))
        self.assertNotIn("hunter2", output)
        self.assertFalse((self.folder / "run1").exists())

    def test_other_kinds_of_data_are_not_on_servers(self):
        self.fail_with(2, "only mds and imagefolder", *self.arguments("cifar10", "https://host/x"))


class FaultTest(TrainCase):
    FAULTS = [500, 503, 429, ("cut", 0.3), "long", "short", "wrong", "slow"]
    RARE = ["stall", "expired"]  # take seconds, or end a run
    CACHES = [{}, {"store__cache": 1}, {"store__cache": 1, "store__cache_policy": "pin"},
              {"store__cache_path": "cache", "store__cache_disk": 1},
              {"store__cache_path": "cache", "store__cache_disk": 1, "store__cache_policy": "importance"}]

    def draw_faults(self, server, draw, rare):
        share = draw.choice([0.02, 0.1, 0.3])

        def chance():
            if rare and draw.random() < 0.005:
                return draw.choice(self.RARE)
            return draw.choice(self.FAULTS) if draw.random() < share else None

        server.chance, server.retry_after = chance, 0

    def check_resumed(self, server, expected):
        """What a run that ended with an error had is not lost: with a sound server it goes on."""
        server.chance = None
        run = f"run{self.runs}"
        if any((self.folder / run).glob("checkpoints/step-*")):
            self.succeed("train", "--resume", run, server=server)
            found = json.loads((self.folder / run / "summary.json").read_text())["weights_sha256"]
            self.assertEqual(found, expected)
            return "resumed"
        return "before a checkpoint"

    def test_random_faults_change_nothing_or_end_with_a_clear_error(self):
        shards = self.make_shards()
        expected = {"mds": self.hash_of("mds", shards),
                    "imagefolder": self.hash_of("imagefolder", self.make_photos())}
        count = int(os.environ.get("IMPART_FAULT_RUNS", "3"))
        ends = collections.Counter()
        for run in range(count):
            draw = random.Random(run)
            kind = draw.choice(["mds", "imagefolder"])
            server = self.serve(self.folder / ("shards" if kind == "mds" else "photos"),
                                keys=KEYS if draw.random() < 0.5 else None)
            self.draw_faults(server, draw, rare=count > 3)
            shutil.rmtree(self.folder / "cache", ignore_errors=True)
            changes = {"checkpoint__every": 1, **draw.choice(self.CACHES)}
            done = self.call(*self.arguments(kind, server.url, **changes), server=server)
            with self.subTest(run=run, kind=kind, changes=changes, stderr=done.stderr):
                if done.returncode == 0:
                    summary = json.loads((self.folder / f"run{self.runs}/summary.json").read_text())
                    self.assertEqual(summary["weights_sha256"], expected[kind])
                    ends["the same weights"] += 1
                else:
                    self.assertIn(done.returncode, [65, 74])
                    self.assertIn(server.url, done.stderr)
                    ends[f"an error, {self.check_resumed(server, expected[kind])}"] += 1
            shutil.rmtree(self.folder / f"run{self.runs}", ignore_errors=True)
            server.close()
        print(f"{count} runs with faults: {dict(ends)}")
        self.assertGreater(ends["the same weights"], 0)

    def test_a_server_that_goes_away_ends_the_run(self):
        self.make_shards()
        server = self.serve(self.folder / "shards")
        calls = iter(range(10**6))
        server.chance = lambda: 503 if next(calls) > 25 else None
        self.fail_with(74, "gave up after 2 attempts",
                       *self.arguments("mds", server.url, remote__retries=1, epochs=50), server=server)

    def test_a_stalled_answer_is_asked_for_again(self):
        local = self.hash_of("mds", self.make_shards())
        server = self.serve(self.folder / "shards")
        server.faults = [None] * 25 + ["stall"]
        self.assertEqual(self.hash_of("mds", server.url, server=server, remote__timeout=1), local)
        self.assertEqual(server.faults, [])


if __name__ == "__main__":
    unittest.main()
