# SPDX-License-Identifier: Apache-2.0
"""Usage: help, errors, exit codes, what goes to which stream."""
import fcntl
import json
import os
import shutil
import struct
import subprocess
import termios
import unittest

from support import ROOT, SAMPLE, SAMPLE_RUN, TBPROF, TWO_HOSTS, Case


class Usage(Case):
    def test_help_of_every_command_has_options_and_examples(self):
        overview = self.expect(0, "--help").stdout
        for name in ("convert", "tool", "info", "tools", "completion"):
            self.assertIn(name, overview)
            text = self.expect(0, name, "--help").stdout
            self.assertIn("examples:", text)
            self.assertIn("--config FILE", text)

    def test_help_fills_lines_of_80_columns(self):
        """Only paragraphs end lines that had room for the next word, and a paragraph ends with a full stop."""
        commands = [c["name"] for c in json.loads(self.expect(0, "help", "--json").stdout)["commands"]]
        for args in ([], *([c] for c in commands)):
            lines = self.expect(0, *args, "--help").stdout.split("\n")
            self.assertLessEqual(max(map(len, lines)), 80, args)
            about = lines[2:lines.index("options:")] if args else lines
            for line, after in zip(about, about[1:]):
                has_room = after and not after.startswith(" ") and len(line) + 1 + len(after.split()[0]) <= 80
                self.assertFalse(has_room and line and line[-1] not in ".:", line)

    def test_help_is_as_wide_as_the_terminal(self):
        def widest(columns):
            try:
                main, end = os.openpty()
            except OSError as e:
                self.skipTest(f"no pseudo terminals here: {e}")
            fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("4H", 50, columns, 0, 0))
            with subprocess.Popen([TBPROF, "convert", "--help", "--color", "never"], stdout=end) as p:
                os.close(end)
                text = b""
                try:
                    while part := os.read(main, 65536):
                        text += part
                except OSError:  # the other end is closed
                    pass
                p.wait()
            os.close(main)
            options = text.decode().split("options:")[1].split("examples:")[0]
            return max(len(line) for line in options.split("\r\n"))
        self.assertTrue(90 < widest(100) <= 100)
        self.assertTrue(50 < widest(60) <= 60)

    def test_the_manual_has_no_faults(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        manual = self.expect(0, "help", "--man").stdout
        r = subprocess.run(["groff", "-K", "utf8", "-T", "utf8", "-man", "-ww"], input=manual, capture_output=True,
                           text=True, timeout=240)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertIn("tbprof", r.stdout)

    def test_json_is_offered_where_the_answer_can_be_json(self):
        for c in json.loads(self.expect(0, "help", "--json").stdout)["commands"]:
            has_json = "json" in [o["name"] for o in c["options"]]
            self.assertEqual(has_json, c["name"] not in ("completion", "export", "run"), c["name"])
        self.assertIn("unknown option '--json' of 'export'", self.expect(2, "export", "--csv", "--json", SAMPLE).stderr)
        with open(self.path("c.yaml"), "w") as f:
            f.write("json: true\n")  # of the commands that have it
        self.expect(0, "export", "--csv", SAMPLE, "--config", self.path("c.yaml"))

    def test_version(self):
        self.assertRegex(self.expect(0, "--version").stdout, r"^tbprof \d+\.\d+\.\d+\n$")

    def test_mistakes_name_what_was_meant(self):
        for args, words in ((["convrt"], "did you mean 'convert'"),
                            (["convert", "--semantic-s", "x"], "did you mean '--semantics'"),
                            (["convert", "--semantics", "offical", SAMPLE], "did you mean 'official'"),
                            (["convert", "--tools", "kernel_stat", SAMPLE], "did you mean 'kernel_stats'"),
                            (["tool", "kernel_stat", SAMPLE], "did you mean 'kernel_stats'")):
            r = self.expect(2, *args)
            self.assertIn(words, r.stderr)
            self.assertEqual(r.stdout, "")

    def test_usage_errors(self):
        for args in ([], ["convert"], ["tool", "kernel_stats"], ["tools", "x"], ["convert", "-o"],
                     ["tool", "kernel_stats", SAMPLE, "--host", "nobody"], ["tool", "kernel_stats", SAMPLE, "-O", "x"],
                     ["convert", "--run", "a/b", SAMPLE], ["convert", "--run", "..", SAMPLE],
                     ["convert", "--host", "h", TWO_HOSTS], ["completion", "tcsh"], ["info", SAMPLE, "--from", "nothing"]):
            r = self.expect(2, *args, cwd=self.tmp)
            self.assertIn("tbprof: error: ", r.stderr)

    def test_urls_are_no_folders_to_write_to(self):
        for command, option, *args in (("convert", "-o", SAMPLE), ("run", "-o", "--", "true"), ("recover", "-o"),
                                       ("capture", "--logdir", "--service_addr", "localhost:1"),
                                       ("backend", "--overlay", "install")):
            r = self.expect(2, command, option, "gs://bucket/log", *args, cwd=self.tmp)
            self.assertIn("'gs://bucket/log' is not on this machine: write to a local folder", r.stderr)
        with open(self.path("c.yaml"), "w") as f:
            f.write("convert:\n  output: s3://bucket/log\n")
        r = self.expect(2, "convert", SAMPLE, "--config", self.path("c.yaml"), cwd=self.tmp)
        self.assertIn("'s3://bucket/log' is not on this machine", r.stderr)
        self.assertEqual(os.listdir(self.tmp), ["c.yaml"])
        self.expect(0, "convert", SAMPLE, "-o", "file://" + self.path("out"), cwd=self.tmp)
        self.assertEqual(sorted(os.listdir(self.tmp)), ["c.yaml", "out"])

    def test_what_is_missing_is_named(self):
        for args, missing in ((["convert", "-o", "x"], "INPUT"), (["tool"], "NAME"), (["tool", "kernel_stats"], "INPUT"),
                              (["run"], "PROGRAM"), (["completion"], "bash|zsh|fish")):
            self.assertIn(f"error: {missing} is missing; usage: tbprof {args[0]} ", self.expect(2, *args).stderr)

    def test_path_errors_name_the_path(self):
        unreadable = self.path("locked.xplane.pb")
        open(unreadable, "w").close()
        os.chmod(unreadable, 0)
        paths = [self.path("nothing"), self.tmp + "/", self.path("a", "b")]
        if os.getuid():  # root may read everything
            paths.append(unreadable)
        os.remove(unreadable) if not os.getuid() else None
        for path in paths:
            for command in (["info"], ["convert", "-o", self.path("out")], ["tool", "kernel_stats"]):
                r = self.expect(2, *command, path)
                self.assertIn(path.rstrip("/"), r.stderr)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_configuration_null_and_depth(self):
        config = self.path("c.yaml")
        with open(config, "w") as f:
            f.write("output: ~\nrun: null\nhost:\n")
        self.expect(0, "convert", "--config", config, SAMPLE, "-o", self.path("o"))
        self.assertTrue(os.path.isdir(self.path("o", "plugins", "profile", os.path.basename(SAMPLE_RUN))))
        with open(config, "w") as f:
            f.write("tools: " + "[" * 20000)
        r = self.expect(2, "convert", "--config", config, SAMPLE)
        self.assertIn("nested deeper than 16 levels", r.stderr)

    def test_configuration_of_the_option_tools(self):
        config = self.path("c.yaml")
        for text in ("tools: [overview_page]\n", "tools: overview_page\n", "convert: {tools: [overview_page]}\n"):
            with open(config, "w") as f:
                f.write(text + "tool:\n  dialect: legacy\n")
            shutil.rmtree(self.path("o"), ignore_errors=True)
            self.expect(0, "convert", "--config", config, "--run", "r", SAMPLE, "-o", self.path("o"))
            pages = [n for n in os.listdir(self.path("o", "plugins", "profile", "r")) if n.endswith(".json")]
            self.assertEqual(sorted(pages), ["worker0.overview_page.json", "worker0.tbprof.json"])

    def test_parameters_of_tools(self):
        for tool, pair, words in (("trace_viewer@", "start_tme_ms=1", "did you mean 'start_time_ms'"),
                                  ("trace_viewer@", "zzzzzzzzzzzz=1", "for instance 'start_time_ms'"),
                                  ("overview_page", "start_time_ms=1", "takes no parameters"),
                                  ("trace_viewer@", "start_time_ms=x", "takes a number, not 'x'"),
                                  ("trace_viewer@", "end_time_ms=nan", "takes a number"),
                                  ("trace_viewer@", "duration_ms=inf", "takes a number"),
                                  ("trace_viewer@", "unique_id=", "takes a number"),
                                  ("trace_viewer@", "full_dma=1", "takes true or false, not '1'")):
            r = self.expect(2, "tool", tool, SAMPLE, "-O", pair)
            self.assertIn(words, r.stderr)
            self.assertEqual(r.stdout, "")
        self.expect(0, "tool", "trace_viewer@", SAMPLE, "-O", "start_time_ms=-1")
        r = self.expect(2, "tool", "trace_viewer@", SAMPLE, "-O", "end_time_ms=1", "-O", "end_time_ms=2")
        self.assertIn("given twice", r.stderr)
        params = {t["name"]: t["params"] for t in json.loads(self.expect(0, "tools", "--json").stdout)["tools"]}
        self.assertIn("resolution", [p["name"] for p in params["trace_viewer@"]])
        for p in params["trace_viewer@"]:
            self.assertIn("-O " + p["name"], self.expect(0, "tools").stdout)

    def test_format_is_checked_before_anything_is_opened(self):
        for args in (["convert", "-o", self.path("o")], ["info"], ["tool", "overview_page"], ["view"]):
            r = self.expect(2, *args, "--from", "xplne", self.path("nothing"))
            self.assertIn("did you mean 'xplane'", r.stderr)

    def test_threads_have_a_range(self):
        for command in ("info", "convert", "tool"):
            words = [command, "overview_page"] if command == "tool" else [command]
            r = self.expect(2, *words, "-j", "257", SAMPLE, cwd=self.tmp)
            self.assertIn("'jobs' takes a whole number from 0 to 256, not '257'", r.stderr)
        self.expect(0, "info", "-j", "256", SAMPLE)

    def complete(self, *words):
        """What bash offers for the last word."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tbprof; '
                  'for w in "${COMPREPLY[@]}"; do echo "$w"; done')
        with open(self.path("c.bash"), "w") as f:
            f.write(self.expect(0, "completion", "bash").stdout)
        r = subprocess.run(["bash", "-c", script, "bash", self.path("c.bash"), "tbprof", *words], capture_output=True,
                           text=True, cwd=self.path("in"))
        self.assertEqual(r.stderr, "")
        return r.stdout.split("\n")[:-1]

    def test_completion_of_bash(self):
        os.makedirs(self.path("in", "folder"))
        open(self.path("in", "a file.pb"), "w").close()
        everything = ["a file.pb", "folder"]
        readers = [f["name"] for f in json.loads(self.expect(0, "tools", "--json").stdout)["readers"]]
        for words, wanted in ((("con",), ["convert"]), (("convert", "--sem"), ["--semantics"]),
                              (("convert", "--semantics", ""), ["repair", "official", "tf"]),
                              (("convert", "--semantics", "=", "o"), ["official"]),
                              (("convert", "--semantics", "="), ["repair", "official", "tf"]),
                              (("convert", ""), everything), (("convert", "-o", ""), ["folder"]),
                              (("convert", "--output", "f"), ["folder"]), (("convert", "--config", "a"), ["a file.pb"]),
                              (("convert", "--tools", "ker"), ["kernel_stats"]),
                              (("convert", "--tools", "overview_page,ker"), ["overview_page,kernel_stats"]),
                              (("convert", "-j", ""), []), (("convert", "--run", ""), []),
                              (("info", "--from", ""), readers), (("tool", "over"), ["overview_page"]),
                              (("tool", "overview_page", ""), everything), (("tools", ""), []),
                              (("tool", "trace_viewer@", "x", "-O", "start"), ["start_time_ms="]),
                              (("tool", "trace_viewer", "@", "x", "--param", "search_m"), ["search_metadata="]),
                              (("tool", "overview_page", "x", "-O", ""), []), (("completion", ""), ["bash", "zsh", "fish"]),
                              (("steps", "--steps", ""), ["auto", "markers", "none", "whole", "every=", "name=", "from="]),
                              (("stats", "--steps", "=", "e"), ["every="]), (("check", "--ignore", "steps_a"), ["steps_again"]),
                              (("help", "comp"), ["completion"]), (("nothing", ""), []), (("backend", "i"), ["install"])):
            self.assertEqual(sorted(self.complete(*words)), sorted(wanted), words)

    def test_completion_of_other_shells(self):
        zsh, fish = (self.expect(0, "completion", shell).stdout for shell in ("zsh", "fish"))
        for part in ("'-o+[", "'--output=[", ":DIR:_files -/'", "'*-O+[", "start_time_ms=", "'1:argument:(bash zsh fish)'"):
            self.assertIn(part, zsh)
        for part in ("-l output -s o -x -a '(__fish_complete_directories)'", "-l config -r -F", "start_time_ms=",
                     "runs completion' -f -a 'bash zsh fish'", "-l run -x -d"):
            self.assertIn(part, fish)
        for shell, text in (("zsh", zsh), ("fish", fish)):
            if shutil.which(shell):
                r = subprocess.run([shell, "-n"], input=text, capture_output=True, text=True)
                self.assertEqual(r.returncode, 0, r.stderr)

    def test_help_as_json(self):
        every = json.loads(self.expect(0, "help", "--json").stdout)["commands"]
        self.assertIn("convert", [c["name"] for c in every])
        for args in (("help", "convert", "--json"), ("convert", "--help", "--json")):
            one = json.loads(self.expect(0, *args).stdout)["commands"]
            self.assertEqual([c["name"] for c in one], ["convert"])
            semantics = next(o for o in one[0]["options"] if o["name"] == "semantics")
            self.assertEqual((semantics["kind"], semantics["choices"]), ("choice", ["repair", "official", "tf"]))
        for args in (("completion", "bash", "--json"), ("help", "--man", "--json")):
            self.assertRegex(self.expect(2, *args).stderr, "no JSON|unknown option .--json")
        self.assertIn("did you mean 'convert'", self.expect(2, "help", "convrt").stderr)

    def test_small_slips(self):
        self.assertIn("takes no arguments", self.expect(2, "--version", "extra").stderr)
        self.assertIn("name of a folder", self.expect(2, "convert", SAMPLE, "-o", "").stderr)
        r = self.expect(2, "info", self.path("a\x1b[31m\nb"))
        self.assertIn("a\\x1b[31m\\x0ab", r.stderr)
        self.assertNotIn("\x1b", r.stderr)

    def test_configuration_file(self):
        config = self.path("c.yaml")
        with open(config, "w") as f:
            f.write(f"quiet: true\nconvert:\n  output: {self.path('out')}\n  run: named\n  tools: [kernel_stats]\n")
        r = self.expect(0, "convert", "--config", config, SAMPLE)
        self.assertTrue(os.path.isdir(self.path("out", "plugins", "profile", "named")))
        r = self.expect(0, "convert", "--config", config, "--run", "other", SAMPLE)
        self.assertTrue(os.path.isdir(self.path("out", "plugins", "profile", "other")), r.stderr)
        with open(config, "a") as f:
            f.write("  smantics: tf\n")
        r = self.expect(2, "convert", "--config", config, SAMPLE)
        self.assertIn("c.yaml:6: ", r.stderr)
        self.assertIn("did you mean 'semantics'", r.stderr)

    def test_of_several_configurations_the_last_wins(self):
        """But the command line wins over all; what only one of them says is taken from it."""
        first, second = self.path("1.yaml"), self.path("2.yaml")
        for path, run, tools in ((first, "one", "  tools: [kernel_stats]\n"), (second, "two", "")):
            with open(path, "w") as f:
                f.write(f"quiet: true\nconvert:\n  output: {self.path('out')}\n  run: {run}\n{tools}")
        folder = self.path("out", "plugins", "profile")
        self.expect(0, "convert", "--config", first, "--config", second, SAMPLE)
        self.assertEqual(os.listdir(folder), ["two"])
        self.assertNotIn("worker0.overview_page.json", os.listdir(os.path.join(folder, "two")))
        self.expect(0, "convert", "--config", first, "--run", "three", "--config", second, SAMPLE)
        self.assertEqual(sorted(os.listdir(folder)), ["three", "two"])

    def test_names_that_cannot_be_are_told_the_rule(self):
        rule = "names have 1 to 255 bytes, not only blanks, without '/', control characters and a leading '.'"
        for name in ("", "  ", ".hidden", "a/b", "a\nb"):
            for args in (["run", "--run", name, "true"], ["convert", "--run", name, SAMPLE, "-o", self.path("o")],
                         ["convert", "--host", name, SAMPLE, "-o", self.path("o")]):
                self.assertIn(rule, self.expect(2, *args).stderr)
        for name in ("", ".hidden", "a/b", "a\\b", "-x", "a ", "$(a)", "ALL_HOSTS"):
            asked = self.expect(2, "capture", "--service_addr", "localhost:1", "--session_id", name)
            self.assertIn("1 to 128 bytes of visible UTF-8", asked.stderr)
        for command in ("run", "convert"):
            self.assertIn("1 to 255 bytes", self.expect(0, command, "--help").stdout)

    def test_json_answers_parse_and_stand_alone_on_stdout(self):
        for args in (["tools"], ["info", SAMPLE], ["info", TWO_HOSTS], ["convert", "-o", self.path("out"), TWO_HOSTS]):
            r = self.expect(0, *args, "--json")
            json.loads(r.stdout)

    def test_info_counts_what_is_there(self):
        run = json.loads(self.expect(0, "info", SAMPLE_RUN, "--json").stdout)["runs"][0]
        host = run["hosts"][0]
        self.assertEqual((run["run"], host["host"], host["format"]), ("2026_11_28_00_21_30", "worker0", "xplane"))
        self.assertEqual(host["events"], 2621)
        self.assertEqual([p["name"] for p in host["planes"]], ["/host:CPU", "Task Environment"])
        self.assertEqual(len(host["planes"][0]["lines"]), 7)
        events = host["ledger"]["events"]
        self.assertEqual(events["read"], sum(v for k, v in events.items() if k != "read"))

    def test_info_tells_of_what_it_can(self):
        empty, text = self.path("empty"), self.path("notes.txt")
        os.mkdir(empty)
        with open(text, "w") as f:
            f.write("no profile\n" * 9)
        inputs = [self.path("nothing"), SAMPLE, empty, text, TWO_HOSTS]
        r = self.expect(2, "info", *inputs)
        self.assertEqual(r.stdout.count("run "), 3)
        self.assertIn("host worker0", r.stdout)
        self.assertIn("incomplete at the ends", r.stdout)
        errors = [line for line in r.stderr.splitlines() if line.startswith("tbprof: error: ")]
        for line, bad in zip(errors, (inputs[0], empty, text), strict=True):
            self.assertIn(bad, line)
        r = self.expect(2, "info", "--json", *inputs)
        answer = json.loads(r.stdout)
        self.assertEqual([e["input"] for e in answer["errors"]], [inputs[0], empty])
        self.assertTrue(all(e["input"] in e["error"] for e in answer["errors"]))
        hosts = [h for run in answer["runs"] for h in run["hosts"]]
        self.assertEqual(["error" in h for h in hosts], [False, True, False, False])
        self.assertIn(text, hosts[1]["error"])
        self.assertEqual(json.loads(self.expect(1, "info", "--json", text).stdout)["errors"], [])
        for path in (self.path("nothing"), empty):
            self.assertEqual(json.loads(self.expect(2, "info", "--json", path).stdout)["runs"], [])

    def test_info_tells_repairs_and_steps_as_the_pages_do(self):
        for source in (SAMPLE_RUN, TWO_HOSTS, os.path.join(ROOT, "tests", "data", "tf24-one.xplane.pb")):
            told = json.loads(self.expect(0, "info", source, "--json").stdout)["runs"][0]["hosts"]
            out = json.loads(self.expect(0, "convert", source, "--json", "-o", self.path("out")).stdout)
            for host, converted in zip(told, out["runs"][0]["hosts"]):
                counters = host["ledger"]["counters"]
                for name, counter in converted["ledger"]["counters"].items():
                    self.assertEqual(counters[name]["count"], counter["count"], name)
                page = json.loads(self.expect(0, "tool", "input_pipeline_analyzer", source, "--host", host["host"]).stdout)
                rows = next(t for t in page if any(c["id"] == "stepnum" for c in t["cols"]))["rows"]
                self.assertEqual(host["steps"], len(rows))
        self.assertIn("repair_step_num 4", self.expect(0, "info", SAMPLE).stdout)
        self.assertIn("4 steps, and 2 incomplete", self.expect(0, "info", TWO_HOSTS).stdout)

    def test_one_is_not_several(self):
        with open(self.path("h.xplane.pb"), "wb") as f:
            f.write(b"\x0a\x10\x12\x09/host:CPU\x1a\x03\x12\x01x")  # one plane with one line
        text = self.expect(0, "info", self.path("h.xplane.pb")).stdout
        self.assertIn(" 1 line ", text)
        self.assertIn("1 plane,", text)
        r = self.expect(0, "convert", SAMPLE, "-o", self.path("o"), "--tools", "overview_page", "--for", "legacy")
        self.assertIn("1 file written", r.stderr)

    def test_quiet_is_silent_of_repairs(self):
        self.assertEqual(self.expect(0, "convert", "-q", SAMPLE, "-o", self.path("o")).stderr, "")

    def test_a_value_that_is_none_names_those_that_are(self):
        r = self.expect(2, "convert", SAMPLE, "--for", "xyzzy")
        self.assertIn("'xyzzy' is no value of 'for'; it has 'newest', 'legacy', 'all'", r.stderr)
        r = self.expect(2, "convert", SAMPLE, "--for", "newst")
        self.assertIn("did you mean 'newest'?", r.stderr)

    def test_what_no_page_shows_is_neither_lost_nor_odd(self):
        op = {"ph": "X", "name": "op", "pid": 1, "tid": 1, "ts": 5, "dur": 2}
        path = self.path("t.json")
        for events, told in ([op, dict(op, ph="V")], ""), ([op, dict(op, ph="V"), dict(op, ts="x")], "no_time 1"):
            with open(path, "w", encoding="utf-8") as f:
                json.dump(events, f)
            self.assertIn("not_shown 1", self.expect(0, "convert", path, "-o", self.path("o")).stderr)
            r = self.expect(1 if told else 0, "convert", "-q", "--strict", path, "-o", self.path("o"))
            self.assertEqual(bool(r.stderr), bool(told), r.stderr)
            self.assertIn(told, r.stderr)

    def test_no_colour_unless_asked(self):
        self.assertNotIn("\033", self.expect(2, "convert", "--nonsense").stderr)
        self.assertIn("\033", self.expect(2, "info", "--color", "always", self.path("nothing")).stderr)

    def test_full_standard_output_is_an_error(self):
        with open("/dev/full", "w") as full:
            for args in (["tools"], ["tools", "--json"], ["--help"], ["info", SAMPLE]):
                r = subprocess.run([TBPROF, *args], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(r.returncode, 2, args)
                self.assertIn("output", r.stderr.lower())

    def test_full_standard_output_is_told_beside_what_the_answer_says(self):
        run_folder = self.path("log", "plugins", "profile", "empty")
        os.makedirs(run_folder)  # a problem: exit code 1
        self.expect(1, "doctor", "--files-only", self.path("log"))
        with open("/dev/full", "w") as full:  # the manual is longer than a buffer
            for args in (["help", "--man"], ["doctor", "--files-only", self.path("log")]):
                r = subprocess.run([TBPROF, *args], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(r.returncode, 2, args)
                self.assertIn("writing to standard output failed", r.stderr)


if __name__ == "__main__":
    unittest.main()
