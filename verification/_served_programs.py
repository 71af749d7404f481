"""Commands of servers for `cure_servers`, each with files of its own under a folder.

Each server listens at a port of the loopback device and serves the folder `files`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

PORT: Final = 8080

NGINX: Final = """
worker_processes 2;
daemon off;
pid {folder}/nginx.pid;
error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    sendfile on;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
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
Server(("127.0.0.1", {port}), functools.partial(Handler, directory="{folder}/files")).serve_forever()
"""


def _written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text.format(folder=folder, port=PORT), encoding="utf-8")
    return file


def _nginx(folder: Path) -> list[str]:
    return ["nginx", "-p", str(folder), "-c", str(_written(folder, "nginx.conf", NGINX))]


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
    return ["python3", str(_written(folder, "server.py", PYTHON))]


SERVERS: Final[Mapping[str, Callable[[Path], list[str]]]] = {
    "nginx": _nginx,
    "apache2": _apache,
    "haproxy": _haproxy,
    "node": _node,
    "java": _java,
    "go": _go,
    "python3": _python,
}
"""By the name of the program that must be installed: a function that returns the command."""
