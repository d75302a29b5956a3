"""nginx on 127.0.0.1, where it is installed: files with ranges over HTTP/1.1, or encrypted over HTTP/2
with a certificate that it signed itself, and how many bytes of which it sent over what."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

PROGRAM = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/sbin:/usr/bin")
OPENSSL = shutil.which("openssl")

CONFIG = """
{user}
daemon off; pid {place}/nginx.pid; error_log {place}/error.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
  log_format sent '$status $body_bytes_sent "$request" $connection';
  access_log {place}/access.log sent; client_body_temp_path {place}/a; proxy_temp_path {place}/b;
  fastcgi_temp_path {place}/c; uwsgi_temp_path {place}/d; scgi_temp_path {place}/e;
  keepalive_requests {requests};
  server {{
    listen 127.0.0.1:{port}{how}; root {root};
    location /closed/ {{ deny all; }}
    location /plain/ {{ return 302 http://127.0.0.1:9$uri; }}
    location /slow/ {{ alias {root}/; limit_rate 200k; }}
  }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificate(place, name):
    """Of a server `name`, signed by itself: place/server.pem, with its key in place/server.key."""
    subprocess.run([OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-keyout", "server.key", "-out", "server.pem", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName=DNS:{name}"],
                   cwd=place, check=True, capture_output=True)


class NginxServer:
    """Serves the files below `root`; writes its own below `place`, which it makes. `certified`: over
    HTTP/2, with a certificate for this name. Each connection is closed after so many `requests`."""

    def __init__(self, root, place, certified=None, requests=1000000):
        self.place, port = pathlib.Path(place), free_port()
        self.place.mkdir(parents=True)
        self.certificate = self.place / "server.pem"
        self.url, how = f"http://127.0.0.1:{port}", ""
        if certified:
            make_certificate(self.place, certified)
            self.url = f"https://localhost:{port}"
            how = (f" ssl http2; ssl_certificate {self.certificate}; "
                   f"ssl_certificate_key {self.place}/server.key")
        # Its workers would be somebody else, who may not read what only root may.
        user = "user root;" if os.geteuid() == 0 else ""
        config = self.place / "nginx.conf"
        config.write_text(CONFIG.format(place=self.place, root=root, port=port, how=how, user=user,
                                        requests=requests))
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

    def environment(self):
        """Variables with which a client goes to it, and trusts it."""
        trust = {"SSL_CERT_FILE": str(self.certificate)} if self.certificate.exists() else {}
        return {"NO_PROXY": "127.0.0.1,localhost", **trust}

    def log(self):
        return (self.place / "access.log").read_text()

    def clear_log(self):
        os.truncate(self.place / "access.log", 0)

    def sent(self, part="/"):
        """Requests and bytes of bodies since the log was cleared, of paths with `part` in them."""
        answers = [line.split(" ", 2) for line in self.log().splitlines() if part in line]
        return len(answers), sum(int(answer[1]) for answer in answers)

    def connections(self):
        """By connection since the log was cleared, the protocols of its requests."""
        found = {}
        for line in self.log().splitlines():
            request, connection = line.split('"')[1:]
            found.setdefault(int(connection), []).append(request.split()[-1])
        return found
