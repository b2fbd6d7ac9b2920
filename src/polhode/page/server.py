"""The local server of `polhode view`: one page, for this computer and this user only.

It listens on 127.0.0.1. The address that is printed holds a token, which the first request exchanges for a cookie that
no script can read and no other site can use; without one of the two there is nothing to be had. The Host header must
be this server's own, so that a name of another site that was bent to 127.0.0.1 does not help. Only the page is served:
no request names a file. The address stands on the command line of the browser, which other users of this computer can
read while it starts: on Linux, where the kernel tells whose a connection is, theirs are refused, whatever they know.
"""

import errno
import hmac
import os
import secrets
import socket
import sys
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from polhode.page.html import header_policy

HOST = "127.0.0.1"

REQUEST_SECONDS = 10.0
"""How long a request may take to arrive: a connection that says nothing is closed."""
ENTRANCE = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>polhode</title></head>
<body><a href="/">the page</a></body></html>
"""
"""Answer to the address with the token: it leads to the page, so that the token does not stay in the address. After
a redirection instead, browsers would not send the cookie to those who come by a link from elsewhere."""
CONNECTIONS = ("/proc/net/tcp", "/proc/net/tcp6")
"""The kernel's lists of connections; a program can reach 127.0.0.1 by either kind."""


def user_of(port: int, to: int) -> int | None:
    """The number of the user who connected from one port of this computer to another; None: not known."""
    host = f"{int.from_bytes(socket.inet_aton(HOST), sys.byteorder):08X}"  # as the kernel writes it
    for file in CONNECTIONS:
        try:
            with open(file, encoding="ascii") as lines:
                for line in lines:
                    _, local, remote, _, _, _, _, user, *_ = line.split()
                    if local.endswith(f"{host}:{port:04X}") and remote.endswith(f"{host}:{to:04X}"):
                        return int(user)
        except (OSError, ValueError):  # another system, or a file of another form
            continue
    return None


class PortTaken(OSError):
    """Another program listens on the port."""


class PageServer(ThreadingHTTPServer):
    """Serves one page on a free port of this computer, or on a given one."""

    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # where it would let two programs have one port
    request_queue_size = 16

    def __init__(self, page: str, port: int = 0) -> None:
        self.page, self.token = page.encode(), secrets.token_urlsafe(24)
        self.policy = header_policy(page)
        try:
            super().__init__((HOST, port), _Handler)
        except PermissionError:
            raise PortTaken(
                f"port {port} may not be used: choose another, or leave --port out for a free one"
            ) from None
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise
            raise PortTaken(
                f"port {port} is taken by another program: choose another, or leave --port out for a free one"
            ) from None
        self.cookie = f"polhode-{self.server_port}"  # cookies do not know ports

    @property
    def address(self) -> str:
        """The address to open, with the token."""
        return f"http://{HOST}:{self.server_port}/?token={self.token}"

    def server_bind(self) -> None:
        """Binds without asking for the name of this computer, which can take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(self.allow_reuse_address))
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = HOST, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: a browser that closes its connection is no error."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: PageServer
    timeout = REQUEST_SECONDS
    server_version, sys_version = "polhode", ""
    error_content_type, error_message_format = "text/plain; charset=utf-8", "%(message)s\n"

    def do_GET(self) -> None:
        """Answers with the page, with a redirection that sets the cookie, or with a refusal."""
        user = user_of(self.client_address[1], self._port)
        if user not in (None, 0) and user != os.getuid():  # root can read everything in any case
            self._refuse(HTTPStatus.FORBIDDEN, "this page belongs to another user of this computer")
            return
        if self.headers.get_all("Host") not in ([f"{HOST}:{self._port}"], [f"localhost:{self._port}"]):
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "this server has another name")
            return
        asked = urlsplit(self.path)
        if asked.scheme or asked.netloc or asked.path != "/":
            self._refuse(HTTPStatus.NOT_FOUND, "there is one page only, at /")
            return
        tokens = parse_qs(asked.query).get("token", [])
        if len(tokens) == 1 and self._is_token(tokens[0]):
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header(
                "Set-Cookie", f"{self.server.cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
            )
            self._finish(ENTRANCE)
        elif self._has_cookie():
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self._finish(self.server.page)
        else:
            self._refuse(HTTPStatus.FORBIDDEN, "open the whole address that polhode printed, with its token")

    def __getattr__(self, name: str) -> Any:
        """Answers every other method with a refusal."""
        if name.startswith("do_"):
            return self._refuse_method
        raise AttributeError(name)

    def _refuse_method(self) -> None:
        self.send_response(HTTPStatus.METHOD_NOT_ALLOWED)
        self.send_header("Allow", "GET")
        self._finish(b"" if self.command == "HEAD" else b"only GET is answered\n")

    @property
    def _port(self) -> int:
        return self.server.server_port

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.server.token.encode())

    def _has_cookie(self) -> bool:
        try:
            cookie = SimpleCookie("; ".join(self.headers.get_all("Cookie", []))).get(self.server.cookie)
        except CookieError:
            return False
        return cookie is not None and self._is_token(cookie.value)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self._finish(f"{why}\n".encode())

    def _finish(self, body: bytes) -> None:
        for name, value in (
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", self.server.policy),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: the terminal is the user's, and the token is in the first line."""
