"""Configure nginx in front of a stack's web processes. nginx, not a panel thread, waits for slow clients."""

from pathlib import Path

from dnspanel.demo import unprivileged
from dnspanel.demo.ports import LOOPBACK

SHARED = unprivileged.CHECKOUT / "deploy" / "nginx"

# A single process without a master, so that a killed supervisor leaves no worker behind.
NGINX_CONF = """\
# Written at each start.
daemon off;
master_process off;
error_log stderr warn;
pid "{directory}/nginx.pid";
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    include "{shared}/http.conf";
    access_log /dev/stdout dnspanel buffer=16k flush=1s;
    client_body_temp_path "{directory}/bodies";
    proxy_temp_path "{directory}/answers";
    fastcgi_temp_path "{directory}/unused";
    scgi_temp_path "{directory}/unused";
    uwsgi_temp_path "{directory}/unused";
    upstream panel {{ server "unix:{web_socket}"; }}
    server {{
        listen {host}:{port};
        set $dnspanel_pages "{shared}";
        include "{shared}/proxy.conf";
        location / {{ proxy_pass http://panel; }}
    }}
}}
"""


def write_configuration(directory: Path, *, port: int, web_socket: Path) -> None:
    """Write an nginx.conf that makes nginx listen on `port` and pass complete requests to `web_socket`."""
    unprivileged.make_directory(directory)
    conf = NGINX_CONF.format(directory=directory, shared=SHARED, host=LOOPBACK, port=port, web_socket=web_socket)
    unprivileged.write(directory / "nginx.conf", conf)
