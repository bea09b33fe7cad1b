#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doctor: log directories and installations broken in one way each; it names that way and nothing else."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest

import fake_python
import support
from support import SAMPLE, TBPROF, TWO_HOSTS, Case, sums

XPT = os.environ.get("XPT", "")
RUN = os.path.join("plugins", "profile", "2026_11_28_00_21_30")
SSTABLE_END = bytes.fromhex("57fb808b247547db")
SHIPPED = {"tensorboard": "2.20.0", "xprof": "2.24.2"}


class DoctorCase(Case):
    def setUp(self):
        super().setUp()
        self.log = self.path("log")

    def healthy(self, *how, folder=None):
        """A log directory as convert writes it."""
        self.expect(0, "convert", "--quiet", "-o", folder or self.log, SAMPLE, *how)
        return folder or self.log

    def copied(self, *below):
        """The sample's xplane in a run folder, and a marker."""
        folder = os.path.join(self.log, *below, RUN)
        os.makedirs(folder)
        shutil.copy(SAMPLE, os.fsdecode(folder))
        self.event_file(self.log, *below)
        return os.path.join(folder, "worker0.xplane.pb")

    def event_file(self, *folder):
        with open(os.path.join(*folder, "events.out.tfevents.1.h"), "wb") as f:
            f.write(b"x")

    def cache(self, *path):
        """As little as is whole of a cache of the plugin."""
        name = os.path.join(*path)
        with open(name, "wb") as f:
            f.write(SSTABLE_END if name.endswith(".SSTABLE") else b"\x0a\x00" if name.endswith(".pb") else b"{}")
        return name

    def from_text(self, text, name="h.xplane.pb"):
        path = os.path.join(self.log, RUN, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.event_file(self.log)
        source = self.path(name + ".xpt")
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run([XPT, "to-pb", source, path], check=True)
        return path

    def python(self, name="py", **packages):
        return fake_python.make(self.path(name), **(packages or SHIPPED))

    def look(self, path=None, *args, python=None, **kw):
        """Findings as (level, check), and the whole answer."""
        args = list(args) or ["--offline"]
        args += ["--python", python or self.python()]
        r = support.run("doctor", "--json", *args, path or self.log, **kw)
        answer = json.loads(r.stdout)
        problems = [f for f in answer["findings"] if f["level"] == "problem"]
        self.assertEqual(r.returncode, 1 if problems else 0, answer)
        self.assertEqual(answer["healthy"], not problems)
        for f in answer["findings"]:
            self.assertTrue(f["where"] and f["what"], f)
        return [(f["level"], f["check"]) for f in answer["findings"]], answer

    def finds(self, level, check, path=None, *args, **kw):
        """The one finding, which is this."""
        found, answer = self.look(path, *args, **kw)
        self.assertEqual(found, [(level, check)], answer)
        return answer["findings"][0]

    def clean(self, path=None, *args, **kw):
        found, answer = self.look(path, *args, **kw)
        self.assertEqual(found, [], answer)


class Healthy(DoctorCase):
    def test_what_convert_writes_is_clean(self):
        self.healthy()
        self.clean()
        text = self.expect(0, "doctor", "--offline", "--python", self.python("other"), self.log).stdout
        self.assertIn("1 run, 1 xplane", text)
        self.assertIn("TensorBoard 2.20.0, xprof 2.24.2", text)
        self.assertTrue(text.endswith("nothing is wrong\n"))

    def test_every_generation_has_something_that_is_clean(self):
        self.healthy("--for", "legacy", folder=self.path("pages"))
        self.copied()
        for version in ("2.2.0", "2.3.0", "2.8.0", "2.11.2", "2.18.0", "2.19.0"):
            old = self.python(version, tensorboard="2.19.0", tensorboard_plugin_profile=version, tensorflow="2.18.0")
            self.clean(self.path("pages"), python=old)
            if version > "2.4" or version.startswith("2.1"):
                self.clean(python=old)
        for version in ("2.19.1", "2.19.9"):
            self.clean(python=self.python(version, tensorboard="2.19.0", tensorboard_plugin_profile=version))
        for version in ("2.20.0", "2.22.3", "2.24.2", "2.30.1"):
            self.clean(python=self.python(version, tensorboard="2.20.0", xprof=version))

    def test_nothing_is_imported_or_changed(self):
        self.copied()
        before = sums(self.tmp)
        self.clean(python=self.python(tbprof="0.1.0", **SHIPPED))
        self.assertEqual({p: s for p, s in sums(self.tmp).items() if p in before}, before)

    def test_a_profile_folder_may_be_a_link_and_links_may_be_loops(self):
        self.copied()
        os.rename(os.path.join(self.log, "plugins"), self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), os.path.join(self.log, "plugins"))
        os.symlink(self.log, os.path.join(self.log, "again"))
        self.clean()

    def test_folders_that_plugins_find_all_the_same(self):
        """Hidden ones, and links from plugins to profile and to runs, also to folders in the same log directory:
        xprof 2.24.2 lists all of them."""
        xplane = self.copied("a")
        self.copied(".hidden", "deep")
        shutil.copytree(os.path.dirname(xplane), os.path.join(self.log, "a", "plugins", "profile", ".run"))
        os.makedirs(os.path.join(self.log, "A", "plugins"))
        self.event_file(self.log, "A")
        os.symlink("../../a/plugins/profile", os.path.join(self.log, "A", "plugins", "profile"))
        os.makedirs(os.path.join(self.log, "b", "plugins", "profile"))
        self.event_file(self.log, "b")
        os.symlink("../../../stray", os.path.join(self.log, "b", "plugins", "profile", "run"))
        os.makedirs(os.path.join(self.log, "stray"))
        shutil.copy(SAMPLE, os.path.join(self.log, "stray"))
        with open(os.path.join(self.log, "stray", "worker0.xplane.pb"), "ab") as f:
            f.write(b"\x0a\x00") # no copy of another run's
        self.clean()
        self.assertEqual(self.look()[1]["runs"], 6) # A and a: two each
        self.assertEqual(self.look(None, "--offline", "--fix")[1]["repairs"], [])

    def test_every_check_is_tested_here(self):
        self.healthy()
        here = os.path.dirname(os.path.abspath(__file__))
        source = ""
        for path in ("test_doctor.py", "test_doctor_damage.py", "test_doctor_installed.py",
                     os.path.join("..", "capture", "test_gpu.py")):
            with open(os.path.join(here, path), encoding="utf-8") as f:
                source += f.read()
        checks = self.look()[1]["checks"]
        self.assertEqual(len({c["name"] for c in checks}), len(checks))
        for check in checks:
            self.assertTrue(check["help"])
            self.assertIn(f'"{check["name"]}"', source)


