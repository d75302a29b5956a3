"""nginx, where it is installed: ranges over HTTP/1.1, and a rate limit."""

import shutil
import socket
import subprocess
import sys
import time
import unittest

from remote_case import RemoteCase

CONFIG = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log {folder}/access.log; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
  fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{port}; root {root};
    location /closed/ {{ deny all; }}
    location /slow/ {{ alias {root}/; limit_rate 200k; }}
  }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class NginxTest(RemoteCase):
    def start(self, root):
        port = free_port()
        place = self.folder / "nginx"
        place.mkdir()
        self.folder.chmod(0o755)
        (place / "nginx.conf").write_text(CONFIG.format(folder=place, root=root, port=port))
        nginx = subprocess.Popen([shutil.which("nginx", path=SEARCH), "-p", str(place), "-c",
                                  str(place / "nginx.conf"), "-e", str(place / "error.log")],
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(nginx.wait)
        self.addCleanup(nginx.terminate)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return f"http://127.0.0.1:{port}"
            time.sleep(0.02)
        self.fail((place / "error.log").read_text())

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
        log = (self.folder / "nginx/access.log").read_text()
        self.assertIn('GET /shards/train/shard.00000.mds HTTP/1.1" 206', log)
        self.assertIn('GET /photos/train/a%20cat%2B/000.png HTTP/1.1" 200', log)

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


SEARCH = "/usr/sbin:/usr/local/sbin:/sbin:/usr/bin"

if __name__ == "__main__":
    if shutil.which("nginx", path=SEARCH) is None:
        print("skipped: nginx is not installed")
        sys.exit(77)
    unittest.main()
