# SPDX-License-Identifier: Apache-2.0
"""What a run folder holds after several conversions into it: one by one, at once, of other inputs, of other hosts."""
import fcntl
import json
import os
import re
import shutil
import subprocess
import unittest
import zlib

from support import SAMPLE, TBPROF, TWO_HOSTS, Case, sums

WORKERS = [os.path.join(TWO_HOSTS, "plugins", "profile", "2026_11_28_00_22_17", f"worker{i}.xplane.pb") for i in (0, 1)]


class Runs(Case):
    def folder(self, run="r", log="log"):
        return self.path(log, "plugins", "profile", run)

    def convert(self, *args, run="r", log="log"):
        return self.expect(0, "convert", "-o", self.path(log), "--run", run, *args)

    def check_receipt(self, folder, host):
        """The receipt tells of every file of the host, and truly."""
        with open(os.path.join(folder, host + ".tbprof.json")) as f:
            receipt = json.load(f)
        self.assertTrue(receipt["complete"])
        self.assertEqual({e["name"] for e in receipt["files"]},
                         {n for n in os.listdir(folder) if n.startswith(host + ".") and not n.endswith(".tbprof.json")})
        for e in receipt["files"]:
            with open(os.path.join(folder, e["name"]), "rb") as f:
                data = f.read()
            self.assertEqual((e["bytes"], e["crc32"]), (len(data), zlib.crc32(data)), e["name"])
        return receipt

    def test_two_inputs_at_once_leave_the_set_of_one(self):
        wanted = []
        for i, source in enumerate((SAMPLE, WORKERS[1])):
            self.convert("--host", "h", source, log=f"alone{i}")
            wanted.append(sums(self.folder(log=f"alone{i}")))
        for k in range(12):
            log = f"log{k}"
            both = [subprocess.Popen([TBPROF, "convert", "-q", "-o", self.path(log), "--run", "r", "--host", "h", source],
                                     stderr=subprocess.PIPE) for source in (SAMPLE, WORKERS[1])]
            for p in both:
                self.assertEqual((p.communicate(timeout=240)[1], p.returncode), (b"", 0))
            self.assertIn(sums(self.folder(log=log)), wanted)
            self.check_receipt(self.folder(log=log), "h")

    def test_second_conversion_waits_and_says_what_it_replaces(self):
        self.convert("--host", "h", SAMPLE)
        held = os.open(self.folder(), os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(held, fcntl.LOCK_EX)
        p = subprocess.Popen([TBPROF, "convert", "-o", self.path("log"), "--run", "r", "--host", "h", WORKERS[1]],
                             stderr=subprocess.PIPE, text=True)
        self.assertIn("waiting for another tbprof", p.stderr.readline())
        os.close(held)
        self.assertIn("replaces what was converted from 'worker0.xplane.pb'", p.communicate(timeout=240)[1])
        self.assertEqual(p.returncode, 0)
        answer = json.loads(self.convert("--host", "h", "--json", SAMPLE).stdout)
        self.assertEqual(answer["runs"][0]["hosts"][0]["replaced"], "worker1.xplane.pb")

    def replaced(self, *args):
        """What a conversion says that it replaces, in words and as JSON; both agree."""
        host = json.loads((r := self.convert("--host", "h", "--json", *args)).stdout)["runs"][0]["hosts"][0]
        if "replaced" not in host:
            self.assertNotIn("replaces", r.stderr)
            return None
        self.assertIn(f"host 'h': replaces what was converted from '{host['replaced']}' ({host['replaced_reading']}, "
                      f"tbprof {host['replaced_version']})", r.stderr)
        return host["replaced"], host["replaced_reading"]

    def test_whatever_changes_the_files_is_said_to_be_replaced(self):
        self.assertIsNone(self.replaced(SAMPLE))
        self.assertIsNone(self.replaced(SAMPLE))
        copy = self.path("copy.xplane.pb")
        shutil.copy(SAMPLE, copy)
        self.assertIsNone(self.replaced(copy))  # the same bytes
        self.assertEqual(self.replaced(copy, "--semantics", "official"), ("copy.xplane.pb", "repair"))
        self.assertEqual(self.replaced(SAMPLE, "--steps", "none"), ("copy.xplane.pb", "official"))
        self.assertEqual(self.replaced(SAMPLE), ("worker0.xplane.pb", "repair steps none"))
        receipt = os.path.join(self.folder(), "h.tbprof.json")
        with open(receipt) as f:
            text = f.read()
        with open(receipt, "w") as f:
            f.write(re.sub(r'"tbprof":"[^"]*"', '"tbprof":"0.0.9"', text))
        self.assertEqual(self.replaced(SAMPLE), ("worker0.xplane.pb", "repair"))
        self.assertIsNone(self.replaced(SAMPLE))

    def test_pages_apart_that_are_replaced_are_told_too(self):
        self.assertIsNone(self.replaced(WORKERS[1], "--for", "all"))
        shutil.rmtree(self.folder())
        self.assertEqual(self.replaced(SAMPLE, "--for", "all"), ("worker1.xplane.pb", "repair"))

    def test_pages_of_all_hosts_that_go_are_told(self):
        self.convert(*WORKERS)
        for name in os.listdir(self.folder()):
            if name.startswith("worker1."):
                os.remove(os.path.join(self.folder(), name))
        n = sum(name.startswith("ALL_HOSTS.") and not name.endswith(".tbprof.json") for name in os.listdir(self.folder()))
        r = self.convert("--json", WORKERS[0])
        self.assertIn(f"removed {n} files of all hosts together: it has one host", r.stderr)
        self.assertEqual(json.loads(r.stdout)["runs"][0]["all_hosts_removed"], n)
        self.assertFalse([name for name in os.listdir(self.folder()) if name.startswith("ALL_HOSTS")])

    def test_folder_that_vanishes_while_waiting(self):
        os.makedirs(self.folder())
        held = os.open(self.folder(), os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(held, fcntl.LOCK_EX)
        p = subprocess.Popen([TBPROF, "convert", "-o", self.path("log"), "--run", "r", SAMPLE], stderr=subprocess.PIPE,
                             text=True)
        p.stderr.readline()
        os.rmdir(self.folder())
        os.close(held)
        p.communicate(timeout=240)
        self.assertEqual(p.returncode, 0)
        self.check_receipt(self.folder(), "worker0")

    def test_pages_of_another_input_do_not_stay(self):
        self.convert("--host", "h", SAMPLE)
        r = self.convert("--host", "h", "--tools", "overview_page", WORKERS[1])
        self.assertIn("of before removed", r.stderr)
        self.assertEqual(sorted(os.listdir(self.folder())), ["h.overview_page.json", "h.tbprof.json", "h.xplane.pb"])
        self.check_receipt(self.folder(), "h")

    def test_pages_of_the_same_input_stay(self):
        self.convert("--host", "h", SAMPLE)
        before = sums(self.folder())
        self.convert("--host", "h", "--tools", "overview_page", SAMPLE)
        after = sums(self.folder())
        self.assertEqual(set(after), set(before))
        self.check_receipt(self.folder(), "h")

    def test_failure_leaves_every_older_file(self):
        self.convert("--host", "h", SAMPLE)
        before = sums(self.path("log"))
        script = f"ulimit -f 8; exec '{TBPROF}' convert '{WORKERS[1]}' --host h --run r -o '{self.path('log')}'"
        r = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertEqual(sums(self.path("log")), before)

    # ---- receipts of others ----

    def test_receipts_that_are_traps(self):
        self.convert(SAMPLE)
        name = os.path.join(self.folder(), "worker0.tbprof.json")
        for text in ('{"tbprof":"1","files":' + "[" * 500000, '{"a":1,' * 300000, "[" * 9000000):
            with open(name, "w") as f:
                f.write(text)
            r = self.expect(2, "convert", "-o", self.path("log"), "--run", "r", SAMPLE)
            self.assertIn("not a receipt of tbprof", r.stderr)
        os.remove(name)
        os.mkfifo(name)
        r = self.expect(2, "convert", "-o", self.path("log"), "--run", "r", SAMPLE)
        self.assertIn("not a receipt of tbprof", r.stderr)

    def test_pipe_at_the_place_of_a_page(self):
        self.convert(SAMPLE)
        page = os.path.join(self.folder(), "worker0.overview_page.json")
        os.remove(page)
        os.mkfifo(page)
        r = self.expect(0, "convert", "-o", self.path("log"), "--run", "r", SAMPLE)
        self.assertIn(f"kept '{page}'", r.stderr)

    def test_receipt_does_not_speak_for_files_of_others(self):
        self.convert("--host", "h", SAMPLE)
        victims = [os.path.join(self.folder(), "notes.txt"), self.path("log", "notes.txt")]
        receipt = os.path.join(self.folder(), "h.tbprof.json")
        with open(receipt) as f:
            told = json.load(f)
        for victim, name in zip(victims, ("notes.txt", "../../../notes.txt")):
            with open(victim, "w") as f:
                f.write("mine")
            told["files"].append({"name": name, "bytes": 4, "crc32": zlib.crc32(b"mine")})
        with open(receipt, "w") as f:
            json.dump(told, f)
        self.convert("--host", "h", WORKERS[1])
        for victim in victims:
            self.assertTrue(os.path.exists(victim), victim)

    # ---- legacy beside an xplane ----

    def test_legacy_replaces_our_own_xplane(self):
        self.convert(SAMPLE)
        r = self.convert("--for", "legacy", SAMPLE)
        self.assertNotIn("hides the pages", r.stderr)
        self.assertNotIn("worker0.xplane.pb", os.listdir(self.folder()))
        self.check_receipt(self.folder(), "worker0")
        self.convert(SAMPLE)
        self.assertIn("worker0.xplane.pb", os.listdir(self.folder()))

    def test_legacy_keeps_the_xplane_of_others_and_says_so(self):
        os.makedirs(self.folder())
        shutil.copy(WORKERS[0], os.path.join(self.folder(), "worker0.xplane.pb"))
        before = sums(self.folder())
        self.assertIn("hides the pages", self.convert("--for", "legacy", SAMPLE).stderr)
        self.assertEqual({n: s for n, s in sums(self.folder()).items() if n in before}, before)

    def test_legacy_of_the_xplane_itself_goes_beside_it(self):
        self.convert(SAMPLE)
        before = sums(self.folder())
        xplane = os.path.join(self.folder(), "worker0.xplane.pb")
        self.convert("--for", "legacy", xplane)
        self.assertEqual(sums(self.folder()), before)
        self.assertNotIn("worker0.xplane.pb", os.listdir(self.folder("r_pages")))

    def test_changed_xplane_is_someone_elses(self):
        self.convert(SAMPLE)
        with open(os.path.join(self.folder(), "worker0.xplane.pb"), "ab") as f:
            f.write(b"\x00")
        self.assertIn("hides the pages", self.convert("--for", "legacy", SAMPLE).stderr)
        self.assertIn("worker0.xplane.pb", os.listdir(self.folder()))

    # ---- copies ----

    def test_input_written_anew_in_place_does_not_change_the_run(self):
        source = shutil.copy(SAMPLE, self.path("worker0.xplane.pb"))
        os.chmod(source, 0o644)
        for mask in (0o022, 0o077):  # whatever a new file's permissions are
            log = f"log{mask}"
            subprocess.run([TBPROF, "convert", "-q", "--semantics", "official", "-o", self.path(log), "--run", "r", source],
                           check=True, preexec_fn=lambda: os.umask(mask))
        before = {n: sums(self.path(n)) for n in os.listdir(self.tmp) if n.startswith("log")}
        self.assertEqual(os.stat(source).st_nlink, 1)
        with open(source, "r+b") as f, open(WORKERS[1], "rb") as other:
            f.write(other.read())
            f.truncate()
        for log, was in before.items():
            self.assertEqual(sums(self.path(log)), was)
            self.check_receipt(self.folder(log=log), "worker0")

    # ---- the plugin's caches ----

    OF_H = ("h.op_stats_v2.pb", "h.SSTABLE", "h.metadata.SSTABLE", "h.trie.SSTABLE", "h.dcn_collective_stats.pb",
            "h.smart_suggestion.pb", "ALL_HOSTS.op_stats_v2.pb", "ALL_HOSTS.smart_suggestion.pb", "cache_version.txt",
            ".cached_tools.json", "jit_f.hlo_proto.pb")
    OF_OTHERS = ("other.op_stats_v2.pb", "other.SSTABLE", "other.metadata.SSTABLE", "h.txt", "op_stats.txt")

    def test_caches_go_with_the_xplane_they_were_made_of(self):
        self.convert("--host", "h", SAMPLE)
        for name in self.OF_H + self.OF_OTHERS:
            with open(os.path.join(self.folder(), name), "w") as f:
                f.write("made by the plugin")
        answer = json.loads(self.convert("--host", "h", "--json", SAMPLE).stdout)
        self.assertEqual(answer["runs"][0]["hosts"][0]["caches_removed"], 0)  # the same profile
        self.assertEqual(set(self.OF_H + self.OF_OTHERS) - set(os.listdir(self.folder())), set())
        r = self.convert("--host", "h", "--json", WORKERS[1])
        self.assertIn(f"removed {len(self.OF_H)} caches that the plugin had made of the former xplane", r.stderr)
        self.assertIn(f", {len(self.OF_H)} caches of the plugin removed", r.stderr)
        host = json.loads(r.stdout)["runs"][0]["hosts"][0]
        self.assertEqual((host["caches_removed"], host["caches"]), (len(self.OF_H), sorted(self.OF_H)))
        left = set(os.listdir(self.folder()))
        self.assertEqual((left & set(self.OF_H), left & set(self.OF_OTHERS)), (set(), set(self.OF_OTHERS)))

    def test_caches_of_an_xplane_converted_in_place_stay(self):
        folder = self.folder()
        os.makedirs(folder)
        shutil.copy(SAMPLE, os.path.join(folder, "h.xplane.pb"))
        for name in self.OF_H:
            open(os.path.join(folder, name), "w").close()
        self.expect(0, "convert", folder)
        self.assertEqual(set(self.OF_H) - set(os.listdir(folder)), set())

    def test_programs_of_a_recorder_stay(self):
        os.makedirs(self.folder())
        open(os.path.join(self.folder(), "jit_f.hlo_proto.pb"), "w").close()
        self.convert("--host", "h", SAMPLE)
        self.assertIn("jit_f.hlo_proto.pb", os.listdir(self.folder()))

    def test_permissions_of_the_input_are_not_inherited(self):
        source = shutil.copy(SAMPLE, self.path("worker0.xplane.pb"))
        for mode in (0o444, 0o400, 0o755):
            os.chmod(source, mode)
            log = f"log{mode}"
            subprocess.run(["sh", "-c", 'umask 022; exec "$0" "$@"', TBPROF, "convert", "-q", "--semantics", "official",
                            "-o", self.path(log), "--run", "r", source], check=True)
            for name in os.listdir(self.folder(log=log)):
                self.assertEqual(os.stat(os.path.join(self.folder(log=log), name)).st_mode & 0o7777, 0o644, name)
        self.assertEqual(os.stat(source).st_nlink, 1)

    def test_links_to_an_output_keep_their_content(self):
        source = shutil.copy(SAMPLE, self.path("worker0.xplane.pb"))
        self.convert("--host", "h", "--semantics", "official", source)
        output = os.path.join(self.folder(), "h.xplane.pb")
        os.link(output, self.path("other"))
        before = {p: sums(p) for p in (self.tmp,)}[self.tmp]
        for args in (["--semantics", "repair", source], [WORKERS[1]]):
            self.convert("--host", "h", *args)
            after = sums(self.tmp)
            self.assertEqual([after[n] for n in ("worker0.xplane.pb", "other")],
                             [before[n] for n in ("worker0.xplane.pb", "other")])
            self.check_receipt(self.folder(), "h")

    def test_input_at_the_place_of_the_output_stays(self):
        self.convert("--host", "h", "--semantics", "official", SAMPLE)
        output = os.path.join(self.folder(), "h.xplane.pb")
        before = sums(self.folder())["h.xplane.pb"]
        os.symlink(output, self.path("h.xplane.pb"))
        for source in (output, self.path("h.xplane.pb"), self.path("log")):
            self.convert(source)
            self.assertEqual(sums(self.folder())["h.xplane.pb"], before)
            self.check_receipt(self.folder(), "h")
        self.convert("--for", "legacy", self.path("h.xplane.pb"))
        self.assertEqual(sums(self.folder())["h.xplane.pb"], before)

    # ---- hosts that come and go ----

    def combined(self, folder):
        return {n: s for n, s in sums(folder).items() if n.startswith("ALL_HOSTS.") and not n.endswith(".tbprof.json")}

    def test_hosts_one_after_another_are_combined(self):
        self.convert(*WORKERS, log="both")
        wanted = self.combined(self.folder(log="both"))
        self.assertTrue(wanted)
        for order in (WORKERS, WORKERS[::-1]):
            log = "log" + os.path.basename(order[0])[:7]
            self.convert(order[0], log=log)
            self.assertEqual(self.combined(self.folder(log=log)), {})
            self.convert(order[1], log=log)
            self.assertEqual(self.combined(self.folder(log=log)), wanted)
            self.check_receipt(self.folder(log=log), "ALL_HOSTS")
        self.convert(*WORKERS[::-1], log="turned")
        self.assertEqual(self.combined(self.folder(log="turned")), wanted)

    def test_hosts_at_once_are_combined(self):
        self.convert(*WORKERS, log="both")
        for k in range(8):
            both = [subprocess.Popen([TBPROF, "convert", "-q", "-o", self.path(f"log{k}"), "--run", "r", w])
                    for w in WORKERS]
            self.assertEqual([p.wait(timeout=240) for p in both], [0, 0])
            self.assertEqual(self.combined(self.folder(log=f"log{k}")), self.combined(self.folder(log="both")))

    def test_a_third_host_and_a_lost_one(self):
        self.convert(*WORKERS)
        two = self.combined(self.folder())
        self.convert("--host", "worker2", SAMPLE)
        three = self.combined(self.folder())
        self.assertEqual(set(three), set(two))
        self.assertNotEqual(three["ALL_HOSTS.overview_page.json"], two["ALL_HOSTS.overview_page.json"])
        for name in os.listdir(self.folder()):
            if name.startswith("worker2."):
                os.remove(os.path.join(self.folder(), name))
        self.convert(*WORKERS)
        self.assertEqual(self.combined(self.folder()), two)
        for name in os.listdir(self.folder()):
            if name.startswith("worker1."):
                os.remove(os.path.join(self.folder(), name))
        self.convert(WORKERS[0])
        self.assertEqual([n for n in os.listdir(self.folder()) if n.startswith("ALL_HOSTS")], [])

    def test_pages_alone_of_hosts_one_by_one_are_not_combined(self):
        self.convert("--for", "legacy", *WORKERS)
        self.assertTrue(self.combined(self.folder()))
        r = self.convert("--for", "legacy", "--host", "worker2", SAMPLE)
        self.assertIn("no pages of all hosts", r.stderr)
        self.assertEqual(self.combined(self.folder()), {})

    def test_combined_files_of_others_stay(self):
        self.convert(WORKERS[0])
        foreign = os.path.join(self.folder(), "ALL_HOSTS.op_profile.pb")
        with open(foreign, "wb") as f:
            f.write(b"somebody's")
        self.convert(WORKERS[1])
        self.convert(WORKERS[0])
        with open(foreign, "rb") as f:
            self.assertEqual(f.read(), b"somebody's")


if __name__ == "__main__":
    unittest.main()
