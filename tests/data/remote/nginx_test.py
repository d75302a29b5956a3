"""nginx, where it is installed: ranges over HTTP/1.1 and a rate limit; HTTP/2 and certificates."""

import sys
import unittest

from nginx_server import OPENSSL, PROGRAM, NginxServer
from remote_case import RemoteCase


def files_below(folder):
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


class NginxTest(RemoteCase):
    def start(self, root, **options):
        self.server = NginxServer(root, self.folder / "nginx", **options)
        self.addCleanup(self.server.close)
        return self.server.url

    def check_all_is_well(self, url):
        self.assertIn("all is well", self.succeed("data", "verify", url, server=self.server))

    def test_shards_are_read_by_ranges_and_photographs_whole(self):
        self.make_photos()
        self.make_shards()
        url = self.start(self.folder)
        for name in ["photos", "shards"]:
            self.check_all_is_well(f"{url}/{name}")
        lines = self.server.log().splitlines()
        for name, status in [("/shards/train/shard.00000.mds", "206"),
                             ("/photos/train/a%20cat%2B/000.png", "200")]:
            self.assertTrue([line for line in lines if line.startswith(status) and name in line], lines)

    def test_what_is_packed_from_there_is_what_is_packed_from_the_folder(self):
        self.make_photos()
        url = self.start(self.folder / "photos")
        for root, packed in [("photos", "from-folder"), (url, "from-server")]:
            self.succeed("data", "pack", root, packed, "--shard-bytes", "2000", server=self.server)
        found = files_below(self.folder / "from-server")
        self.assertGreater(len(found), 5)
        self.assertEqual(found, files_below(self.folder / "from-folder"))

    def test_refusals_and_gaps_are_told(self):
        self.make_photos()
        url = self.start(self.folder / "photos")
        self.fail_with(65, "or they are refused", "data", "verify", f"{url}/closed", server=self.server)
        (self.folder / "photos/train/dog/000.png").unlink()
        self.fail_with(65, "train/dog/000.png: the server answered 404", "data", "verify", url,
                       server=self.server)

    def test_a_slow_server_is_waited_for(self):
        self.make_photos(side=400, count=1)
        url = self.start(self.folder / "photos")
        self.check_all_is_well(f"{url}/slow")

    def test_connections_that_end_after_some_requests_are_made_anew(self):
        self.make_shards()
        url = self.start(self.folder / "shards", requests=5)
        self.check_all_is_well(url)
        self.assertEqual(max(map(len, self.server.connections().values())), 5)


@unittest.skipUnless(OPENSSL, "needs openssl to make a certificate")
class EncryptedTest(NginxTest):
    """The same over TLS and HTTP/2, and who is trusted."""

    def start(self, root, certified="localhost", **options):
        return super().start(root, certified=certified, **options)

    def fail_to_verify(self, message, url, **variables):
        return self.fail_with(74, message, "data", "verify", url, server=self.server, **variables)

    def test_one_connection_serves_the_many_requests_for_a_set(self):
        self.make_shards(count=40)
        self.check_all_is_well(self.start(self.folder / "shards"))
        connections = self.server.connections().values()
        self.assertEqual({protocol for served in connections for protocol in served}, {"HTTP/2.0"})
        # Training and test set; whether there are other kinds of data is asked once each.
        busy = [len(served) for served in connections if len(served) > 1]
        self.assertEqual(len(busy), 2)
        self.assertGreater(min(busy), 40)

    def test_a_stranger_is_not_trusted_and_what_to_do_is_said(self):
        self.make_photos(count=1)
        url = self.start(self.folder / "photos")
        said = "trusted are the system's authorities; to trust others, name their PEM file in AWS_CA_BUNDLE"
        self.fail_to_verify(said, url, SSL_CERT_FILE="")
        self.fail_to_verify("/nowhere.pem", url, SSL_CERT_FILE="/nowhere.pem")
        self.assertEqual(self.server.log(), "")
        for variable in ["AWS_CA_BUNDLE", "CURL_CA_BUNDLE"]:
            trusted = {"SSL_CERT_FILE": "", variable: str(self.server.certificate)}
            self.succeed("data", "verify", url, server=self.server, **trusted)
        other = NginxServer(self.folder, self.folder / "other", certified="localhost")
        self.addCleanup(other.close)
        self.fail_to_verify(f"trusted are those in {other.certificate}", url,
                            SSL_CERT_FILE=str(other.certificate))

    def test_a_certificate_for_another_host_is_refused(self):
        self.make_photos(count=1)
        url = self.start(self.folder / "photos", certified="elsewhere.example")
        self.assertNotIn("to trust others", self.fail_to_verify("target host name 'localhost'", url))
        self.assertEqual(self.server.log(), "")

    def test_encryption_is_not_given_up(self):
        self.make_photos(count=1)
        url = self.start(self.folder / "photos")
        self.fail_to_verify("redirects to a less safe kind of URL", f"{url}/plain")


if __name__ == "__main__":
    if PROGRAM is None:
        print("skipped: nginx is not installed")
        sys.exit(77)
    unittest.main()
