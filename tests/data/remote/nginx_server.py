"""nginx on 127.0.0.1, where it is installed: files with ranges over HTTP/1.1, and how many bytes of
which it sent."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

PROGRAM = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/sbin:/usr/bin")

CONFIG = """
{user}
daemon off; pid {place}/nginx.pid; error_log {place}/error.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
  log_format sent '$status $body_bytes_sent "$request"';
  access_log {place}/access.log sent; client_body_temp_path {place}/a; proxy_temp_path {place}/b;
  fastcgi_temp_path {place}/c; uwsgi_temp_path {place}/d; scgi_temp_path {place}/e;
  keepalive_requests 1000000;
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


class NginxServer:
    """Serves the files below `root`; writes its own below `place`, which it makes."""

    def __init__(self, root, place):
        self.place, port = pathlib.Path(place), free_port()
        self.place.mkdir(parents=True)
        self.url = f"http://127.0.0.1:{port}"
        # Its workers would be somebody else, who may not read what only root may.
        user = "user root;" if os.geteuid() == 0 else ""
        config = self.place / "nginx.conf"
        config.write_text(CONFIG.format(place=self.place, root=root, port=port, user=user))
        self.process = subprocess.Popen(
            [PROGRAM, "-p", str(self.place), "-c", str(config), "-e", str(self.place / "error.log")],
            stderr=subprocess.DEVNULL)
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.02)
        self.close()
        raise RuntimeError((self.place / "error.log").read_text())

    def close(self):
        self.process.terminate()
        self.process.wait()

    def log(self):
        return (self.place / "access.log").read_text()

    def clear_log(self):
        os.truncate(self.place / "access.log", 0)

    def sent(self, part="/"):
        """Requests and bytes of bodies since the log was cleared, of paths with `part` in them."""
        answers = [line.split(" ", 2) for line in self.log().splitlines() if part in line]
        return len(answers), sum(int(answer[1]) for answer in answers)
