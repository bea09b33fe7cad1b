# SPDX-License-Identifier: Apache-2.0
"""The plugin's page with our chart library in place of the public one.

The page of every generation loads its charts from one address in index.html. When that cannot be reached
(or TBPROF_CHARTS=local), the page is handed out with the address of our own library instead, which is
served as one more file of the plugin. The installed page stays as it is.
"""
import functools
import os
import socket
import threading

PUBLIC_HOST = "www.gstatic.com"
PUBLIC_ADDRESS = b"https://${domain}/charts/loader.js"
OWN_ROUTE = "/tbprof_charts.js"
PATIENCE_S = 2.0


class Choice:
    """Which library the page gets: decided once, in the background if the network has to be asked."""

    def __init__(self, wish, connect=socket.create_connection):
        self._connect = connect
        self.is_local = wish == "local"
        self._is_known = threading.Event()
        if wish in ("local", "remote"):
            self._is_known.set()
        else:
            threading.Thread(target=self._look, name="tbprof-charts", daemon=True).start()

    def _look(self):
        try:
            self._connect((PUBLIC_HOST, 443), timeout=PATIENCE_S).close()
        except OSError:
            self.is_local = True
        self._is_known.set()

    def wait(self):
        """True for our own; a page asked for before the network has answered waits for it, shortly."""
        self._is_known.wait(2 * PATIENCE_S)
        return self.is_local


def own_library():
    """Our library as bytes, or None if this build has none."""
    try:
        from tbprof import charts
        text = charts.bundle()
    except (ImportError, OSError):
        return None
    return text if isinstance(text, bytes) else text.encode("utf-8")


def rewrite(page):
    return page.replace(PUBLIC_ADDRESS, OWN_ROUTE[1:].encode("ascii"))


def install(plugin_class, respond):
    """Returns what the log says of it."""
    wish = os.environ.get("TBPROF_CHARTS", "auto").lower()
    library = own_library()
    if library is None or wish == "remote":
        return "public"
    choice = Choice(wish)
    read = plugin_class._read_static_file_impl  # pylint: disable=protected-access
    apps = plugin_class.get_plugin_apps

    @functools.wraps(read)
    def _read_static_file_impl(self, filename):
        contents = read(self, filename)
        return rewrite(contents) if filename == "index.html" and choice.wait() else contents

    @functools.wraps(apps)
    def get_plugin_apps(self):
        from werkzeug import wrappers
        own = wrappers.Request.application(lambda request: respond(library, "application/javascript"))
        return {**apps(self), OWN_ROUTE: own}

    plugin_class._read_static_file_impl = _read_static_file_impl  # pylint: disable=protected-access
    plugin_class.get_plugin_apps = get_plugin_apps
    return {"local": "own"}.get(wish, "own if the public ones cannot be reached")