class Folders(DoctorCase):
    def test_one_level_off(self):
        self.copied()
        for below in ("plugins", "plugins/profile", RUN, os.path.join(RUN, "worker0.xplane.pb")):
            f = self.finds("problem", "level", os.path.join(self.log, below))
            self.assertIn(f"--logdir '{self.log}'", f["to_do"])
        f = self.finds("problem", "level", ".", cwd=os.path.join(self.log, RUN))
        self.assertIn(f"--logdir '{self.log}'", f["to_do"])

    def test_beside_the_profiles(self):
        self.copied()
        os.makedirs(os.path.join(self.log, "train", "checkpoints"))
        f = self.finds("problem", "level", os.path.join(self.log, "train", "checkpoints"))
        self.assertIn(f"--logdir '{self.log}'", f["to_do"])

    def test_a_lone_file(self):
        f = self.finds("problem", "level", shutil.copy(SAMPLE, self.tmp))
        self.assertIn("tbprof view", f["to_do"])

    def test_path_that_is_not_there(self):
        self.expect(2, "doctor", self.log)
        self.expect(2, "doctor")

    def test_nothing_saved(self):
        os.makedirs(self.log)
        self.finds("problem", "no-data")
        os.makedirs(os.path.join(self.log, "plugins", "profile"))
        self.assertIn("empty folder plugins/profile", self.finds("problem", "no-data")["what"])
        open(os.path.join(self.log, "w.123.pt.trace.json"), "w").close()
        self.assertIn("PyTorch", self.finds("problem", "no-data")["to_do"])

    def test_receipt_tells_which_file_differs(self):
        self.healthy("--semantics", "official")
        folder = os.path.join(self.log, "plugins", "profile", os.listdir(os.path.join(self.log, "plugins", "profile"))[0])
        page = os.path.join(folder, "worker0.overview_page.json")
        with open(page, "r+b") as f:
            f.write(b'[{"COLS"')  # same size, as whole as before
        f = self.finds("problem", "receipt", self.log, "--files-only")
        self.assertEqual(f["where"], page)
        self.assertTrue(f["what"].endswith(": it has other bytes"), f)
        os.remove(page)
        self.assertIn("1 file that is not there ('worker0.overview_page.json')", self.finds("note", "receipt")["what"])
        xplane = os.path.join(folder, "worker0.xplane.pb")
        with open(xplane, "ab") as f:
            f.write(b"\x0a\x00")  # one more plane, empty
        found, answer = self.look()
        self.assertEqual(found, [("note", "receipt"), ("problem", "receipt")])
        self.assertEqual(answer["findings"][1]["where"], xplane)
        self.assertIn("it has another size", answer["findings"][1]["what"])

    def test_receipt_of_an_xplane_converted_in_place(self):
        xplane = self.copied()
        self.expect(0, "convert", "--quiet", "--semantics", "official", self.log)
        self.clean()
        with open(xplane, "ab") as f:
            f.write(b"\x0a\x00")
        self.assertIn("what the pages were made of", self.finds("problem", "receipt")["what"])

    def test_receipt_of_a_conversion_that_was_killed(self):
        self.healthy()
        folder = os.path.join(self.log, "plugins", "profile", os.listdir(os.path.join(self.log, "plugins", "profile"))[0])
        name = os.path.join(folder, "worker0.tbprof.json")
        with open(name) as f:
            text = f.read()
        with open(name, "w") as f:
            f.write(text.replace('"complete":true', '"complete":false'))
        self.assertIn("did not come to its end", self.finds("problem", "receipt")["what"])

    def test_old_cache(self):
        xplane = self.copied()
        folder = os.path.dirname(xplane)
        os.utime(xplane, (2000, 2000))
        for name, time in (("ALL_HOSTS.op_stats_v2.pb", 1939), ("worker0.SSTABLE", 2000), ("other.SSTABLE", 1)):
            os.utime(self.cache(folder, name), (time, time))
        found, answer = self.look(self.log, "--files-only")
        self.assertEqual(found, [("problem", "old-cache")])
        self.assertEqual(answer["findings"][0]["where"], os.path.join(folder, "ALL_HOSTS.op_stats_v2.pb"))

    def test_old_cache_or_a_copy_without_times(self):
        xplane = self.copied()
        cache = self.cache(os.path.dirname(xplane), "ALL_HOSTS.op_stats_v2.pb")
        os.utime(cache, (2000, 2000))
        for time, level in ((2060, "note"), (2061, "problem")):
            os.utime(xplane, (time, time))
            found, answer = self.look(self.log, "--files-only")
            self.assertEqual(found, [(level, "old-cache")])
            self.assertEqual("60 s older" in answer["findings"][0]["what"], level == "note")
        os.utime(xplane, (2000, 2000))
        self.assertEqual(self.look(self.log, "--files-only")[0], [])

    def test_flat_folder(self):
        shutil.copytree(os.path.dirname(self.copied()), self.path("flat"))
        self.finds("problem", "layout", self.path("flat"))
        before = sums(self.path("flat"))
        found, answer = self.look(self.path("flat"), "--offline", "--fix")
        self.assertEqual((found, [r["check"] for r in answer["repairs"]]), ([], ["layout"]))
        self.clean(self.path("flat"))
        after = sums(self.path("flat"))
        self.assertEqual({p: after[p] for p in before}, before)
        linked, = [p for p in after if p.startswith("plugins/profile/") and p.endswith("/worker0.xplane.pb")]
        self.assertTrue(os.path.samefile(self.path("flat", linked), self.path("flat", "worker0.xplane.pb")))
        self.assertEqual(len([p for p in after if p.endswith(".profile-empty")]), 1)
        os.remove(self.path("flat", "worker0.xplane.pb"))
        self.assertEqual(sums(self.path("flat"))[linked], before["worker0.xplane.pb"])

    def test_flat_folder_of_links(self):
        """The run gets the file, not a second link to the first, which may go."""
        shutil.copy(SAMPLE, self.path("data"))
        os.makedirs(self.log)
        os.symlink("../data", os.path.join(self.log, "w.xplane.pb"))
        self.look(None, "--offline", "--fix")
        self.clean()
        os.remove(os.path.join(self.log, "w.xplane.pb"))
        run, = os.listdir(os.path.join(self.log, "plugins", "profile"))
        self.assertTrue(os.path.samefile(os.path.join(self.log, "plugins", "profile", run, "w.xplane.pb"), self.path("data")))

    def test_flat_folder_on_another_file_system(self):
        try:
            far = tempfile.TemporaryDirectory(dir="/dev/shm")
        except OSError:
            self.skipTest("no /dev/shm to write to")
        self.addCleanup(far.cleanup)
        os.makedirs(self.log)
        if os.stat(far.name).st_dev == os.stat(self.log).st_dev:
            self.skipTest("no second file system")
        shutil.copy(SAMPLE, far.name)
        before = sums(far.name)
        os.symlink(far.name, os.path.join(self.log, "far"))
        self.look(None, "--offline", "--fix")
        self.clean()
        self.assertEqual(sums(far.name), before)
        linked = os.path.join(self.log, "plugins", "profile", "far", "worker0.xplane.pb")
        self.assertEqual(os.readlink(linked), os.path.join(far.name, "worker0.xplane.pb"))

    def test_not_listed(self):
        """Behind a link to a folder above plugins, and below a log directory whose name is a pattern."""
        new, old = self.python(), self.python("old", tensorboard="2.19.0", tensorboard_plugin_profile="2.19.0")
        self.copied("elsewhere")
        os.makedirs(os.path.join(self.log, "up"))
        os.symlink("../elsewhere", os.path.join(self.log, "up", "link"))
        self.clean(python=new) # found by its own path
        up = os.path.join(self.log, "up")
        self.assertEqual(self.finds("problem", "not-listed", up, python=new)["where"], os.path.join(up, "link"))
        self.assertEqual([f["level"] for f in self.look(up, "--files-only")[1]["findings"]], ["note"])
        self.clean(up, python=old)
        self.clean(os.path.join(up, "link"), python=new)
        for name, is_hidden in (("we[i]rd", True), ("[]]", True), ("[!a]", True), ("q*x?", False), ("[i", False),
                                ("i][", False), ("[]", False)):
            folder = os.path.join(self.log, name)
            shutil.copytree(os.path.join(self.log, "elsewhere"), folder)
            self.clean(folder, python=new) # the runs of the log directory itself
            shutil.copytree(os.path.join(self.log, "elsewhere"), os.path.join(folder, "train"))
            self.clean(folder, python=old)
            if is_hidden:
                f = self.finds("problem", "not-listed", folder, python=new)
                self.assertEqual(f["where"], os.path.join(folder, "train"))
                self.finds("problem", "not-listed", name, python=new, cwd=self.log)
            else:
                self.clean(folder, python=new)
        os.symlink("we[i]rd", self.path("plain"))
        os.rename(os.path.join(self.log, "we[i]rd"), self.path("we[i]rd"))
        self.clean(self.path("plain"), python=new) # what TensorBoard gets has no brackets

    def test_links_to_nothing(self):
        os.makedirs(os.path.join(self.log, "plugins", "profile"))
        for link in ("plugins/profile/run", "train/plugins", "test/plugins/profile"):
            os.makedirs(os.path.join(self.log, os.path.dirname(link)), exist_ok=True)
            for target in (os.path.basename(link), "nowhere"):
                os.symlink(target, os.path.join(self.log, link))
                f = self.finds("problem", "no-file")
                self.assertEqual(f["where"], os.path.join(self.log, link))
                self.assertIn("is a link to nothing, or to itself", f["what"])
                os.remove(os.path.join(self.log, link))

    def test_run_folders_in_the_wrong_place(self):
        for below in ("runs/a", "profile/b", "plugins/profile"):
            os.makedirs(os.path.join(self.log, below), exist_ok=True)
            shutil.copy(SAMPLE, os.path.join(self.log, below, os.path.basename(below) + ".xplane.pb"))
        found, _ = self.look()
        self.assertEqual(found, [("problem", "layout")] * 3)
        self.look(None, "--offline", "--fix")
        self.clean()
        self.assertTrue({"a", "b"} < set(os.listdir(os.path.join(self.log, "plugins", "profile"))))

    def test_marker(self):
        self.copied("train")
        os.remove(os.path.join(self.log, "train", "events.out.tfevents.1.h"))
        old = self.python("old", tensorboard="2.18.0", tensorboard_plugin_profile="2.18.0", tensorflow="2.18.0")
        f = self.finds("problem", "marker", python=old)
        self.assertEqual(f["where"], os.path.join(self.log, "train"))
        self.finds("note", "marker")  # the newest plugin needs none
        open(os.path.join(self.log, "train", "events.out.tfevents.1.h.profile-empty"), "w").close()
        self.assertIn("0 bytes", self.finds("problem", "marker", python=old)["what"])
        found, answer = self.look(None, "--offline", "--fix", python=old)
        self.assertEqual((found, [r["check"] for r in answer["repairs"]]), ([], ["marker"]))
        marker, = [n for n in os.listdir(os.path.join(self.log, "train")) if "tfevents" in n]
        self.assertEqual(os.path.getsize(os.path.join(self.log, "train", marker)), 40)
        self.clean(python=old)

    def user(self):
        """Somebody for whom rights of files count, as arguments of subprocess.run."""
        os.chmod(self.tmp, 0o755)
        if os.getuid():
            return {}
        try:
            subprocess.run([TBPROF, "--version"], check=True, capture_output=True, user="nobody")
        except (OSError, subprocess.SubprocessError):
            self.skipTest("another user cannot run tbprof here")
        return {"user": "nobody"}

    def test_permission(self):
        xplane = self.copied()
        who = {"python": fake_python.canned(self.path("py"), **SHIPPED), **self.user()}
        os.chmod(os.path.dirname(xplane), 0o777)
        self.clean(**who)
        os.chmod(xplane, 0)
        self.assertEqual(self.finds("problem", "permission", **who)["where"], xplane)
        os.chmod(xplane, 0o644)
        os.chmod(os.path.dirname(xplane), 0)
        self.finds("problem", "permission", **who)
        os.chmod(os.path.dirname(xplane), 0o644)  # names may be listed, and no more: not "no file in it"
        self.assertEqual(self.finds("problem", "permission", **who)["where"], os.path.dirname(xplane))
        os.chmod(os.path.dirname(xplane), 0o755)
        profile = os.path.dirname(os.path.dirname(xplane))
        os.chmod(profile, 0o644)
        self.assertEqual(self.finds("problem", "permission", **who)["where"], profile)
        os.chmod(profile, 0o755)

    def test_run_that_may_not_be_written(self):
        """As plugins 2.19.0 and 2.24.2 answer about such runs: no list of tools without programs or a note of none
        beside the xplane; with caches all is shown; older ones, which it cannot remove, make every page an error."""
        xplane, who = self.copied(), self.user()
        folder = os.path.dirname(xplane)
        self.addCleanup(os.chmod, folder, 0o755)
        new = fake_python.canned(self.path("new"), **SHIPPED)
        old = fake_python.canned(self.path("old"), tensorboard="2.19.0", tensorboard_plugin_profile="2.19.0")
        ours = fake_python.canned(self.path("ours"), tbprof="0.1.0", **SHIPPED)

        def after(*files):
            os.chmod(folder, 0o755)
            for name, text in files:
                with open(os.path.join(folder, name), "w") as f:
                    f.write(text)
            os.chmod(folder, 0o555)

        after()
        for python in (new, old):
            self.assertIn("lists no page", self.finds("problem", "read-only", python=python, **who)["what"])
        self.assertIn("of programs are missing", self.finds("note", "read-only", python=ours, **who)["what"])
        after(("NO_MODULE.hlo_proto.pb", ""))
        for python in (new, old):
            self.assertIn("trace viewer stays empty", self.finds("note", "read-only", python=python, **who)["what"])
        os.chmod(folder, 0o755)
        self.cache(folder, "worker0.SSTABLE")
        after(("cache_version.txt", "2.24.2"))
        self.clean(python=new, **who)
        after(("cache_version.txt", "2.23.1"))
        self.assertIn("each page that it makes fails", self.finds("problem", "caches", python=new, **who)["what"])

    def test_pages_that_may_not_be_written(self):
        self.healthy("--for", "legacy")
        folder = os.path.join(self.log, "plugins", "profile", os.listdir(os.path.join(self.log, "plugins", "profile"))[0])
        self.addCleanup(os.chmod, folder, 0o755)
        os.chmod(folder, 0o555)
        old = fake_python.canned(self.path("old"), tensorboard="2.19.0", tensorboard_plugin_profile="2.19.0")
        self.clean(python=old, **self.user())


