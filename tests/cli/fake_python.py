# SPDX-License-Identifier: Apache-2.0
"""A Python with packages made up by a test: nothing but metadata, and a TensorBoard that only answers HTTP."""
import os
import sys

SERVER = """\
import argparse, http.server, json, os, sys
parser = argparse.ArgumentParser()
for name in ("logdir", "host", "port"):
    parser.add_argument("--" + name)
args = parser.parse_args()
if os.environ.get("FAKE_TENSORBOARD") == "dies":
    sys.exit("the fake TensorBoard refuses to start")

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        runs = os.path.join(args.logdir, "plugins", "profile")
        body = {"/data/plugins_listing": {} if os.environ.get("FAKE_TENSORBOARD") == "no tab" else {"profile": {}},
                "/runs": {r: sorted(os.listdir(os.path.join(runs, r))) for r in os.listdir(runs)}}
        text = json.dumps(body.get(self.path, self.path)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass

http.server.HTTPServer((args.host, int(args.port)), Handler).serve_forever()
"""


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def entry_points(name, version):
    """What the packages of that name and version register with TensorBoard."""
    if name == "tbprof":
        return "[tensorboard_plugins]\ntbprof = tbprof.loader:Loader\n"
    if name in ("xprof", "tensorboard-plugin-profile"):
        module = name.replace("-", "_")
        return f"[tensorboard_plugins]\nprofile = {module}.profile_plugin_loader:ProfilePluginLoader\n"
    return ""


def make(folder, needs_pkg_resources=False, knows=None, **packages):
    """A program in folder/bin that has these packages (name=version, _ for -) and no others; with TensorBoard
    its script lies beside it."""
    site = os.path.join(folder, "site")
    for name, version in packages.items():
        info = os.path.join(site, f"{name}-{version}.dist-info")
        write(os.path.join(info, "METADATA"), f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\n"
                                              f"Version: {version}\n")
        write(os.path.join(info, "entry_points.txt"), entry_points(name.replace("_", "-"), version))
    if "tensorboard" in packages:
        text = "import pkg_resources\n" if needs_pkg_resources else "from importlib import metadata\n"
        write(os.path.join(site, "tensorboard", "__init__.py"), "raise SystemExit('imported')\n")
        write(os.path.join(site, "tensorboard", "default.py"), text)
    if "tbprof" in packages:
        write(os.path.join(site, "tbprof", "__init__.py"), "raise SystemExit('imported')\n")
        write(os.path.join(site, "tbprof", "activation.py"), f"KNOWN = {knows or ((2, 11, 2), (2, 24, 2))}  # first, last\n")
    python = write(os.path.join(folder, "bin", "python3"),
                   f"#!/bin/sh\nexport PYTHONPATH='{site}'\nexec '{sys.executable}' -S \"$@\"\n", 0o755)
    if "tensorboard" in packages:
        write(os.path.join(folder, "bin", "tensorboard"), f"#!{python}\n{SERVER}", 0o755)
    return python


def canned(path, **packages):
    """The same as a script that only answers doctor's question; other users can run it wherever Python lies."""
    lines = [("python", "3.11.7")]
    for name, version in packages.items():
        name = name.replace("_", "-")
        lines.append(("package", name, version))
        for entry in entry_points(name, version).split("\n")[1:-1]:
            lines.append(("plugin", name, version, *entry.split(" = ")))
    lines += [("knows", "2.11.2", "2.24.2")] * ("tbprof" in packages) + [("end",)]
    text = "".join("\t".join(("tbprof", *line)) + "\n" for line in lines)
    return write(path, f"#!/bin/sh\ncat <<'END'\n{text}END\n", 0o755)
