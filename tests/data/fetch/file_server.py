"""A small HTTP server on 127.0.0.1 with ranges, versions, and faults on request."""

import http.server
import re
import ssl
import threading
import time


class FileServer:
    """Serves `files` (name → bytes). Each request takes the next of `faults`, if there is one:

    a number        that status, with an empty page
    ("drop", n)     the connection ends after n bytes of the body
    ("stall", n)    nothing comes after n bytes of the body, until the server is closed
    ("redirect", u) to another URL
    "no-range"      the whole file, whatever was asked for
    None            none
    """

    def __init__(self, files, certificate=None):
        self.files = dict(files)
        self.faults = []
        self.requests = []  # (name, the range asked for or None, If-Range or None)
        self.versions = True  # ETag and Last-Modified
        self.edition = 1  # of all files
        self.checks_if_range = True
        self.retry_after = None
        self.bytes_per_second = None
        self.closing = threading.Event()
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.http.daemon_threads = True
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.http.server_port}/data"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self):
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()

    @property
    def ranges(self):
        return [asked for _, asked, _ in self.requests]

    def handler(self):
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.answer(self)

            def log_message(self, *_):
                pass

        return Handler

    def answer(self, request):
        name = request.path.rsplit("/", 1)[1]
        asked, if_range = request.headers.get("Range"), request.headers.get("If-Range")
        self.requests.append((name, asked, if_range))
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, int) or name not in self.files:
            return self.send_head(request, fault if isinstance(fault, int) else 404, 0)
        if fault and fault[0] == "redirect":
            return self.send_head(request, 302, 0, Location=fault[1])
        return self.send_file(request, self.files[name], fault)

    def send_head(self, request, status, length, **headers):
        request.send_response(status)
        request.send_header("Content-Length", str(length))
        if self.versions and status < 300:
            request.send_header("ETag", f'"edition-{self.edition}"')
            request.send_header("Last-Modified", f"Sat, 0{self.edition} Jan 2000 00:00:00 GMT")
        if self.retry_after and status == 503:
            request.send_header("Retry-After", str(self.retry_after))
        for key, value in headers.items():
            request.send_header(key.replace("_", "-"), value)
        request.end_headers()

    def send_file(self, request, data, fault):
        start, if_range = 0, request.headers.get("If-Range")
        is_current = if_range in (None, f'"edition-{self.edition}"') or not self.checks_if_range
        match = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        if match and is_current and fault != "no-range":
            start = int(match[1])
            if start >= len(data):
                return self.send_head(request, 416, 0, Content_Range=f"bytes */{len(data)}")
            place = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self.send_head(request, 206, len(data) - start, Content_Range=place)
        else:
            self.send_head(request, 200, len(data))
        body = data[start:]
        is_cut = isinstance(fault, tuple)
        try:
            self.send_body(request, body[: fault[1]] if is_cut else body)
        except (BrokenPipeError, ConnectionResetError):
            return None
        if is_cut and fault[0] == "stall":
            self.closing.wait(60)
        return None

    def send_body(self, request, body):
        step = len(body) if self.bytes_per_second is None else self.bytes_per_second // 50
        for begin in range(0, len(body), max(1, step)):
            request.wfile.write(body[begin : begin + step])
            if self.bytes_per_second is not None:
                time.sleep(0.02)