class Files(DoctorCase):
    def test_run_without_data(self):
        self.copied()
        os.makedirs(os.path.join(self.log, "plugins", "profile", "empty"))
        self.assertIn("remove the folder", self.finds("problem", "empty-run")["to_do"])
        for name, told in (("m.hlo_proto.pb", "'m.hlo_proto.pb'"), ("a.zip", "'a.zip' and 1 more")):
            open(os.path.join(self.log, "plugins", "profile", "empty", name), "w").close()
            found = self.finds("problem", "empty-run")
            self.assertTrue(found["what"].endswith("no *.xplane.pb is in it, but " + told), found)
            self.assertNotIn("remove", found["to_do"])

    def test_names_that_are_not_read(self):
        xplane = self.copied()
        for name in ("worker0.xplane.pb.gz", "worker0.xplane.pb.part", "worker0.xplane (1).pb", "xplane.pb",
                     "perfetto_trace.json.gz", "w.1.pt.trace.json.gz", "worker0.trace.json"):
            renamed = os.path.join(os.path.dirname(xplane), name)
            os.rename(xplane, renamed)
            self.assertEqual(self.finds("problem", "file-names")["where"], renamed)
            os.rename(renamed, xplane)

    def test_names_of_packed_xplanes(self):
        """A new name would not undo the packing; convert reads gzip and zip, and no other."""
        xplane = self.copied()
        for ending, tool in (("gz", "gunzip"), ("bz2", "bunzip2"), ("lz4", "lz4 -d"), ("xz", "xz -d"),
                             ("zst", "zstd -d"), ("zip", "unzip")):
            renamed = f"{xplane}.{ending}"
            os.rename(xplane, renamed)
            f = self.finds("problem", "file-names")
            self.assertEqual(f["where"], renamed)
            self.assertIn(f"with '{tool}'", f["to_do"])
            self.assertEqual("tbprof convert" in f["to_do"], ending in ("gz", "zip"))
            os.rename(renamed, xplane)

    def test_names_that_the_page_cannot_ask_for(self):
        xplane = os.fsencode(self.copied())
        folder, ours = os.path.dirname(xplane), self.python("ours", tbprof="0.1.0", **SHIPPED)
        for name, words in ((b"a\nb", "line break"), (b"a\xff", "not UTF-8")):
            renamed = os.path.join(folder, name + b".xplane.pb")
            os.rename(xplane, renamed)
            self.assertIn(words, self.finds("problem", "names")["what"])
            os.rename(renamed, xplane)
        os.rename(xplane, folder + b"/a\tb.xplane.pb")
        self.clean() # the plugin alone takes it
        self.assertIn("control characters", self.finds("problem", "names", python=ours)["what"])
        os.rename(folder + b"/a\tb.xplane.pb", folder + b"/ALL_HOSTS.xplane.pb")
        self.clean() # is all hosts
        with open(shutil.copy(SAMPLE, os.fsdecode(folder)), "ab") as f:
            f.write(b"\x0a\x00") # another host's
        self.assertIn("stands for all hosts", self.finds("problem", "names")["what"])
        os.remove(folder + b"/ALL_HOSTS.xplane.pb")
        os.rename(folder, folder + b"\xff")
        self.assertIn("not UTF-8", self.finds("problem", "names")["what"])
        os.rename(folder + b"\xff", folder + b"\n")
        self.clean()
        self.assertIn("control characters", self.finds("problem", "names", python=ours)["what"])

    def test_hidden_xplane(self):
        """xprof 2.24.2 lists pages of such a run and no host; plugins up to 2.15.2 look for names by TensorFlow's glob."""
        xplane = self.copied()
        hidden = os.path.join(os.path.dirname(xplane), ".worker0.xplane.pb")
        os.rename(xplane, hidden)
        f = self.finds("problem", "names")
        self.assertEqual((f["where"], f["to_do"]), (hidden, "rename it"))
        self.assertIn("is hidden", f["what"])
        self.clean(python=self.python("old", tensorboard="2.15.0", tensorboard_plugin_profile="2.15.2",
                                      tensorflow="2.15.0"))

    def test_names_newer_than_the_plugin(self):
        xplane = self.copied()
        older = self.python("older", tensorboard="2.4.1", tensorboard_plugin_profile="2.3.0", tensorflow="2.4.4")
        self.finds("problem", "file-names", python=older)
        os.rename(xplane, xplane.replace(".pb", ".riegeli"))
        self.finds("problem", "file-names", python=self.python("old", tensorboard="2.20.0", xprof="2.22.3"))
        self.clean()

    def test_pages_that_only_older_plugins_show(self):
        self.healthy("--for", "legacy")
        self.assertIn("xprof 2.24.2", self.finds("problem", "pages-only")["what"])
        self.clean(python=self.python("old", tensorboard="2.19.0", tensorboard_plugin_profile="2.19.0"))
        self.healthy("--for", "all", folder=self.path("both"))
        self.finds("note", "pages-only", self.path("both"))  # the run beside it shows

    def test_pages_and_xplane_beside_each_other(self):
        self.healthy()
        for version, words in (("2.19.0", "does not show"), ("2.8.0", "instead of converting")):
            old = self.python(version, tensorboard="2.19.0", tensorboard_plugin_profile=version, tensorflow="2.8.4")
            self.assertIn(words, self.finds("note", "hidden-files", python=old)["what"])

    def test_empty_file(self):
        xplane = self.copied()
        open(xplane, "w").close()
        self.assertIn("record again", self.finds("problem", "empty-file")["to_do"])
        shutil.copy(SAMPLE, xplane)
        open(os.path.join(os.path.dirname(xplane), "._worker0.xplane.pb"), "w").close()
        self.assertIn("remove it", self.finds("problem", "empty-file")["to_do"])
        self.healthy("--for", "legacy", folder=self.path("pages"))
        old = self.python("old", tensorboard="2.19.0", tensorboard_plugin_profile="2.19.0")
        open(self.path("pages", RUN, "worker0.kernel_stats.pb"), "w").close()  # a table without rows
        self.clean(self.path("pages"), python=old)
        open(self.path("pages", RUN, "worker0.overview_page.json"), "w").close()
        found, _ = self.look(self.path("pages"), python=old)
        self.assertEqual(found, [("problem", "empty-file"), ("problem", "receipt")])

    def test_what_is_no_file(self):
        """Beside a profile: a pipe and a socket, which nothing opens, a dead link and a folder with the name of one."""
        xplane = self.copied()
        os.mkfifo(os.path.join(self.log, RUN, "pipe.xplane.pb"))
        os.mkfifo(os.path.join(self.log, RUN, "unimportant"))
        os.mkdir(os.path.join(self.log, RUN, "folder.xplane.pb"))
        os.symlink("nowhere", os.path.join(self.log, RUN, "link.xplane.pb"))
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(os.path.join(self.log, RUN, "socket.xplane.pb"))
            found, answer = self.look()
        self.assertEqual(found, [("problem", "no-file")] * 4)
        self.assertEqual([f["what"].split(",")[0] for f in answer["findings"]],
                         ["is a folder", "is a link to nothing", "is a pipe", "is a socket"])
        os.remove(os.path.join(self.log, RUN, "link.xplane.pb"))
        os.symlink("link.xplane.pb", os.path.join(self.log, RUN, "link.xplane.pb"))
        self.assertIn("or to itself", self.look()[1]["findings"][1]["what"])
        os.remove(xplane)  # "no *.xplane.pb is in it, but 'link.xplane.pb'" would contradict itself
        self.assertEqual(self.look()[0], [("problem", "no-file")] * 4)
        os.mkfifo(self.path("pipe"))
        self.assertEqual(self.finds("problem", "level", self.path("pipe"))["what"],
                         "is a pipe; TensorBoard wants the log directory")

    def test_damaged(self):
        xplane = self.copied()
        with open(SAMPLE, "rb") as f:
            whole = f.read()
        for bytes_, words in ((whole[:len(whole) // 2], "damaged or cut short"), (b"\x1f\x8b" + whole, "gzip"),
                              (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
                              (b"<!DOCTYPE html><html></html>", "web page"), (b"\xff" * 100, "")):
            with open(xplane, "wb") as f:
                f.write(bytes_)
            self.assertIn(words, self.finds("problem", "damaged")["what"])

    def test_a_copy_beside_its_file(self):
        xplane = self.copied()
        for make in (shutil.copy, os.link, lambda a, b: os.symlink(os.path.basename(a), b)):
            twin = os.path.join(os.path.dirname(xplane), "worker0 (1).xplane.pb")
            make(xplane, twin)
            self.assertEqual(self.finds("problem", "twice")["where"], xplane)
            os.remove(twin)

    def test_xplane_below_a_run(self):
        xplane = self.copied()
        below = os.path.join(os.path.dirname(xplane), "host0")
        os.mkdir(below)
        os.rename(xplane, os.path.join(below, "worker0.xplane.pb"))
        self.assertEqual(self.finds("problem", "layout")["where"], below)
        os.rename(below, xplane) # a folder that is called like the file in it
        found, _ = self.look()
        self.assertEqual(found, [("problem", "layout"), ("problem", "no-file")])

    def test_files_in_place_of_folders(self):
        os.makedirs(self.log)
        for path in ("plugins", "plugins/profile"):
            where = shutil.copy(SAMPLE, os.path.join(self.log, path))
            f = self.finds("problem", "no-file")
            self.assertEqual(f["where"], where)
            self.assertIn("is a file where a folder should be", f["what"])
            os.remove(where)
            os.makedirs(os.path.join(self.log, "plugins"), exist_ok=True)

    def test_copies_not_finished_and_capitals(self):
        xplane = self.copied()
        for name, words in (("WORKER0.XPLANE.PB", "rename"), (".worker0.xplane.pb.Xy12ab", "not finished"),
                            (".worker0.xplane.pb.icloud", "download")):
            renamed = os.path.join(os.path.dirname(xplane), name)
            os.rename(xplane, renamed)
            self.assertIn(words, self.finds("problem", "file-names")["to_do"])
            os.rename(renamed, xplane)

    def test_no_events(self):
        self.from_text('hostname "h"\nplane 1 "/host:CPU"\n')
        self.finds("problem", "no-events")

    def test_host_plane(self):
        self.from_text('plane 1 "/device:GPU:0"\n  line 1 "Stream #1"\n    0 +1us "kernel"\n')
        self.clean()
        old = {"tensorboard": "2.19.0", "tensorboard_plugin_profile": "2.19.0"}
        self.finds("problem", "host-plane", python=self.python("old", **old))
        self.clean(python=self.python("with-ours", tbprof="0.1.0", **old))

    def test_file_size(self):
        xplane = self.copied()
        with open(xplane, "ab") as f:  # a field that nobody knows, 2 GiB of nothing
            f.write(b"\xa2\x06\x80\x80\x80\x80\x08")
            f.truncate(f.tell() + (1 << 31))
        self.finds("problem", "file-size")

    def test_failure_of_the_recorder(self):
        self.from_text('error "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES\\nfor user"\nplane 1 "/host:CPU"\n'
                       '  line 1 "t"\n    0 +1us "op"\n')
        f = self.finds("note", "recorder")
        self.assertIn("INSUFFICIENT_PRIVILEGES", f["what"])
        text = self.expect(0, "doctor", "--files-only", self.log).stdout
        self.assertEqual(len(text.split("\n")), 4, text)  # one line, whatever the message holds

    def test_several_hosts(self):
        os.makedirs(self.log)
        shutil.copytree(os.path.join(TWO_HOSTS, "plugins"), os.path.join(self.log, "plugins"))
        self.event_file(self.log)
        for version in ("2.22.2", "2.22.3", "2.23.1"):
            old = self.python(version, tensorboard="2.20.0", xprof=version)
            self.assertIn("No worker service stub", self.finds("problem", "several-hosts", python=old)["what"])
        self.clean()
        ours = self.python("ours", tensorboard="2.20.0", xprof="2.22.3", tbprof="0.1.0")
        self.clean(python=ours)
        found, _ = self.look(python=ours, env={"TBPROF_BACKEND": "Off"})
        self.assertEqual(found, [("note", "backend"), ("problem", "several-hosts")])

    def test_caches_of_another_version(self):
        folder = os.path.dirname(self.copied())
        self.cache(folder, "worker0.SSTABLE")
        for version, level in (("2.23.1", "note"), ("2.24.2\n", None), ("2.9.0", "problem"), ("9", "problem")):
            with open(os.path.join(folder, "cache_version.txt"), "w") as f:
                f.write(version)
            if level:
                self.finds(level, "caches")
            else:
                self.clean()
        with open(os.path.join(folder, "cache_version.txt"), "w") as f:
            f.write("2.24.2")
        self.finds("problem", "caches", python=self.python("old", tensorboard="2.19.0", xprof="2.20.0"))

    def test_caches_of_several_generations(self):
        """Each fact once: what the plugin makes again, or does not read, cannot show an old profile."""
        xplane = self.copied()
        folder = os.path.dirname(xplane)

        def fill(version, *names):
            for name in os.listdir(folder):
                if not name.endswith(".xplane.pb"):
                    os.remove(os.path.join(folder, name))
            for name in (*names, ".cached_tools.json"):
                self.cache(folder, name)
            if version:
                with open(os.path.join(folder, "cache_version.txt"), "w") as f:
                    f.write(version)
            for name in os.listdir(folder): # all are older than the xplane
                os.utime(os.path.join(folder, name), (5000, 5000) if name.endswith(".xplane.pb") else (1000, 1000))

        plugins = {v: self.python(v, tensorboard="2.20.0", xprof=v) for v in ("2.20.0", "2.21.6", "2.22.3", "2.24.2")}
        old, new = "worker0.op_stats.pb", "ALL_HOSTS.op_stats_v2.pb"
        stale, alike = ("problem", "old-cache"), ("problem", "caches")
        again = [("note", "caches")]
        for version, names, found in (
                (None, (old, new, "worker0.SSTABLE"), {"2.20.0": [stale] * 2, "2.21.6": again, "2.22.3": again,
                                                       "2.24.2": again}),
                ("2.21.6", (old, new, "worker0.SSTABLE"), {"2.20.0": [alike, stale, stale], "2.21.6": [stale] * 2,
                                                           "2.22.3": again, "2.24.2": again}),
                ("2.24.2", (old, new, "worker0.SSTABLE"), {"2.21.6": [alike, stale, stale],
                                                           "2.22.3": [alike, stale, stale], "2.24.2": [stale] * 2}),
                ("2.9.0", (new,), {"2.20.0": [], "2.24.2": [alike, stale]}),
                ("2.21.6", (old,), {"2.20.0": [alike, stale], "2.24.2": []}),
                ("2.23.1", (), {"2.24.2": []})):
            fill(version, *names)
            for plugin, expected in found.items():
                with self.subTest(version=version, names=names, plugin=plugin):
                    self.assertEqual(self.look(python=plugins[plugin])[0], expected)

    def test_many_alike_stay_on_one_screen(self):
        for i in range(40):
            os.makedirs(os.path.join(self.log, "plugins", "profile", f"r{i:02}"))
        r = self.expect(1, "doctor", "--files-only", self.log)
        self.assertLess(len(r.stdout.split("\n")), 12)
        self.assertIn("and 35 more of 'empty-run'", r.stdout)


if __name__ == "__main__":
    unittest.main()
