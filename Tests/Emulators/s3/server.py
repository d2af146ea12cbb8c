"""HTTP/1.1 by hand: a server that is to break off anywhere cannot leave that to a library."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import ssl
import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

from .bucket import Bucket, Object, encoded
from .faults import Fault, Faults
from .signature import Refused, check


@dataclass
class Request:
    """A request as it came; `status` is what it was answered with, 0 for nothing."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes = b""
    key: str = ""
    status: int = 0
    values: dict[str, str] = field(default_factory=dict)


@dataclass
class Answer:
    """What is sent."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class Gone(Exception):
    """The connection is to be closed without another word."""


class S3Server:
    """One bucket on a free port; use as a context manager.

    What a client must not send is answered with 400 and noted in `violations`, which tests compare
    with nothing at their end.
    """

    def __init__(
        self,
        bucket: str = "bucket",
        keys: dict[str, tuple[str, str | None]] | None = None,
        region: str = "us-east-1",
        name: str = "Emulator",
        host: str = "127.0.0.1",
        certificate: tuple[str, str] | None = None,
    ) -> None:
        self.bucket_name = bucket
        self.keys = keys or {"KEY": ("SECRET", None)}
        self.region = region
        self.name = name
        self.clock_offset = 0.0
        self.bucket = Bucket(self.now)
        self.faults = Faults()
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self.closing = threading.Event()
        self._lock = threading.Condition()
        self._open: set[socket.socket] = set()
        self.connections = 0
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        kind = type("Listener", (_Listener,), {"address_family": family})
        self._listener = kind((host, 0), _Connection)
        self._listener.owner = self
        self._context: ssl.SSLContext | None = None
        if certificate:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*certificate)
        self.port: int = self._listener.server_address[1]
        shown = f"[{host}]" if ":" in host else host
        self.host = f"{shown}:{self.port}"
        self.endpoint = f"{'https' if certificate else 'http'}://{self.host}"

    def __enter__(self) -> S3Server:
        threading.Thread(target=self._listener.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._listener.shutdown()
        self._listener.server_close()
        with self._lock:
            for connection in self._open:
                _close(connection)

    def now(self) -> float:
        return time.time() + self.clock_offset

    def fault(self, **what: Any) -> Fault:
        """Makes the server misbehave once, or `times` times."""
        return self.faults.add(Fault(**what))

    def lines(self, method: str | None = None) -> list[str]:
        """What was asked so far, such as `PUT key?partNumber=1`, in the order of the answers."""
        with self._lock:
            return [
                r.method + " " + r.key + ("?" if r.query else "") + r.query
                for r in self.requests
                if method in (None, r.method)
            ]

    def wait_for(self, count: int, method: str) -> None:
        """Waits until so many requests of a method were carried out."""
        with self._lock:
            done = lambda: sum(r.method == method for r in self.requests) >= count  # noqa: E731
            assert self._lock.wait_for(done, 30), f"{method} did not come {count} times"

    # What connections call.

    def opened(self, connection: socket.socket) -> socket.socket:
        if self._context:
            connection = self._context.wrap_socket(connection, server_side=True)
        with self._lock:
            self._open.add(connection)
            self.connections += 1
        return connection

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)

    def note(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)
            self._lock.notify_all()

    def violated(self, what: str) -> None:
        with self._lock:
            self.violations.append(what)

    def carry_out(self, request: Request, fault: Fault) -> Answer:
        """Does what a request asks."""
        try:
            check(request, self)
            with self.bucket.lock:
                return self._perform(request, fault)
        except Refused as refused:
            return refusal(refused)

    def _perform(self, request: Request, fault: Fault) -> Answer:
        method, key, values = request.method, request.key, request.values
        if not key:
            if method == "HEAD":
                return Answer(200, {"x-amz-bucket-region": self.region})
            if method == "GET" and values.get("list-type") == "2":
                return self._list(values)
            if method == "GET" and "uploads" in values:
                return self._list_uploads(values)
            raise Refused(405, "MethodNotAllowed")
        if "uploads" in values and method == "POST":
            upload = self.bucket.create(key, request.headers)
            return xml("InitiateMultipartUploadResult", f"<UploadId>{escape(upload)}</UploadId>")
        if "uploadId" in values:
            return self._multipart(request, values["uploadId"])
        if method == "PUT" and "x-amz-copy-source" in request.headers:
            source = unquote(request.headers["x-amz-copy-source"]).lstrip("/")
            name, _, source_key = source.partition("/")
            if name != self.bucket_name:
                raise Refused(404, "NoSuchBucket")
            stored = self.bucket.copy(key, request.headers, source_key)
            return xml("CopyObjectResult", f"<ETag>{escape(stored.etag)}</ETag>")
        if method == "PUT":
            stored = self.bucket.put(key, request.headers, request.body)
            return Answer(200, {"ETag": stored.etag})
        if method == "DELETE":
            self.bucket.objects.pop(key, None)
            return Answer(204)
        if method in ("GET", "HEAD"):
            return self._get(request, self.bucket.get(key), fault)
        raise Refused(405, "MethodNotAllowed")

    def _multipart(self, request: Request, upload: str) -> Answer:
        key, values = request.key, request.values
        if request.method == "PUT":
            number = int(values["partNumber"])
            part = self.bucket.part(upload, key, number, request.headers, request.body)
            return Answer(200, {"ETag": part.etag, **part.headers})
        if request.method == "POST":
            stored = self.bucket.complete(upload, key, request.headers, request.body)
            return xml("CompleteMultipartUploadResult", f"<ETag>{escape(stored.etag)}</ETag>")
        if request.method == "DELETE":
            self.bucket.abort(upload, key)
            return Answer(204)
        limit = min(1000, int(values.get("max-parts", "1000")))
        parts, more = self.bucket.parts(
            upload, key, int(values.get("part-number-marker", "0")), limit
        )
        text = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(part.etag)}</ETag>"
            f"<Size>{len(part.content)}</Size>"
            + "".join(f"<ChecksumCRC32C>{crc}</ChecksumCRC32C>" for crc in part.headers.values())
            + "</Part>"
            for number, part in parts
        )
        if more:
            text += f"<NextPartNumberMarker>{parts[-1][0]}</NextPartNumberMarker>"
        return xml("ListPartsResult", text + f"<IsTruncated>{str(more).lower()}</IsTruncated>")

    def _get(self, request: Request, stored: Object, fault: Fault) -> Answer:
        headers = {
            **stored.headers,
            "ETag": stored.etag,
            "Last-Modified": formatdate(stored.modified, usegmt=True),
            "Accept-Ranges": "bytes",
        }
        if request.headers.get("if-match", stored.etag) != stored.etag:
            raise Refused(412, "PreconditionFailed")
        size, wanted = len(stored.content), request.headers.get("range")
        if wanted is None or fault.whole:
            return Answer(200, headers, stored.content)
        start, _, end = wanted.removeprefix("bytes=").partition("-")
        first, last = int(start), min(int(end or size - 1), size - 1)
        if first > last:
            raise Refused(416, "InvalidRange")
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        return Answer(206, headers, stored.content[first : last + 1])

    def _list(self, values: dict[str, str]) -> Answer:
        limit = int(values.get("max-keys", "1000"))
        if values.get("encoding-type") != "url" or not 1 <= limit <= 1000:
            raise Refused(400, "InvalidArgument")
        after = values.get("start-after", "")
        if token := values.get("continuation-token"):
            # Opaque, with all that a careless client would spoil.
            if not token.startswith("+/= "):
                raise Refused(400, "InvalidArgument")
            after = token[4:]
        prefix, delimiter = values.get("prefix", ""), values.get("delimiter", "")
        entries, last = self.bucket.list(prefix, delimiter, after, limit)
        text = "<EncodingType>url</EncodingType>"
        for entry, stored in entries:
            if stored is not None:
                when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(stored.modified))
                text += (
                    f"<Contents><Key>{escape(encoded(entry))}</Key><LastModified>{when}"
                    f"</LastModified><ETag>{escape(stored.etag)}</ETag>"
                    f"<Size>{len(stored.content)}</Size></Contents>"
                )
            else:
                name = escape(encoded(entry))
                text += f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>"
        text += f"<IsTruncated>{str(last is not None).lower()}</IsTruncated>"
        if last is not None:
            text += f"<NextContinuationToken>{escape('+/= ' + last)}</NextContinuationToken>"
        return xml("ListBucketResult", text)

    def _list_uploads(self, values: dict[str, str]) -> Answer:
        text = "".join(
            f"<Upload><Key>{escape(upload.key)}</Key>"
            f"<UploadId>{escape(upload_id)}</UploadId></Upload>"
            for upload_id, upload in self.bucket.uploads.items()
            if upload.key.startswith(values.get("prefix", ""))
        )
        return xml("ListMultipartUploadsResult", text)


def xml(root: str, content: str) -> Answer:
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>{content}</{root}>'
    return Answer(200, {"Content-Type": "application/xml"}, text.encode())


def refusal(refused: Refused) -> Answer:
    more = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in refused.elements.items())
    answer = xml(
        "Error", f"<Code>{refused.code}</Code><Message>{escape(refused.message)}</Message>{more}"
    )
    answer.status = refused.status
    return answer


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


class _Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128
    owner: S3Server

    def handle_error(self, *_: object) -> None:
        """A client that goes away is no error of the server."""


class _Connection(socketserver.BaseRequestHandler):
    """Requests one after the other, as long as the client keeps asking."""

    def handle(self) -> None:
        server: S3Server = self.server.owner  # type: ignore[attr-defined]
        connection = server.opened(self.request)
        stream = connection.makefile("rb")
        try:
            while self._one(server, connection, stream):
                pass
        except (Gone, OSError):
            pass
        finally:
            stream.close()
            server.closed(connection)
            _close(connection)

    def _one(self, server: S3Server, connection: socket.socket, stream: Any) -> bool:
        request = self._head(server, stream)
        if request is None:
            return False
        fault = server.faults.take(request) or Fault()
        if fault.before:
            fault.before()
        if fault.gate:
            fault.gate.wait()
        if fault.delay:
            server.closing.wait(fault.delay)
        if fault.drop_before:
            server.note(request)
            raise Gone
        length = int(request.headers.get("content-length", "0"))
        if fault.drop_during is not None:
            stream.read(min(length, fault.drop_during))
            server.note(request)
            raise Gone
        request.body = stream.read(length)
        if len(request.body) < length:
            raise Gone
        answer = self._answer(server, request, fault)
        if fault.status_shown is not None:
            answer.status = fault.status_shown
        request.status = answer.status
        server.note(request)
        if fault.drop_after:
            raise Gone
        self._send(server, connection, request, answer, fault)
        return True

    def _head(self, server: S3Server, stream: Any) -> Request | None:
        line = stream.readline(65_537).decode("latin-1").rstrip("\r\n")
        if not line:
            return None
        method, target, version = line.split(" ")
        path, _, query = target.partition("?")
        headers: dict[str, str] = {}
        while field_line := stream.readline(65_537).decode("latin-1").rstrip("\r\n"):
            name, _, value = field_line.partition(":")
            name = name.lower()
            if name in headers:
                server.violated(f"{name} twice")
            headers[name] = value.strip()
        request = Request(method, path, query, headers)
        request.values = dict(parse_qsl(query, keep_blank_values=True))
        bucket, _, key = path.removeprefix("/").partition("/")
        request.key = unquote(key)
        self._be_strict(server, request, version, unquote(bucket))
        return request

    def _be_strict(self, server: S3Server, request: Request, version: str, bucket: str) -> None:
        headers = request.headers
        rules = {
            "not HTTP/1.1": version != "HTTP/1.1",
            "wrong Host": headers.get("host") != server.host,
            "Expect": "expect" in headers,
            "chunked": "transfer-encoding" in headers,
            "aws-chunked": "aws-chunked" in headers.get("content-encoding", ""),
            "compression asked for": headers.get("accept-encoding", "identity") != "identity",
            "a body without length": request.method in ("PUT", "POST")
            and "content-length" not in headers,
            "another bucket": bucket != server.bucket_name,
            "no checksum": request.method == "PUT"
            and "x-amz-copy-source" not in headers
            and not {"content-md5", "x-amz-checksum-crc32c"} & set(headers),
        }
        for what, is_broken in rules.items():
            if is_broken:
                server.violated(f"{request.method} {request.path}: {what}")

    def _answer(self, server: S3Server, request: Request, fault: Fault) -> Answer:
        if fault.status is not None:
            answer = refusal(Refused(fault.status, fault.code))
            if not fault.code:
                answer.body = b""
            answer.headers |= fault.headers
            return answer
        if fault.body is not None:
            return Answer(200, dict(fault.headers), fault.body)
        return server.carry_out(request, fault)

    def _send(
        self,
        server: S3Server,
        connection: socket.socket,
        request: Request,
        answer: Answer,
        fault: Fault,
    ) -> None:
        headers = {
            "Server": server.name,
            "Date": formatdate(server.now(), usegmt=True),
            "Content-Length": str(len(answer.body)),
            **answer.headers,
        }
        for name, value in fault.replace.items():
            found = next((n for n in headers if n.lower() == name.lower()), name)
            headers.pop(found, None)
            if value is not None:
                headers[found] = value
        head = f"HTTP/1.1 {answer.status} X\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        body = b"" if request.method == "HEAD" or answer.status == 204 else answer.body
        if fault.truncate is not None:
            connection.sendall(head.encode("latin-1") + body[: fault.truncate])
            raise Gone
        if fault.stall is not None:
            connection.sendall(head.encode("latin-1") + body[: fault.stall])
            server.closing.wait()
            raise Gone
        if fault.drip is None:
            connection.sendall(head.encode("latin-1") + body)
            return
        connection.sendall(head.encode("latin-1"))
        for start in range(0, len(body), fault.drip):
            connection.sendall(body[start : start + fault.drip])
            if server.closing.wait(fault.pause):
                raise Gone
