"""What a server may do wrong while data is read from it, and what becomes of it."""

import random
import time
import unittest

from object_server import Keys
from remote_case import RemoteCase


class PassingFaultTest(RemoteCase):
    """Faults that pass leave no trace."""

    def verify(self, server, **variables):
        return self.call("data", "verify", server.url, "--name", self.kind, server=server, **variables)

    def check_all_is_well(self, server):
        done = self.verify(server)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn("all is well", done.stdout)

    def test_each_fault_passes_wherever_it_happens(self):
        for self.kind, make in [("imagefolder", self.make_photos), ("mds", self.make_shards)]:
            server = self.serve(make(count=2))
            self.check_all_is_well(server)
            requests = len(server.requests)
            for fault in [500, 503, 429, ("cut", 0), ("cut", 0.5), "long", "short", "wrong"]:
                for place in range(0, requests, 4):
                    with self.subTest(kind=self.kind, fault=fault, place=place):
                        server.faults = [None] * place + [fault]
                        self.check_all_is_well(server)

    def test_it_waits_as_long_as_the_server_asks(self):
        self.kind = "imagefolder"
        server = self.serve(self.make_photos(count=1))
        server.retry_after = 1
        server.faults = [429]
        begin = time.monotonic()
        self.check_all_is_well(server)
        self.assertGreaterEqual(time.monotonic() - begin, 1)

    def test_a_part_that_came_is_not_asked_for_again(self):
        self.kind = "imagefolder"
        folder = self.make_photos(count=1, side=200)
        server = self.serve(folder)
        self.check_all_is_well(server)
        whole = server.sent
        # The first visit of a file tells its version; verify reads each once, so cut the index.
        server.sent = 0
        server.faults = [None, ("cut", 0.5)]
        self.check_all_is_well(server)
        self.assertLess(server.sent, 1.5 * whole)

    def test_renewed_keys_are_found(self):
        self.kind = "imagefolder"
        keys = Keys(access="OLD", secret="old")
        server = self.serve(self.make_photos(count=4), keys=keys)
        place = self.folder / "home/.aws"
        place.mkdir()

        def write(access, secret):
            (place / "credentials").write_text(
                f"[default]\naws_access_key_id={access}\naws_secret_access_key={secret}\n")

        def renew():
            if len(server.requests) == 8:
                keys.access, keys.secret = "NEW", "new"
                write("NEW", "new")

        write("OLD", "old")
        server.chance = renew
        server.environment = lambda: {"NO_PROXY": "127.0.0.1", "AWS_REGION": keys.region,
                                      "AWS_ENDPOINT_URL": server.endpoint}
        self.check_all_is_well(server)
        self.assertEqual(len(server.refusals), 1)


class LastingFaultTest(RemoteCase):
    """Faults that do not pass end with one clear line."""

    def test_bytes_that_stay_wrong_are_found_by_their_sum(self):
        for make, kind in [(self.make_photos, "imagefolder"), (self.make_shards, "mds")]:
            folder = make(count=2)
            server = self.serve(folder)
            draw = random.Random(3)
            calls = iter(range(10**6))
            # All that describes the data is whole, and so are the fronts of shards.
            server.chance = lambda: "wrong" if next(calls) > 30 and draw.random() < 2 else None
            done = self.call("data", "verify", server.url, "--name", kind, server=server)
            if next(calls) <= 31:
                continue
            self.assertEqual(done.returncode, 65, done.stderr)
            self.assertIn("its bytes are not those of the index, 4 times in a row", done.stdout)

    def test_a_file_that_changes_is_an_error(self):
        server = self.serve(self.make_shards(count=4))
        calls = iter(range(10**6))

        def change():
            if next(calls) == 20:
                server.edition = 2

        server.chance = change
        self.fail_with(74, "another one than at first", "data", "verify", server.url, "--name", "mds",
                       server=server)

    def test_a_server_without_ranges_is_told_so(self):
        server = self.serve(self.make_shards(count=4))
        server.chance = lambda: "whole"
        self.fail_with(74, "whole files only", "data", "verify", server.url, "--name", "mds",
                       server=server)

    def test_an_index_that_was_not_made_again_is_noticed(self):
        folder = self.make_photos(count=1)
        with open(folder / "index.csv", "a", encoding="utf-8") as file:
            file.write("train/dog/more.png,10,dog,0123456789abcdef\n")
        server = self.serve(folder)
        self.fail_with(65, "sums.json says", "data", "verify", server.url, "--name", "imagefolder",
                       server=server)


if __name__ == "__main__":
    unittest.main()
