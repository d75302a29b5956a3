"""`impart data` on data that is on a server: plain HTTP and S3."""

import json
import unittest

from object_server import Keys
from remote_case import RemoteCase

# What nobody may ever see again.
SECRET = "zQ9+hidden/Secret=Key"
TOKEN = "tok3n-that-is-hidden"


class InfoTest(RemoteCase):
    def facts(self, *arguments, **options):
        sets = json.loads(self.succeed("data", "info", *arguments, "--json", **options))["sets"]
        for one in sets:
            one.pop("set")
        return sets

    def test_a_folder_on_a_server_is_what_it_is_here(self):
        for make in [self.make_photos, self.make_shards]:
            folder = make()
            server = self.serve(folder)
            with self.subTest(folder.name):
                self.assertEqual(self.facts(server.url, server=server), self.facts(folder))
                self.assertIn("all is well", self.succeed("data", "verify", server.url, server=server))

    def test_compressed_shards_are_read_as_well(self):
        folder = self.make_shards("--compression", "zstd:3", "--hashes", "xxh64")
        server = self.serve(folder)
        self.assertEqual(self.facts(server.url, server=server), self.facts(folder))
        self.assertIn("all is well", self.succeed("data", "verify", server.url, server=server))

    def test_one_folder_of_shards_will_do(self):
        server = self.serve(self.make_shards())
        self.assertIn("8", self.succeed("data", "info", server.url + "/test", server=server))

    def test_shards_without_sidecars_are_scanned_for_labels(self):
        folder = self.make_shards()
        expected = self.facts(folder)
        for name in ["sums.json", "sums.npy", "labels.npy"]:
            for part in ["train", "test"]:
                (folder / part / name).unlink()
        server = self.serve(folder)
        self.assertEqual(self.facts(server.url, server=server), expected)

    def test_what_is_on_a_server_can_be_packed(self):
        folder = self.make_photos()
        server = self.serve(folder)
        self.succeed("data", "pack", server.url, "from-server", server=server)
        self.succeed("data", "pack", "photos", "from-folder")
        for name in ["train/shard.00000.mds", "train/labels.npy", "test/shard.00000.mds"]:
            self.assertEqual((self.folder / "from-server" / name).read_bytes(),
                             (self.folder / "from-folder" / name).read_bytes(), name)


class WrongTest(RemoteCase):
    def test_a_server_without_index_is_told_what_is_missing(self):
        (self.folder / "empty").mkdir()
        server = self.serve(self.folder / "empty")
        self.fail_with(65, "'impart data index' makes it", "data", "info", server.url, server=server)
        self.fail_with(65, "index.csv: there is no such file", "data", "info", server.url, "--name",
                       "imagefolder", server=server)

    def test_a_missing_shard_is_named(self):
        folder = self.make_shards()
        (folder / "train/shard.00001.mds").unlink()
        server = self.serve(folder)
        self.fail_with(65, f"{server.url}/train/shard.00001.mds: the server answered 404", "data",
                       "verify", server.url, server=server)

    def test_a_shard_of_another_size_is_named(self):
        folder = self.make_shards()
        with open(folder / "train/shard.00001.mds", "ab") as file:
            file.write(b"more")
        server = self.serve(folder)
        self.fail_with(65, "but should have", "data", "info", server.url, server=server)

    def test_a_password_in_the_url_is_refused_and_not_repeated(self):
        output = self.fail_with(2, "name or password", "data", "info", "http://me:hunter2@127.0.0.1/x")
        self.assertNotIn("hunter2", output)

    def test_only_what_a_server_can_serve_has_an_index(self):
        (self.folder / "text").mkdir()
        (self.folder / "text/train.txt").write_text("words\n" * 100)
        self.fail_with(2, "only mds and imagefolder", "data", "index", "text")
        self.fail_with(2, "on this machine", "data", "index", "https://127.0.0.1/x")


class S3Test(RemoteCase):
    def setUp(self):
        super().setUp()
        self.photos = self.make_photos()
        self.keys = Keys(secret=SECRET, token=TOKEN)

    def check_is_well(self, server, prefix="", **variables):
        url = server.url + prefix
        self.assertIn("all is well", self.succeed("data", "verify", url, server=server, **variables))
        self.assertEqual(server.refusals, [])

    def test_requests_are_signed_with_keys_and_token_of_the_environment(self):
        self.check_is_well(self.serve(self.photos, keys=self.keys))
        self.check_is_well(self.serve(self.folder, keys=self.keys), "/photos")

    def test_keys_come_from_a_profile(self):
        (self.folder / "home/.aws").mkdir()
        (self.folder / "home/.aws/credentials").write_text(
            f"[lab]\naws_access_key_id = {self.keys.access}\naws_secret_access_key = {SECRET}\n"
            f"aws_session_token = {TOKEN}\n")
        server = self.serve(self.photos, keys=self.keys)
        (self.folder / "home/.aws/config").write_text(
            f"[profile lab]\nregion = {self.keys.region}\nendpoint_url = {server.endpoint}\n")
        server.environment = lambda: {"NO_PROXY": "127.0.0.1", "AWS_PROFILE": "lab"}
        self.check_is_well(server)

    def test_refusals_name_the_reason_and_no_key(self):
        server = self.serve(self.photos, keys=self.keys)
        for variables, reason in [
            ({"AWS_SECRET_ACCESS_KEY": SECRET + "x"}, "SignatureDoesNotMatch"),
            ({"AWS_SESSION_TOKEN": "old" + TOKEN}, "ExpiredToken"),
            ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "without keys"),
        ]:
            with self.subTest(reason):
                output = self.fail_with(74, reason, "data", "verify", server.url, "--name", "mds",
                                        server=server, **variables)
                for hidden in [SECRET, TOKEN, self.keys.access]:
                    self.assertNotIn(hidden, output)

    def test_a_clock_that_is_wrong_is_told(self):
        server = self.serve(self.photos, keys=self.keys)
        server.skew = 3600
        self.fail_with(74, "RequestTimeTooSkewed", "data", "verify", server.url, "--name", "mds",
                       server=server)


class ReadingTest(RemoteCase):
    def test_neighbours_come_by_one_request_and_an_index_only_once(self):
        folder = self.make_shards()
        server = self.serve(folder)
        self.succeed("data", "info", server.url, "--name", "mds", server=server)
        indexes = [path for path, _ in server.requests if path.endswith("train/index.json")]
        self.assertLessEqual(len(indexes), 3)

    def test_heads_of_many_shards_come_at_the_same_time(self):
        folder = self.make_shards(count=30)
        shards = len(list(folder.glob("*/*.mds")))
        self.assertGreater(shards, 10)
        server = self.serve(folder)
        server.delay = 0.1
        self.succeed("data", "info", server.url, "--name", "mds", server=server)
        self.assertGreater(server.most_at_once, 4)
        self.assertLessEqual(server.most_at_once, 16)


if __name__ == "__main__":
    unittest.main()
