#!/usr/bin/env python3
"""What `data fetch` says of wrong usage, wrong data and full disks: bad_input_test.py PROGRAM"""

import hashlib
import io
import resource
import subprocess
import tarfile
import unittest

from fetch_case import (BATCHES, CIFAR, CIFAR10, PART, PROGRAM, FetchCase, cifar_records,
                        fashion_files, packed)


class BadInputTest(FetchCase):
    def test_wrong_usage(self):
        self.write_sums(CIFAR10)
        self.fail_with(2, "did you mean 'cifar10'?", "cifar01", "http://127.0.0.1:9/")
        self.fail_with(2, "'ftp://there/': must begin with https://", "cifar10", "ftp://there/")
        self.fail_with(2, "--retries", "cifar10", "http://127.0.0.1:9/", "--retries", "-1")
        self.assertFalse(self.dest.exists())

    def test_bad_sums(self):
        server = self.serve(CIFAR10)
        (self.folder / "sums").write_text(f"# mirror\n{'0' * 64}  a\nnonsense\n")
        self.fail_with(65, "sums:3: is not a line of sha256sum", "cifar10", server.url)
        (self.folder / "sums").write_text(f"{'0' * 64}  other.gz\n")
        self.fail_with(65, f"sums: has no sum for {CIFAR}", "cifar10", server.url)
        self.assertEqual(server.requests, [])

    def test_own_sums_do_not_make_anything_a_data_set(self):
        for content in [b"x", b"<html>Not here any more</html>\n"]:
            files = dict(fashion_files(), **{"t10k-images-idx3-ubyte.gz": content})
            self.fail_with(65, ["the files have the sums of sums, but are no fashion-mnist",
                                "t10k-images-idx3-ubyte.gz: byte "], "fashion-mnist",
                           self.serve(files).url)
            self.assertEqual(self.visible(), {})
            files = {name: cifar_records(name, 4) for name in BATCHES}
            files["data_batch_3.bin"] = content
            self.fail_with(65, ["are no cifar10", "data_batch_3.bin: byte 0"], "cifar10",
                           self.serve({CIFAR: packed(files, "cifar")}).url)
            self.assertEqual(self.visible(), {})

    def test_a_file_that_is_not_there(self):
        server = self.serve({})
        self.write_sums(CIFAR10)
        self.fail_with(65, [f"{server.url}/{CIFAR}", "404"], "cifar10", server.url)
        self.assertEqual(len(server.requests), 1)
        self.assertFalse(self.dest.exists())

    def test_wrong_bytes_are_deleted_and_both_sums_are_said(self):
        server = self.serve(CIFAR10)
        right = hashlib.sha256(CIFAR10[CIFAR]).hexdigest()
        wrong = CIFAR10[CIFAR][:-1] + b"?"
        server.files[CIFAR] = wrong
        self.fail_with(65, [CIFAR, right, hashlib.sha256(wrong).hexdigest(), "deleted"], "cifar10",
                       server.url)
        self.assertEqual(len(server.requests), 1)
        self.assertFalse(self.dest.exists())

    def test_a_wrong_size_is_found_before_the_download(self):
        server = self.serve(CIFAR10)
        size = len(CIFAR10[CIFAR])
        done = subprocess.run([PROGRAM, "data", "fetch", "cifar10", "dest", "--from", server.url],
                              cwd=self.folder, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 65)
        self.assertIn(f"has {size} bytes, but should have 170052171", done.stderr)
        self.assertFalse(self.dest.exists())

    def test_an_archive_with_a_link_leaves_nothing(self):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            link = tarfile.TarInfo("cifar/data_batch_1.bin")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(link)
        server = self.serve({CIFAR: buffer.getvalue()})
        self.fail_with(65, "entry 'cifar/data_batch_1.bin': is a link", "cifar10", server.url)
        self.assertEqual(self.visible(), {})
        self.assertFalse((self.dest / ".cifar10.unpacked").exists())

    def test_a_destination_that_cannot_be_written(self):
        self.write_sums(CIFAR10)
        self.dest.write_text("a file")
        self.fail_with(74, "dest: cannot", "cifar10", "http://127.0.0.1:9/")
        self.assertEqual(self.dest.read_text(), "a file")

    def test_a_full_disk_keeps_the_part(self):
        server = self.serve(CIFAR10)
        room = 50000

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

        # Python ignores SIGXFSZ, and so do its children if they are left to: writing just fails.
        self.fail_with(74, f"dest/{PART}: cannot write: File too large", "cifar10", server.url,
                       preexec_fn=limit, restore_signals=False)
        self.assertEqual(self.part_bytes(), CIFAR10[CIFAR][:room])
        self.succeed("cifar10", server.url)
        self.assertEqual(server.ranges, [None, f"bytes={room}-"])
        self.check_cifar10()

    def test_a_disk_that_is_full_when_unpacking_keeps_the_archive(self):
        files = {name: bytes(3073) * 40 for name in BATCHES}
        server = self.serve({CIFAR: packed(files, "cifar")})

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

        self.fail_with(74, "cannot write: File too large", "cifar10", server.url, preexec_fn=limit,
                       restore_signals=False)
        self.assertEqual(self.visible(), {})
        self.succeed("cifar10", server.url)
        self.assertEqual(self.visible(), files)
        self.assertEqual(len(server.requests), 1)

    def test_two_fetches_into_one_folder(self):
        server = self.serve(CIFAR10)
        server.faults = [("stall", 1000)]
        with self.start("cifar10", server.url) as first:
            self.wait_for_part(1000)
            self.fail_with(74, "dest: another fetch is filling this folder", "cifar10", server.url)
            first.kill()


if __name__ == "__main__":
    unittest.main()
