"""Servers for `cure_servers` and `cure_crowd`, each with files of its own under a folder.

Each server listens at a port of the loopback device and serves the folder `files`; redis stores values.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PORT: Final = 8080

NGINX: Final = """
worker_processes {workers};
worker_rlimit_nofile 20000;
daemon off;
pid {folder}/nginx.pid;
error_log stderr crit;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    sendfile on;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    server {{ listen 127.0.0.1:{port}{tls} backlog=16384; root {folder}/files; {keys} }}
}}
"""

APACHE: Final = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/apache.pid
ErrorLog /dev/null
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
Listen 127.0.0.1:{port}
DocumentRoot {folder}/files
<Directory {folder}/files>
    Require all granted
</Directory>
MaxKeepAliveRequests 0
ServerLimit 1
ThreadsPerChild 128
MaxRequestWorkers 128
"""

HAPROXY: Final = """
global
    maxconn 4096
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
frontend files
    bind 127.0.0.1:{port}
{responses}
"""

NODE: Final = """
const fs = require("fs"), http = require("http");
http.createServer((request, response) => {{
    const body = fs.readFileSync("{folder}/files" + request.url);
    response.writeHead(200, {{"Content-Length": body.length}});
    response.end(body);
}}).listen({port}, "127.0.0.1");
"""

JAVA: Final = """
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;

public class Server {{
    public static void main(String[] words) throws Exception {{
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", {port}), 1024);
        server.createContext("/", exchange -> {{
            byte[] body = Files.readAllBytes(Path.of("{folder}/files" + exchange.getRequestURI()));
            exchange.sendResponseHeaders(200, body.length);
            try (var out = exchange.getResponseBody()) {{ out.write(body); }}
        }});
        server.setExecutor(Executors.newFixedThreadPool(64));
        server.start();
    }}
}}
"""

GO: Final = """
package main

import "net/http"

func main() {{
	panic(http.ListenAndServe("127.0.0.1:{port}", http.FileServer(http.Dir("{folder}/files"))))
}}
"""

PYTHON: Final = """
import functools, http.server, socketserver
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_):
        pass
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 1024
    def __init__(self, *arguments):
        super().__init__(*arguments, bind_and_activate=False)
        if {mptcp}:
            self.socket = socketserver.socket.socket(proto=socketserver.socket.IPPROTO_MPTCP)
        self.server_bind()
        self.server_activate()
Server(("127.0.0.1", {port}), functools.partial(Handler, directory="{folder}/files")).serve_forever()
"""


def _written(folder: Path, name: str, text: str, *, port: int = PORT, **values: object) -> Path:
    file = folder / name
    file.write_text(text.format(folder=folder, port=port, **values), encoding="utf-8")
    return file


def nginx(folder: Path, port: int = PORT, *, workers: int = 2) -> list[str]:
    """Write the settings of nginx, and return its command."""
    settings = _written(folder, "nginx.conf", NGINX, port=port, workers=workers, tls="", keys="")
    return ["nginx", "-p", str(folder), "-c", str(settings)]


def _nginx_with_tls(folder: Path) -> list[str]:
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    made = ["-keyout", str(folder / "key"), "-out", str(folder / "certificate")]
    subprocess.run([*request, *made], check=True, capture_output=True)  # noqa: S603
    keys = f"ssl_certificate {folder}/certificate; ssl_certificate_key {folder}/key;"
    settings = _written(folder, "nginx.conf", NGINX, workers=2, tls=" ssl", keys=keys)
    return ["nginx", "-p", str(folder), "-c", str(settings)]


def _redis(folder: Path) -> list[str]:
    words = ["--port", str(PORT), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    return ["redis-server", *words]


def _apache(folder: Path) -> list[str]:
    return ["apache2", "-D", "FOREGROUND", "-f", str(_written(folder, "apache.conf", APACHE))]


def _haproxy(folder: Path) -> list[str]:
    lines = [
        f"    http-request return status 200 content-type text/plain file {file} "
        f"if {{ path /{file.name} }}"
        for file in sorted((folder / "files").iterdir())
        if file.stat().st_size < 15_000  # a response of HAProxy has to fit into a buffer
    ]
    text = HAPROXY.format(port=PORT, responses="\n".join(lines))
    (folder / "haproxy.conf").write_text(text, encoding="utf-8")
    return ["haproxy", "-f", str(folder / "haproxy.conf")]


def _node(folder: Path) -> list[str]:
    return ["node", str(_written(folder, "server.js", NODE))]


def _java(folder: Path) -> list[str]:
    return ["java", str(_written(folder, "Server.java", JAVA))]


def _go(folder: Path) -> list[str]:
    source, program = _written(folder, "server.go", GO), folder / "server"
    environment = {"CGO_ENABLED": "0", "HOME": str(folder), "PATH": "/usr/local/go/bin:/usr/bin"}
    command = [shutil.which("go") or "go", "build", "-o", str(program), str(source)]
    subprocess.run(command, check=True, env=environment)  # noqa: S603
    return [str(program)]


def _python(folder: Path) -> list[str]:
    return ["python3", str(_written(folder, "server.py", PYTHON, mptcp=False))]


def _python_with_mptcp(folder: Path) -> list[str]:
    return ["python3", str(_written(folder, "server.py", PYTHON, mptcp=True))]


@dataclass(frozen=True, slots=True)
class Served:
    """A server."""

    program: str
    """Name of the program that must be installed."""
    command: Callable[[Path], list[str]]
    """Function that writes the files of the server to a folder, and returns the command."""
    scheme: str = "http"
    """``http``, ``https`` or ``redis``."""
    largest: int = 300_000
    """Largest response in bytes."""
    is_static: bool = False


SERVERS: Final[Mapping[str, Served]] = {
    "nginx": Served("nginx", nginx),
    "nginx-tls": Served("nginx", _nginx_with_tls, scheme="https"),
    "apache2": Served("apache2", _apache),
    "haproxy": Served("haproxy", _haproxy, largest=15_000),
    "redis": Served("redis-server", _redis, scheme="redis"),
    "node": Served("node", _node),
    "java": Served("java", _java),
    "go": Served("go", _go, is_static=True),
    "python": Served("python3", _python),
    "python-mptcp": Served("python3", _python_with_mptcp),
}
"""The servers by name."""
