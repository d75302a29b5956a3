"""A server of objects on 127.0.0.1 for tests: plain HTTP with ranges, or S3 that checks every
signature itself; with a delay, a rate, and faults on request."""

import datetime
import hashlib
import hmac
import http.server
import re
import socketserver
import threading
import time
import urllib.parse

EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Keys:
    """What S3 signs and checks with."""

    def __init__(self, access="AKIDEXAMPLE", secret="wJalrXUtnFEMI+bPxRfiCYEXAMPLEKEY", token=None,
                 region="eu-test-1"):
        self.access, self.secret, self.token, self.region = access, secret, token, region

    def environment(self):
        """Variables that a client finds them in."""
        found = {"AWS_ACCESS_KEY_ID": self.access, "AWS_SECRET_ACCESS_KEY": self.secret,
                 "AWS_REGION": self.region}
        return {**found, "AWS_SESSION_TOKEN": self.token} if self.token else found

    def fault_in(self, request, skew):
        """Why a request is refused: a code of S3; None if it is signed as it should be."""
        header = request.headers.get("Authorization")
        if header is None:
            return "AccessDenied"
        match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
                             r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})", header)
        if not match:
            return "AuthorizationHeaderMalformed"
        access, day, region, names, signature = match.groups()
        names = names.split(";")
        moment = request.headers.get("x-amz-date", "")
        if access != self.access:
            return "InvalidAccessKeyId"
        if region != self.region:
            return "AuthorizationHeaderMalformed"
        if request.headers.get("x-amz-security-token") != self.token:
            return "ExpiredToken"
        unsigned = [name.lower() for name in request.headers
                    if name.lower().startswith("x-amz-") and name.lower() not in names]
        if unsigned or "host" not in names or not moment.startswith(day):
            return "AccessDenied"
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=skew)
        sent = datetime.datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs((now - sent).total_seconds()) > 900:
            return "RequestTimeTooSkewed"
        body = request.headers.get("x-amz-content-sha256")
        if body not in (EMPTY_SHA256, "UNSIGNED-PAYLOAD"):
            return "MissingSecurityHeader"
        url = urllib.parse.urlsplit(request.path)
        path = urllib.parse.quote(urllib.parse.unquote(url.path), safe="/-._~")
        lines = [f"{name}:{' '.join((request.headers[name] or '').split())}" for name in names]
        canonical = "\n".join(["GET", path, url.query, *lines, "", ";".join(names), body])
        scope = f"{day}/{region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", moment, scope,
                          hashlib.sha256(canonical.encode()).hexdigest()])
        key = sign(sign(sign(sign(b"AWS4" + self.secret.encode(), day), region), "s3"),
                   "aws4_request")
        expected = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        return None if hmac.compare_digest(expected, signature) else "SignatureDoesNotMatch"


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # clients that go away


