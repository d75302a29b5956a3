#!/usr/bin/env python3
"""`impart data fetch` against a server on this machine: fetch_test.py path/to/impart"""

import json
import os
import pty
import subprocess
import unittest

from fetch_case import CIFAR, CIFAR10, CIFAR100, CIFAR100_FILES, PROGRAM, FetchCase, fashion_files


class FetchTest(FetchCase):
    def train_with(self, line):
        """Follows the advice that a fetch ends with."""
        words = line.split("train on it: impart ")[1].split()
        more = ["model.name=mlp", "epochs=1", "workers.count=2", "workers.batch=8",
                "partition.warmup=1", "importance.ignore=0", "output=run"]
        done = subprocess.run([PROGRAM, *words, *more], cwd=self.folder, text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.folder / "run/summary.json").read_text())

    def test_cifar10_is_fetched_flattened_and_can_be_trained_on(self):
        server = self.serve(CIFAR10)
        out = self.succeed("cifar10", server.url)
        self.check_cifar10()
        self.assertEqual(server.requests, [(CIFAR, None, None)])
        self.assertEqual(self.train_with(out)["examples"], 20)

    def test_fashion_mnist_is_fetched_and_can_be_trained_on(self):
        files = fashion_files()
        server = self.serve(files)
        out = self.succeed("fashion-mnist", server.url + "/")
        self.assertEqual(self.visible(), files)
        self.assertEqual(self.train_with(out)["examples"], 40)

    def test_a_local_folder_is_a_source_and_the_archive_can_stay(self):
        self.write_sums(CIFAR100)
        (self.folder / "mirror").mkdir()
        (name, archive), = CIFAR100.items()
        (self.folder / "mirror" / name).write_bytes(archive)
        url = f"file://{self.folder}/mirror"
        out = self.succeed("cifar100", url, "--keep-archive")
        self.assertEqual(self.visible(), {**CIFAR100_FILES, name: archive})
        self.assertEqual(self.train_with(out)["examples"], 8)
        # The archive that stayed serves when a file is lost.
        (self.folder / "mirror" / name).unlink()
        (self.dest / "train.bin").unlink()
        self.assertIn("0.0 MB downloaded", self.succeed("cifar100", url))
        self.assertEqual(self.visible(), {**CIFAR100_FILES, name: archive})
        (self.dest / name).unlink()
        (self.dest / "train.bin").unlink()
        self.fail_with(65, f"mirror/{name}", "cifar100", url)

    def test_progress_shows_bytes_and_the_time_left(self):
        server = self.serve(CIFAR10)
        server.bytes_per_second = len(CIFAR10[CIFAR]) // 2
        main, side = pty.openpty()
        arguments = self.arguments("cifar10", server.url)
        with subprocess.Popen(arguments, cwd=self.folder, stdout=subprocess.DEVNULL,
                              stderr=side) as process:
            os.close(side)
            shown = self.read_to_end(main)
        self.assertEqual(process.returncode, 0)
        self.assertRegex(shown, rf"fetching {CIFAR} 0\.\d of 0\.1 MB, 0\.\d MB/s, \d+ s left")

    def read_to_end(self, descriptor):
        shown = b""
        with open(descriptor, "rb", buffering=0) as terminal:
            try:
                while data := terminal.read(1000):
                    shown += data
            except OSError:  # nobody has the other side open any more
                pass
        return shown.decode()


if __name__ == "__main__":
    unittest.main()
