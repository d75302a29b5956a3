#!/usr/bin/env python3
"""What `data fetch` does about files that are there already: existing_files_test.py PROGRAM"""

import unittest

from fetch_case import CIFAR, CIFAR10, CIFAR10_FILES, CIFAR100, CIFAR100_FILES, FetchCase


class ExistingFilesTest(FetchCase):
    def test_a_second_fetch_finds_nothing_to_do(self):
        server = self.serve(CIFAR10)
        self.succeed("cifar10", server.url)
        self.assertIn("nothing to do", self.succeed("cifar10", server.url))
        self.assertEqual(len(server.requests), 1)
        self.check_cifar10()

    def test_changed_and_missing_files_are_fetched_again(self):
        server = self.serve(CIFAR10)
        self.succeed("cifar10", server.url)
        (self.dest / "data_batch_3.bin").write_bytes(bytes(len(CIFAR10_FILES["data_batch_3.bin"])))
        self.assertIn("fetched cifar10", self.succeed("cifar10", server.url))
        self.check_cifar10()
        (self.dest / "test_batch.bin").unlink()
        self.assertIn("fetched cifar10", self.succeed("cifar10", server.url))
        self.check_cifar10()

    def test_files_of_others_are_not_replaced_unless_asked_to(self):
        server = self.serve(CIFAR10)
        self.dest.mkdir()
        (self.dest / "test_batch.bin").write_text("precious")
        self.fail_with(2, "dest/test_batch.bin: is there already", "cifar10", server.url)
        self.assertEqual(self.visible(), {"test_batch.bin": b"precious"})
        self.assertEqual(server.requests, [])
        self.succeed("cifar10", server.url, "--overwrite")
        self.check_cifar10()

    def test_an_archive_that_is_there_is_used_and_stays(self):
        server = self.serve(CIFAR10)
        self.dest.mkdir()
        (self.dest / CIFAR).write_bytes(CIFAR10[CIFAR])
        self.succeed("cifar10", server.url)
        self.assertEqual(self.visible(), {**CIFAR10_FILES, **CIFAR10})
        self.assertEqual(server.requests, [])

    def test_a_wrong_archive_is_ignored_but_not_replaced(self):
        server = self.serve(CIFAR10)
        self.dest.mkdir()
        (self.dest / CIFAR).write_bytes(b"half of it")
        self.fail_with(2, f"dest/{CIFAR}: is there already", "cifar10", server.url, "--keep-archive")
        self.succeed("cifar10", server.url)
        self.assertEqual(self.visible(), {**CIFAR10_FILES, CIFAR: b"half of it"})

    def test_two_sets_may_share_a_folder_and_keep_their_stamps(self):
        server = self.serve({**CIFAR10, **CIFAR100})
        self.succeed("cifar10", server.url)
        self.succeed("cifar100", server.url)
        for name in ["cifar10", "cifar100"]:
            self.assertIn("nothing to do", self.succeed(name, server.url))
        self.assertEqual(self.visible(), {**CIFAR10_FILES, **CIFAR100_FILES})


if __name__ == "__main__":
    unittest.main()