class ObjectServer:
    """Serves the files below a folder. Each request takes the next of `faults`, or what `chance`
    (a function of nothing) gives:

    a number         that status; 429 and 503 ask to wait for `retry_after` seconds, if that is set
    ("cut", share)   the connection ends after that share of the body
    "slow"           half of the body, and the rest after a second
    "expired"        what S3 says of keys whose time is over
    "stall"          nothing comes, until the server is closed
    "long", "short"  another number of bytes than was asked for, as its headers say, too
    "wrong"          a byte is another one
    "whole"          the whole file, whatever was asked for
    None             none

    With `keys` (Keys) it is an S3 whose only bucket is `bucket`."""

    def __init__(self, folder, keys=None, bucket="cats"):
        self.folder, self.keys, self.bucket = folder, keys, bucket
        self.faults, self.chance = [], None
        self.delay = 0  # seconds before every answer
        self.rate = None  # bytes per second, of all connections together
        self.skew = 0  # of the clock, in seconds
        self.edition = 1  # of all files: changes their ETag
        self.retry_after = None
        self.requests = []  # (path, range)
        self.refusals = []
        self.sent = 0
        self.files = {}  # by path and time of change: bytes and their MD5
        self.at_once = self.most_at_once = 0  # requests that wait for their answers
        self.lock = threading.Lock()
        self.free_at = 0
        self.closing = threading.Event()
        self.http = Server(("127.0.0.1", 0), self.handler())
        self.endpoint = f"http://127.0.0.1:{self.http.server_port}"
        self.url = f"s3://{bucket}" if keys else self.endpoint
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def environment(self):
        """Variables of a client."""
        found = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        if self.keys:
            found |= {"AWS_ENDPOINT_URL_S3": self.endpoint, **self.keys.environment()}
        return found

    def close(self):
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()

    def handler(self):
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                server.answer(self)

            def log_message(self, *_):
                pass

        return Handler

    def answer(self, request):
        with self.lock:
            self.requests.append((request.path, request.headers.get("Range")))
            fault = self.faults.pop(0) if self.faults else self.chance and self.chance()
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self.delay)
        with self.lock:
            self.at_once -= 1
        refusal = self.keys and self.keys.fault_in(request, self.skew)
        if fault == "expired":
            refusal = "ExpiredToken"
        if refusal:
            self.refusals.append(refusal)
            access = self.keys.access if self.keys else ""
            return self.send(request, 403, f"<Error><Code>{refusal}</Code><AWSAccessKeyId>"
                                           f"{access}</AWSAccessKeyId></Error>".encode())
        if isinstance(fault, int):
            return self.send(request, fault, b"")
        path = urllib.parse.unquote(urllib.parse.urlsplit(request.path).path).lstrip("/")
        if self.keys:
            bucket, _, path = path.partition("/")
            if bucket != self.bucket:
                return self.send(request, 404, b"<Error><Code>NoSuchBucket</Code></Error>")
        file = self.folder / path
        if ".." in path.split("/") or not file.is_file():
            return self.send(request, 404, b"<Error><Code>NoSuchKey</Code></Error>")
        return self.send_file(request, file, fault)

    def read(self, file):
        key = (file, file.stat().st_mtime_ns)
        if key not in self.files:
            data = file.read_bytes()
            self.files[key] = data, hashlib.md5(data).hexdigest()
        return self.files[key]

    def send_file(self, request, file, fault):
        data, md5 = self.read(file)
        first, last = 0, len(data) - 1
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", ""))
        if match and fault != "whole":
            first, last = int(match[1]), min(int(match[2]), last)
            if first > last:
                return self.send(request, 416, b"")
        body = data[first : last + 1]
        if fault == "long":
            body += b"x"
        if fault == "short":
            body = body[:-1]
        if fault == "wrong" and body:
            at = len(body) // 2
            body = body[:at] + bytes([body[at] ^ 0x55]) + body[at + 1 :]
        headers = {"ETag": f'"{md5}-{self.edition}"'}
        if match and fault != "whole":
            headers["Content-Range"] = f"bytes {first}-{first + len(body) - 1}/{len(data)}"
        return self.send(request, 206 if len(headers) == 2 else 200, body, headers, fault)

    def send(self, request, status, body, headers=None, fault=None):
        if fault == "stall":
            self.closing.wait(60)
            request.close_connection = True
            return
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            request.send_header(name, value)
        if self.retry_after is not None and status in (429, 503):
            request.send_header("Retry-After", str(self.retry_after))
        request.end_headers()
        cut = isinstance(fault, tuple)
        try:
            if fault == "slow":
                self.send_body(request, body[: len(body) // 2])
                request.wfile.flush()
                self.closing.wait(1)
                body = body[len(body) // 2 :]
            self.send_body(request, body[: int(len(body) * fault[1])] if cut else body)
        except (BrokenPipeError, ConnectionResetError):
            cut = True
        if cut:
            request.wfile.flush()
            request.close_connection = True

    def send_body(self, request, body):
        with self.lock:
            self.sent += len(body)
        step = len(body) if self.rate is None else 1 << 16
        for begin in range(0, len(body), max(step, 1)):
            part = body[begin : begin + step]
            if self.rate is not None:
                with self.lock:
                    self.free_at = max(self.free_at, time.monotonic()) + len(part) / self.rate
                    wait = self.free_at - time.monotonic()
                time.sleep(max(wait, 0))
            request.wfile.write(part)
