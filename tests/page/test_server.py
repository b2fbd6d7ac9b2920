"""The local server, by raw requests: who gets the page, and who does not."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from polhode.page import server as page_server
from polhode.page.html import page_html
from polhode.page.server import PageServer, PortTaken
from tests.page.page_tools import products  # noqa: F401


@pytest.fixture
def server(products: object) -> Iterator[PageServer]:  # noqa: F811
    page = page_html({"version": 1, "title": "A flip", "runs": []})
    with PageServer(page) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def answer(server: PageServer, request: str) -> tuple[int, dict[str, list[str]], bytes]:
    """What the server answers to these bytes."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=600) as connection:
        connection.sendall(request.encode("latin-1"))
        connection.shutdown(socket.SHUT_WR)
        got = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = got.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers: dict[str, list[str]] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        headers.setdefault(name.lower(), []).append(value)
    return int(first.split()[1]), headers, body


def get(server: PageServer, path: str, *, host: str | None = None, cookie: str = "", method: str = "GET") -> tuple[
    int, dict[str, list[str]], bytes
]:  # fmt: skip
    host = host if host is not None else f"127.0.0.1:{server.server_port}"
    extra = f"Cookie: {cookie}\r\n" if cookie else ""
    return answer(server, f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{extra}\r\n")


def test_the_token_becomes_a_cookie_that_opens_the_page(server: PageServer) -> None:
    assert server.address.startswith("http://127.0.0.1:")
    code, headers, body = get(server, f"/?token={server.token}")
    (cookie,) = headers["set-cookie"]
    kept, *traits = cookie.split("; ")
    assert code == 200
    assert set(traits) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert b"polhode-data" not in body  # the page itself is at /, without the token
    code, headers, body = get(server, "/", cookie=f"other=1; {kept}")
    assert (code, body) == (200, server.page)
    assert headers["content-type"] == ["text/html; charset=utf-8"]
    assert "set-cookie" not in headers
    (policy,) = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith("frame-ancestors 'none'")
    assert headers["x-content-type-options"] == ["nosniff"]
    assert headers["referrer-policy"] == ["no-referrer"]
    assert headers["cache-control"] == ["no-store"]
    assert "access-control-allow-origin" not in headers
    code, _, body = get(server, "/", cookie=kept, host=f"localhost:{server.server_port}")
    assert code == 200


def test_nothing_without_token_or_cookie(server: PageServer) -> None:
    name = server.cookie
    for path, cookie in [
        ("/", ""), ("/?token=", ""), ("/?token=guess", ""), ("/?TOKEN=" + server.token, ""), ("/", f"{name}=guess"),
        ("/", f"polhode-1={server.token}"), (f"/?token=x&token={server.token}", ""), ("/?token=%ff%00", ""),
        ("/", f"{name}={server.token[:-1]}"), ("/", f"{name}=\xff"), ("/", "=;;=\x01"),
    ]:  # fmt: skip
        code, headers, body = get(server, path, cookie=cookie)
        assert (code, b"polhode-data" in body, "set-cookie" in headers) == (403, False, False), (path, cookie)
        assert server.token.encode() not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:{port}",
                                  "127.0.0.1:{port}\r\nHost: evil.example"])  # fmt: skip
def test_other_names_of_this_server_are_refused(server: PageServer, host: str) -> None:
    given = host.format(port=server.server_port)
    cookie = f"{server.cookie}={server.token}"
    assert get(server, "/", host=given, cookie=cookie)[0] == 421
    code, headers, _ = get(server, f"/?token={server.token}", host=given)
    assert code == 421
    assert "set-cookie" not in headers


def test_a_request_without_a_host_is_refused(server: PageServer) -> None:
    assert answer(server, f"GET /?token={server.token} HTTP/1.0\r\n\r\n")[0] == 421


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"])
def test_get_only(server: PageServer, method: str) -> None:
    code, headers, body = get(server, "/", cookie=f"{server.cookie}={server.token}", method=method)
    assert (code, headers["allow"]) == (405, ["GET"])
    assert b"polhode-data" not in body


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/../../etc/passwd", "//evil.example/", "/%2e%2e/", "/page.js", "/favicon.ico",
             "/index.html", "http://evil.example/"],
)  # fmt: skip
def test_no_file_can_be_asked_for(server: PageServer, path: str) -> None:
    code, _, body = get(server, path, cookie=f"{server.cookie}={server.token}")
    assert (code, b"root:" in body, b"polhode-data" in body) == (404, False, False)


@pytest.mark.parametrize(
    "request_", ["\x00\x01\x02\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /" + 70_000 * "a"]
)
def test_nonsense_is_answered_or_dropped(server: PageServer, request_: str) -> None:
    try:
        code, _, _ = answer(server, request_)
        assert 400 <= code < 600
    except (IndexError, ValueError, OSError):  # dropped, or answered without a status, as HTTP 0.9 has it
        pass
    assert get(server, "/")[0] == 403  # and it still works


def test_a_silent_connection_holds_nobody_up(server: PageServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)):
        assert get(server, "/")[0] == 403


def test_only_this_computer_is_listened_to(server: PageServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


KNOWS_USERS = sys.platform == "linux"
ASK = """import os, socket, sys
os.setuid(int(sys.argv[4]))
family, port = socket.AddressFamily[sys.argv[1]], int(sys.argv[2])
with socket.socket(family) as connection:
    connection.connect(("127.0.0.1" if family == socket.AF_INET else "::ffff:127.0.0.1", port))
    connection.sendall(f"GET /?token={sys.argv[3]} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n".encode())
    print(connection.recv(65536).decode())
"""
"""A program that knows the token, becomes another user, and asks for the page."""


@pytest.mark.skipif(not KNOWS_USERS, reason="NOT TESTED: only Linux tells whose a connection is")
@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
def test_another_user_who_knows_the_token_is_refused(server: PageServer, family: str) -> None:
    if os.getuid() != 0:
        pytest.skip("NOT TESTED: only root can become another user")
    program = [sys.executable, "-I", "-S", "-c", ASK, family, str(server.server_port), server.token]
    for user, status in ((0, "200 OK"), (65534, "403 Forbidden")):
        done = subprocess.run([*program, str(user)], capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"HTTP/1.0 {status}")
        assert ("Set-Cookie" in done.stdout) == (user == 0)


@pytest.mark.skipif(not KNOWS_USERS, reason="NOT TESTED: only Linux tells whose a connection is")
def test_the_user_behind_a_connection(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        port = connection.getsockname()[1]
        assert page_server.user_of(port, server.server_port) == os.getuid()
        assert page_server.user_of(port, 1) is None
    monkeypatch.setattr(page_server, "user_of", lambda port, to: os.getuid() + 1)
    code, headers, body = get(server, f"/?token={server.token}")
    assert (code, "set-cookie" in headers) == (403, False)
    assert body == b"this page belongs to another user of this computer\n"


def test_a_port_that_is_taken(server: PageServer) -> None:
    with pytest.raises(PortTaken, match=f"port {server.server_port} is taken by another program: choose another"):
        PageServer(server.page.decode(), server.server_port)


def test_tokens_differ(server: PageServer) -> None:
    with PageServer(server.page.decode()) as other:
        assert other.token != server.token
        assert len(other.token) >= 32
