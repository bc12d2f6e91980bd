"""A WSGI application that answers `/wait` only after a request for `/go-on`."""

import threading

goes_on = threading.Event()


def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/wait":
        goes_on.wait(60)
    elif path == "/go-on":
        goes_on.set()
    start_response("200 OK", [("Content-Length", str(len(path)))])
    return [path.encode()]
