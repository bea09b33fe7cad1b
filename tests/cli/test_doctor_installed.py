#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doctor: which Python it asks, what is installed there, and Pythons that fail or hang."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import unittest

import fake_python
from support import TBPROF
import test_doctor
from test_doctor import SHIPPED


class Installed(test_doctor.DoctorCase):
    def setUp(self):
        super().setUp()
        self.copied()

    def test_no_python(self):
        self.finds("problem", "python", python=self.path("nothing"))
        broken = fake_python.write(self.path("broken"), "#!/bin/sh\necho broken for good >&2\nexit 3\n", 0o755)
        f = self.finds("problem", "python", python=broken)
        self.assertIn("exit code 3: broken for good", f["what"])

    def forking_python(self, name, then):
        """A Python that starts a program which holds its output open and ignores being asked to end."""
        return fake_python.write(self.path(name), "#!/bin/sh\n"
                                 "(trap '' TERM HUP; echo $$ > '%s'; while :; do sleep 1; done) &\n"
                                 "while [ ! -s '%s' ]; do sleep 0.01; done\n%s\n"
                                 .replace("echo $$", "sh -c 'echo $PPID'")
                                 % (self.path(name + ".pid"), self.path(name + ".pid"), then), 0o755)

    def has_ended(self, name):
        """Gone, or dead and not yet waited for by whoever adopted it."""
        with open(self.path(name + ".pid")) as f:
            pid = int(f.read())
        for _ in range(1000):
            try:
                with open(f"/proc/{pid}/stat") as f:
                    state = f.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                return True
            if state in "ZX":
                return True
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        return False

    def test_what_python_leaves_behind_is_ended(self):
        """It ends itself, answering or not, and is not waited for longer than it runs."""
        real = self.python()
        answers = self.forking_python("answers", f"'{real}' \"$@\"")
        self.clean(python=answers)
        self.assertTrue(self.has_ended("answers"))
        f = self.finds("problem", "python", python=self.forking_python("fails", "echo no; exit 3"))
        self.assertIn("exit code 3: no", f["what"])
        self.assertTrue(self.has_ended("fails"))

    def test_a_python_that_hangs_ends_with_doctor(self):
        """Interrupted while it waits: a group of its own gets no Ctrl-C."""
        python = self.forking_python("hangs", "while :; do sleep 1; done")
        with subprocess.Popen([TBPROF, "doctor", "--offline", "--python", python, self.log],
                              stdin=subprocess.DEVNULL) as doctor:
            while not os.path.exists(self.path("hangs.pid")) or not os.path.getsize(self.path("hangs.pid")):
                self.assertIsNone(doctor.poll())
                time.sleep(0.01)
            doctor.send_signal(signal.SIGINT)
            self.assertEqual(doctor.wait(), -signal.SIGINT)
        self.assertTrue(self.has_ended("hangs"))

    def test_no_tensorboard(self):
        f = self.finds("problem", "tensorboard", python=self.python(xprof="2.24.2"))
        self.assertIn("pip install tensorboard", f["to_do"])

    def test_tensorboard_that_cannot_start(self):
        f = self.finds("problem", "tensorboard", python=self.python(needs_pkg_resources=True, **SHIPPED))
        self.assertIn("pkg_resources", f["what"])

    def test_no_plugin(self):
        f = self.finds("problem", "plugin", python=self.python(tensorboard="2.20.0"))
        self.assertIn("pip install xprof", f["to_do"])

    def test_plugin_without_tensorflow(self):
        old = {"tensorboard": "2.18.0", "tensorboard_plugin_profile": "2.18.0"}
        self.finds("problem", "plugin", python=self.python("a", **old))
        self.clean(python=self.python("b", tensorflow_cpu="2.18.0", **old))

    def test_two_plugins(self):
        f = self.finds("problem", "conflict", python=self.python(tensorboard_plugin_profile="2.19.0", **SHIPPED))
        self.assertIn("tensorboard-plugin-profile 2.19.0", f["what"])
        self.assertIn("uninstall tensorboard-plugin-profile", f["to_do"])

    def test_two_tensorboards(self):
        self.finds("problem", "conflict", python=self.python(tb_nightly="2.21.0a1", **SHIPPED))

    def test_tbprof_turned_off_or_refusing(self):
        ours = self.python(tbprof="0.1.0", **SHIPPED)
        self.clean(python=ours)
        self.finds("note", "backend", python=ours, env={"TBPROF_BACKEND": "off"})
        newer = self.python("newer", tensorboard="2.20.0", xprof="2.25.0", tbprof="0.1.0")
        self.assertIn("does not know", self.finds("note", "backend", python=newer)["what"])
        self.clean(python=newer, env={"TBPROF_BACKEND": "on"})

    def test_charts(self):
        for k in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            os.environ.pop(k, None)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            closed = ["--chart-host", "127.0.0.1:%d" % s.getsockname()[1]]
            self.finds("note", "charts", None, *closed)
            old = self.python("old", tensorboard="2.19.0", tensorboard_plugin_profile="2.19.0")
            self.finds("problem", "charts", None, *closed, python=old)
            self.clean(None, *closed, python=self.python("ours", tbprof="0.1.0", **SHIPPED))
            self.clean(None, *closed, env={"https_proxy": "http://proxy"})
            self.clean(None, *closed, "--offline")
            s.listen()
            self.clean(None, *closed)

    def test_the_tensorboard_on_path_is_asked(self):
        python = self.python()
        path = {"PATH": os.path.dirname(python) + ":" + os.environ["PATH"]}
        answer = json.loads(self.expect(0, "doctor", "--json", "--offline", self.log, env=path).stdout)
        self.assertEqual(answer["python"]["program"], python)
        self.assertEqual(answer["python"]["plugin_version"], "2.24.2")

    def test_the_tensorboard_beside_tbprof_is_asked(self):
        """As in an environment that is not active; in an active one, or below another, PATH tells."""
        python, other = self.python("v"), self.python("other", tensorboard="2.19.0", xprof="2.20.0")
        folder, elsewhere, rest = os.path.dirname(python), os.path.dirname(other), os.environ["PATH"]
        tbprof = shutil.copy(TBPROF, folder)

        def asked(program, path, *args):
            r = subprocess.run([program, "doctor", "--json", "--offline", *args, self.log], capture_output=True,
                               text=True, check=True, env={**os.environ, "PATH": path})
            return json.loads(r.stdout)["python"]["program"]

        self.assertEqual(asked(tbprof, rest), python)
        self.assertEqual(asked(tbprof, elsewhere + ":" + rest), python)
        self.assertEqual(asked(tbprof, elsewhere + ":" + rest, "--python", other), other)
        self.assertEqual(asked("tbprof", folder + ":" + elsewhere + ":" + rest), python)
        self.assertEqual(asked("tbprof", elsewhere + ":" + folder + ":" + rest), other)
        os.mkdir(self.path("links"))
        os.symlink(tbprof, self.path("links", "tbprof"))
        self.assertEqual(asked("tbprof", self.path("links") + ":" + rest), python)

    def test_files_only_asks_nobody(self):
        answer = json.loads(self.expect(0, "doctor", "--json", "--files-only", self.log, env={"PATH": ""}).stdout)
        self.assertNotIn("python", answer)


if __name__ == "__main__":
    unittest.main()
