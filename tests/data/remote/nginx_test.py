"""nginx, where it is installed: ranges over HTTP/1.1, and a rate limit."""

import sys
import unittest

from nginx_server import PROGRAM, NginxServer
from remote_case import RemoteCase


class NginxTest(RemoteCase):
    def start(self, root):
        self.server = NginxServer(root, self.folder / "nginx")
        self.addCleanup(self.server.close)
        return self.server.url

    def verify(self, url):
        return self.call("data", "verify", url, NO_PROXY="127.0.0.1")

    def test_shards_are_read_by_ranges_and_photographs_whole(self):
        self.make_photos()
        self.make_shards()
        url = self.start(self.folder)
        for name in ["photos", "shards"]:
            done = self.verify(f"{url}/{name}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("all is well", done.stdout)
        lines = self.server.log().splitlines()
        for name, status in [("/shards/train/shard.00000.mds", "206"),
                             ("/photos/train/a%20cat%2B/000.png", "200")]:
            self.assertTrue([line for line in lines if line.startswith(status) and name in line], lines)

    def test_refusals_and_gaps_are_told(self):
        self.make_photos()
        url = self.start(self.folder / "photos")
        self.fail_with(65, "or they are refused", "data", "verify", f"{url}/closed",
                       NO_PROXY="127.0.0.1")
        (self.folder / "photos/train/dog/000.png").unlink()
        self.fail_with(65, "train/dog/000.png: the server answered 404", "data", "verify", url,
                       NO_PROXY="127.0.0.1")

    def test_a_slow_server_is_waited_for(self):
        self.make_photos(side=400, count=1)
        url = self.start(self.folder / "photos")
        done = self.verify(f"{url}/slow")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    if PROGRAM is None:
        print("skipped: nginx is not installed")
        sys.exit(77)
    unittest.main()
