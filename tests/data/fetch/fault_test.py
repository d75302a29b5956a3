#!/usr/bin/env python3
"""How `data fetch` gets along with bad networks and servers: fault_test.py PROGRAM

Moments are drawn from IMPART_TEST_SEED, or from a fixed seed.
"""

import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from fetch_case import BATCHES, CIFAR, CIFAR10, PART, FetchCase, cifar_records, packed

DRAW = random.Random(int(os.environ.get("IMPART_TEST_SEED", "1")))


class FaultTest(FetchCase):
    def test_a_dropped_connection_goes_on_where_it_ended(self):
        server = self.serve(CIFAR10)
        server.faults = [("drop", 30000), None]
        self.succeed("cifar10", server.url)
        self.assertEqual(server.requests[1], (CIFAR, "bytes=30000-", '"edition-1"'))
        self.check_cifar10()

    def test_a_killed_fetch_goes_on_where_it_ended(self):
        server = self.serve(CIFAR10)
        server.bytes_per_second = 100000
        had = 0
        for _ in range(3):
            had += DRAW.randrange(1, 20000)
            with self.start("cifar10", server.url) as process:
                self.wait_for_part(had)
                process.kill()
            had = len(self.part_bytes())
            self.assertEqual(self.part_bytes(), CIFAR10[CIFAR][:had])
        server.bytes_per_second = None
        self.succeed("cifar10", server.url)
        self.assertEqual(server.ranges[-1], f"bytes={had}-")
        self.assertEqual(server.ranges[0], None)
        self.check_cifar10()

    def test_a_kill_at_any_moment_loses_nothing(self):
        files = {name: cifar_records(name, 650) for name in BATCHES}
        archive = packed(files, "cifar")
        self.write_sums({CIFAR: archive})
        (self.folder / CIFAR).write_bytes(archive)
        url = f"file://{self.folder}"
        started = time.time()
        self.succeed("cifar10", url)
        usual = time.time() - started
        for _ in range(8):
            shutil.rmtree(self.dest)
            with self.start("cifar10", url) as process:
                time.sleep(DRAW.uniform(0, usual))
                process.kill()
            for name, data in (self.visible() if self.dest.exists() else {}).items():
                self.assertEqual(data, files[name])
            self.succeed("cifar10", url)
            self.assertEqual(self.visible(), files)
            hidden = [path.name for path in self.dest.glob(".*")]
            self.assertEqual(hidden, [".fetched-cifar10.json"])

    def test_an_interrupt_keeps_the_part_and_says_so(self):
        server = self.serve(CIFAR10)
        server.faults = [("stall", 40000)]
        with self.start("cifar10", server.url) as process:
            self.wait_for_part(40000)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
        self.assertEqual(process.returncode, 85)
        self.assertIn("impart: stopped; the same command goes on", errors)
        self.succeed("cifar10", server.url)
        self.assertEqual(server.ranges, [None, "bytes=40000-"])
        self.check_cifar10()

    def test_a_server_without_ranges_sends_all_again(self):
        server = self.serve(CIFAR10)
        server.faults = [("drop", 30000), "no-range"]
        self.succeed("cifar10", server.url)
        self.assertEqual(server.ranges, [None, "bytes=30000-"])
        self.check_cifar10()

    def test_a_file_that_has_changed_is_fetched_from_its_beginning(self):
        for honours_if_range in [True, False]:
            with self.subTest(honours_if_range=honours_if_range):
                shutil.rmtree(self.dest, ignore_errors=True)
                server = self.serve(CIFAR10)
                server.checks_if_range = honours_if_range
                server.files[CIFAR] = bytes(60000)
                server.faults = [("drop", 50000)]
                self.fail_with(74, "50000 bytes are kept", "cifar10", server.url, "--retries", "0")
                server.files, server.edition = CIFAR10, 2
                self.succeed("cifar10", server.url)
                expected = [None, "bytes=50000-"] + ([] if honours_if_range else [None])
                self.assertEqual(server.ranges, expected)
                self.check_cifar10()

    def test_a_part_of_another_file_is_found_out_by_its_sum(self):
        server = self.serve(CIFAR10)
        server.versions = False
        self.dest.mkdir()
        for other in [bytes(1000), bytes(2 * len(CIFAR10[CIFAR]))]:
            (self.dest / PART).write_bytes(other)
            self.succeed("cifar10", server.url, "--overwrite")
            self.check_cifar10()
            (self.dest / "train.bin").unlink(missing_ok=True)
            (self.dest / ".fetched-cifar10.json").unlink()
        self.assertEqual(server.ranges[:2], ["bytes=1000-", None])

    def test_a_busy_server_is_asked_again(self):
        server = self.serve(CIFAR10)
        server.faults = [503, 503]
        started = time.time()
        self.succeed("cifar10", server.url)
        self.assertGreaterEqual(time.time() - started, 1.5)
        self.assertEqual(len(server.requests), 3)
        server.faults, server.retry_after = [503], 2
        (self.dest / "test_batch.bin").unlink()
        started = time.time()
        self.succeed("cifar10", server.url)
        self.assertGreaterEqual(time.time() - started, 2)

    def test_patience_has_an_end(self):
        server = self.serve(CIFAR10)
        server.faults = [503] * 10
        self.fail_with(74, ["the server answered 503", "gave up after 2 attempts"], "cifar10",
                       server.url, "--retries", "1")
        self.assertEqual(len(server.requests), 2)
        self.assertFalse(self.dest.exists())
        # Every attempt that brings something new counts as the first.
        server.requests.clear()
        server.faults = [("drop", 10000)] * 3
        self.succeed("cifar10", server.url, "--retries", "1")
        self.assertEqual(server.ranges[1:], ["bytes=10000-", "bytes=20000-", "bytes=30000-"])

    def test_a_stalled_transfer_is_given_up_and_gone_on_with(self):
        server = self.serve(CIFAR10)
        server.faults = [("stall", 20000)]
        self.succeed("cifar10", server.url, "--stall", "1")
        self.assertEqual(server.ranges, [None, "bytes=20000-"])
        self.check_cifar10()

    def test_a_trickle_is_given_up(self):
        server = self.serve(CIFAR10)
        server.bytes_per_second = 3000
        started = time.time()
        self.fail_with(74, ["bytes came in 1 s, less than 100000 a second (--min-rate)",
                            "gave up after 2 attempts", "bytes are kept"], "cifar10", server.url,
                       "--stall", "1", "--min-rate", "100000", "--retries", "1")
        self.assertLess(time.time() - started, 10)
        server.bytes_per_second = None
        self.succeed("cifar10", server.url)
        self.check_cifar10()

    def test_a_server_that_is_not_there_is_named_at_once(self):
        self.write_sums(CIFAR10)
        started = time.time()
        self.fail_with(74, ["127.0.0.1 port 9", "--from file:///"], "cifar10",
                       "http://127.0.0.1:9/")
        self.fail_with(74, "no-such-host.invalid", "cifar10", "http://no-such-host.invalid/")
        self.assertLess(time.time() - started, 20)
        self.assertFalse(self.dest.exists())

    def test_redirects_are_followed_but_not_for_ever(self):
        server = self.serve(CIFAR10)
        server.faults = [("redirect", f"{server.url}/elsewhere/{CIFAR}")]
        self.succeed("cifar10", server.url)
        self.check_cifar10()
        (self.dest / "test_batch.bin").unlink()
        server.faults = [("redirect", f"{server.url}/{CIFAR}")] * 20
        self.fail_with(65, "redirects", "cifar10", server.url)
        server.faults = [("redirect", "file:///etc/passwd")]
        self.fail_with(65, "file:///etc/passwd, which is refused", "cifar10", server.url)

    @unittest.skipUnless(shutil.which("openssl"), "needs openssl to make a certificate")
    def test_encryption_is_not_given_up_and_strangers_are_not_trusted(self):
        pem = self.folder / "server.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", pem, "-out", "cert.pem",
                        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
                       cwd=self.folder, check=True, capture_output=True)
        with open(pem, "ab") as file:
            file.write((self.folder / "cert.pem").read_bytes())
        plain, secure = self.serve(CIFAR10), self.serve(CIFAR10, certificate=pem)
        trusting = dict(os.environ, CURL_CA_BUNDLE=str(self.folder / "cert.pem"))
        self.fail_with(74, "certificate", "cifar10", secure.url)
        secure.faults = [("redirect", f"{plain.url}/{CIFAR}")]
        self.fail_with(65, f"redirects to {plain.url}/{CIFAR}, which is refused", "cifar10",
                       secure.url, env=trusting)
        self.assertEqual(plain.requests, [])
        plain.faults = [("redirect", f"{secure.url}/{CIFAR}")]
        self.succeed("cifar10", plain.url, env=trusting)
        self.check_cifar10()


if __name__ == "__main__":
    unittest.main()
