# SPDX-License-Identifier: Apache-2.0
"""Databases of profilers: Nsight Systems, nvprof, RPD, rocpd. Fixtures worked out by hand, hostile ones, and public files
where they are at hand (../shared)."""
import contextlib
import gzip
import json
import os
import re
import sqlite3
import tempfile
import unittest

import sqlite_fixtures as fixtures
from facts import answer, events, ledger, ops, rows, steps, sums
from support import SHARED, Case, run

needs_shared = unittest.skipUnless(os.path.isdir(SHARED), "the folder of recordings is not at hand")


def setUpModule():
    with tempfile.TemporaryDirectory() as folder:
        said = run("info", fixtures.nsys(os.path.join(folder, "a.sqlite"))).stderr
    if "built without SQLite" in said:
        raise unittest.SkipTest("this tbprof was built without SQLite")


NO_CALL = "0"


def shared(*parts):
    return os.path.join(SHARED, *parts)


def expected(case):
    with open(shared("cases", case, "expect.json")) as f:
        return json.load(f)["values"]


def on_device(listed):
    return [e for e in listed if e[0].startswith("/device:GPU:") and e[1].startswith("Stream #")]


def of_kind(listed, kind):
    """Kernels (that have details) or copies."""
    return [e for e in on_device(listed) if kind + "_details" in e[5]]


def total(listed):
    return sum(e[4] for e in listed)


def copied(listed):
    return sum(int(re.search(r"size:(\d+)", e[5]["memcpy_details"])[1]) for e in listed)


def calls(path):
    """Events of a host by correlation id."""
    return {e[5]["correlation_id"]: e for e in events(path) if e[0] == "/host:CPU" and "correlation_id" in e[5]}


class Sqlite(Case):
    def counters(self, path, **wanted):
        host = ledger(path)
        found = host["ledger"]["events"]
        self.assertEqual(found["read"], found["emitted"] + found["merged"] + found["quarantined"] + found["dropped"])
        self.assertEqual({k: v["count"] for k, v in host["ledger"].get("counters", {}).items()}, wanted)
        return found

    def make(self, name, make, *more, **options):
        return make(self.path(name), *more, **options)

    def sql(self, path, *statements):
        db = sqlite3.connect(path)
        for s in statements:
            db.execute(s)
        db.commit()
        db.close()
        return path


class Nsys(Sqlite):
    def test_kernels_copies_and_calls(self):
        path = self.make("a.sqlite", fixtures.nsys)
        # 3 calls, 2 kernels, copy, fill, wait, 6 NVTX (one names a domain), poll, 2 of memory, 3 of the scheduler
        found = self.counters(path, unfinished=1, not_shown=3)
        self.assertEqual((found["read"], found["emitted"], found["merged"], found["dropped"]), (20, 16, 1, 3))
        listed = events(path)
        self.assertEqual(sums(of_kind(listed, "kernel")), {"gemm": [1, 2000], "void axpy<float>(float*)": [1, 3000]})
        self.assertEqual([(e[2], e[4], copied([e])) for e in of_kind(listed, "memcpy")],
                         [("MemcpyHtoD (Pinned -> Device)", 200, 4096)])
        self.assertEqual([(e[2], e[4]) for e in on_device(listed) if "Memset_details" in e[5]], [("Memset (Device)", 10)])
        main = {e[2] for e in listed if e[1] == "main (100)"}
        self.assertEqual(main, {"poll", "step 0 0", "step 1 1", "layer", "cudaLaunchKernel", "cudaMemcpyAsync"})

    def test_occupancy_is_that_of_the_rules(self):
        # 32 registers, 256 threads: 8 blocks of 8 warps fill 64. 40000 + 1024 bytes of shared memory, rounded up to 128,
        # let 4 blocks of 4 warps in.
        table = {r["kernel_name"]: r for r in rows(answer("kernel_stats", self.make("a.sqlite", fixtures.nsys)))}
        self.assertEqual(table["gemm"]["occupancy_pct"], 100)
        self.assertEqual(table["void axpy<float>(float*)"]["occupancy_pct"], 25)
        self.assertEqual(table["void axpy<float>(float*)"]["grid_dim"], "4,2,1")
        self.assertEqual(table["void axpy<float>(float*)"]["shmem_bytes"], 40000)
        self.assertEqual(table["gemm"]["registers_per_thread"], 32)

    def test_a_kernel_belongs_to_the_range_around_its_launch_and_to_its_step(self):
        path = self.make("a.sqlite", fixtures.nsys)
        # called in no range of the step: by the step, as one op of them all (axpy 3000 in one, a copy of 200 in the other)
        self.assertEqual(ops(path, "Device"), {"layer": (1, 2000), "step": (1, 3200)})
        self.assertEqual(ops(path), {"layer": (1, 7000), "step": (2, 20000)})
        self.assertEqual([s["stepnum"] for s in steps(path)], ["0", "1"])
        kernels = {r["kernel_name"]: r["op_name"] for r in rows(answer("kernel_stats", path))}
        self.assertEqual(kernels, {"gemm": "layer", "void axpy<float>(float*)": "step"})

    def test_a_step_that_no_range_is_nested_in_has_its_work(self):
        # RPD: a graph of 1000 + 500 ns, a kernel of 2000, a copy of 100; the last kernel has no call
        path = self.make("a.rpd", fixtures.rpd)
        self.assertEqual(ops(path, "Device"), {"iteration": (2, 3600)})
        self.assertEqual(ops(path), {"iteration": (1, 8500)})

    def test_a_range_without_an_end_lasts_as_long_as_the_recording(self):
        load = [e for e in events(self.make("a.sqlite", fixtures.nsys)) if e[2] == "load"]
        self.assertEqual([(e[3], e[4]) for e in load], [(1000, 19500)])  # from 1500 to 21000, shown from 500

    def test_memory(self):
        page = answer("memory_profile", self.make("a.sqlite", fixtures.nsys))["memoryProfilePerAllocator"]
        self.assertEqual(int(page["GPU_0"]["profileSummary"]["peakBytesUsageLifetime"]), 1 << 20)

    def test_devices_tell_what_they_are(self):
        page = json.dumps(answer("overview_page", self.make("a.sqlite", fixtures.nsys)))
        self.assertIn("GPU", page)

    def test_correlation_ids_count_per_process(self):
        path = self.make("two.sqlite", fixtures.nsys_two_processes)
        self.assertEqual(ops(path, "Device"), {"mine": (1, 2000), "theirs": (1, 3000)})

    def test_tables_and_columns_may_be_absent(self):
        path = self.path("small.sqlite")
        fixtures.database(path, "StringIds: id value\nCUPTI_ACTIVITY_KIND_KERNEL: start end shortName",
                          {"StringIds": [(1, "k")], "CUPTI_ACTIVITY_KIND_KERNEL": [(5, 15, 1), (20, 50, 1), (60, None, 1),
                                                                                  (None, 70, 1), (90, 80, 1)]})
        # no start: unknown when; an end before the start: no length; no end: none either
        self.counters(path, no_time=1, negative_time=1)
        self.assertEqual(sums(of_kind(events(path), "kernel"))["k"][1], 40)

    def test_highest_suffix_of_a_table_counts(self):
        path = self.make("a.sqlite", fixtures.nsys)
        self.sql(path, "ALTER TABLE NVTX_EVENTS RENAME TO NVTX_EVENTS_V3", "CREATE TABLE NVTX_EVENTS_V2 (start, end)",
                 "CREATE TABLE NVTX_EVENTS_VX (start, end)")
        self.assertEqual([s["stepnum"] for s in steps(path)], ["0", "1"])

    def test_steps_are_whole_names_of_one_series(self):
        path = self.make("a.sqlite", fixtures.nsys)
        self.sql(path, "UPDATE NVTX_EVENTS SET text = 'step 0/forward' WHERE text = 'step 1'")
        self.assertEqual([s["stepnum"] for s in steps(path)], ["0"])
        self.sql(path, "UPDATE NVTX_EVENTS SET text = 'optimizer_step' WHERE text = 'step 0'")
        self.assertEqual(steps(path), [])

    def test_tables_of_other_calls_are_shown_whatever_their_name(self):
        path = self.make("a.sqlite", fixtures.nsys)
        self.sql(path, "CREATE TABLE CUDNN_EVENTS (start, end, globalTid, nameId)",
                 f"INSERT INTO CUDNN_EVENTS VALUES (2100, 2200, {fixtures.THREAD}, 2)")
        self.assertEqual([(e[1], e[4]) for e in events(path) if e[2] == "gemm" and e[0] == "/host:CPU"], [("main (100)", 100)])

    def test_converted_run_says_the_same(self):
        path = self.make("a.sqlite", fixtures.nsys)
        self.expect(0, "convert", "-o", self.path("log"), "--run", "r", "--host", "h", path)
        out = self.path("log", "plugins", "profile", "r", "h.xplane.pb")
        for page in ("kernel_stats", "overview_page", "memory_profile", "framework_op_stats"):
            self.assertEqual(answer(page, out), answer(page, path), page)

    def test_gzip(self):
        path = self.make("a.sqlite", fixtures.nsys)
        with open(path, "rb") as f, gzip.open(self.path("a.sqlite.gz"), "wb") as out:
            out.write(f.read())
        self.assertEqual(answer("kernel_stats", self.path("a.sqlite.gz")), answer("kernel_stats", path))

    def test_order_of_rows_does_not_matter(self):
        path = self.make("a.sqlite", fixtures.nsys)
        wanted = {page: answer(page, path) for page in ("kernel_stats", "overview_page", "framework_op_stats", "trace_viewer")}
        for table in ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "StringIds"):
            self.sql(path, f'CREATE TABLE t AS SELECT * FROM "{table}" ORDER BY rowid DESC', f'DROP TABLE "{table}"',
                     f'ALTER TABLE t RENAME TO "{table}"')
        for page, before in wanted.items():
            self.assertEqual(answer(page, path), before, page)

    def test_of_names_of_one_priority_the_longest_in_any_order(self):
        """"main" has 20, as has "main loop"; "poll" 10."""
        path = self.make("a.sqlite", fixtures.nsys)
        for order in ("", " DESC"):
            self.sql(path, "INSERT OR REPLACE INTO StringIds(id, value) VALUES(9000, 'main loop')",
                     "DELETE FROM ThreadNames WHERE nameId = 9000",
                     "INSERT INTO ThreadNames(nameId, priority, globalTid) SELECT 9000, 20, globalTid FROM ThreadNames LIMIT 1",
                     f"CREATE TABLE t AS SELECT * FROM ThreadNames ORDER BY rowid{order}", "DROP TABLE ThreadNames",
                     "ALTER TABLE t RENAME TO ThreadNames")
            self.assertEqual({e["args"]["name"] for e in answer("trace_viewer", path)["traceEvents"]
                              if e.get("name") == "thread_name" and "main" in e["args"]["name"]}, {"main loop (100)"})


class WhereTablesStand(Sqlite):
    """The list of tables may stand anywhere in a database: behind all rows, where tables were made later."""

    def far(self, path):
        """The same database, with 200 kB in front of all but the first of its tables and of the list of them."""
        target = self.path("far-" + os.path.basename(path))
        source, out = sqlite3.connect(path), sqlite3.connect(target)
        out.executescript("PRAGMA page_size=1024; PRAGMA secure_delete=ON; CREATE TABLE filler(x)")
        out.execute("INSERT INTO filler VALUES (zeroblob(200000))")
        for name, sql in source.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
            out.execute(sql)
            rows_of = source.execute(f'SELECT * FROM "{name}"').fetchall()
            if rows_of:
                out.executemany(f'INSERT INTO "{name}" VALUES ({",".join("?" * len(rows_of[0]))})', rows_of)
        out.executescript("".join(f"CREATE TABLE empty_{i}(a_column_with_a_long_name_{i});" for i in range(20)))
        source.close()
        out.close()
        with open(target, "rb") as f:
            head = f.read(1 << 16)
        self.assertFalse(any(word in head for word in (b"String", b"CUPTI_", b"rocpd_")))
        return target

    def test_the_format_is_the_same(self):
        for make, name in ((fixtures.nsys, "nsys"), (fixtures.nvprof, "nvprof"), (fixtures.rpd, "rpd"),
                           (fixtures.rocpd, "rocpd")):
            path = make(self.path("near." + name))
            far = self.far(path)
            with self.subTest(name):
                self.assertEqual(ledger(far)["format"], name)
                self.assertEqual(events(far), events(path))


class Hostile(Sqlite):
    """What stands in a database of a stranger is read, never run."""

    def test_views_are_passed_over(self):
        path = self.make("a.sqlite", fixtures.nsys)
        self.sql(path, "ALTER TABLE NVTX_EVENTS RENAME TO hidden", "CREATE VIEW NVTX_EVENTS AS SELECT * FROM hidden",
                 "CREATE VIEW CUDNN_EVENTS AS WITH RECURSIVE c(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM c) "
                 "SELECT start, start AS \"end\", 1 AS globalTid, 1 AS nameId FROM c")
        self.assertEqual(steps(path), [])

    def test_columns_that_are_computed_are_refused(self):
        path = self.make("a.sqlite", fixtures.nsys)
        self.sql(path, "DROP TABLE NVTX_EVENTS", "CREATE TABLE NVTX_EVENTS (start, end, globalTid, eventType, textId, domainId, "
                 "text AS (printf('step %d', zeroblob(1 << 26))))", "INSERT INTO NVTX_EVENTS VALUES (1, 2, 3, 59, 1, 0)")
        self.assertEqual(self.counters(path, not_shown=3, table_cut=2)["quarantined"], 0)

    def test_virtual_tables_are_passed_over(self):
        path = self.make("a.sqlite", fixtures.nsys)
        try:
            self.sql(path, "DROP TABLE OSRT_API", "CREATE VIRTUAL TABLE OSRT_API USING fts5(start, end, globalTid, nameId)")
        except sqlite3.OperationalError:
            self.skipTest("this SQLite has no fts5")
        self.assertNotIn("poll", {e[2] for e in events(path)})

    def test_nothing_is_written_or_left_beside(self):
        path = self.make("a.sqlite", fixtures.nsys)
        with open(path, "rb") as f:
            before = f.read()
        os.chmod(path, 0o444)
        events(path)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), before)
        self.assertEqual(os.listdir(self.tmp), ["a.sqlite"])

    def test_write_ahead_logs_need_no_second_file(self):
        path = self.make("a.sqlite", fixtures.nsys)
        wanted = answer("kernel_stats", path)
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE more (x)")
        db.close()
        with open(path, "rb") as f:
            self.assertEqual(f.read()[18:20], b"\2\2")
        self.assertEqual(answer("kernel_stats", path), wanted)

    def test_texts_that_are_no_utf8(self):
        path = self.make("a.sqlite", fixtures.nsys)
        self.sql(path, "UPDATE StringIds SET value = CAST(x'67ff656d6d' AS TEXT) WHERE value = 'gemm'")
        self.counters(path, unfinished=1, not_shown=3, invalid_utf8=1)
        self.assertIn("g\ufffdemm", sums(of_kind(events(path), "kernel")))

    def bytes_of(self, path):
        with open(path, "rb") as f:
            return f.read()

    def put(self, data, name="cut.sqlite"):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def cut_table(self, path):
        """(times that a table broke off, the byte of the first)"""
        found = ledger(path)["ledger"]["counters"]["table_cut"]
        return found["count"], found["first_offset"]

    def many(self, n=3000):
        """n kernels of 500 ns, one a microsecond, with their launches; tables grow side by side, as they do on disk."""
        path = self.make("many.sqlite", fixtures.nsys)
        db = sqlite3.connect(path)
        for i in range(n):
            ns = 20000 + 1000 * i
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 1)", (ns, ns + 100, fixtures.THREAD, 100 + i))
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, ?, 2, 2, 32, 1, 1, 1, 32, 1, 1, 0, 0)",
                       (ns + 200, ns + 700, 100 + i, fixtures.PROCESS))
        db.commit()
        db.close()
        return path

    def test_cut_files_give_what_is_left(self):
        for name, make in (("a.sqlite", fixtures.nsys), ("a.nvvp", fixtures.nvprof), ("a.rpd", fixtures.rpd), ("a.db", fixtures.rocpd)):
            data = self.bytes_of(self.make(name, make))
            for page in range(1, len(data) // 4096):
                for more in (0, 1, 4095):
                    with self.subTest(name, page=page, more=more):
                        self.assertEqual(self.cut_table(self.put(data[:4096 * page + more]))[1], 4096 * page)
            for part in (0, 20, 99):
                self.expect(1, "info", self.put(data[:part]))

    def test_rows_before_a_cut_are_those_of_the_file(self):
        data = self.bytes_of(self.many())
        for part in (len(data) // 2, len(data) // 2 + 1000, len(data) // 2 + 4000):  # also within a page
            path = self.put(data[:part])
            self.assertEqual(self.cut_table(path)[1], part // 4096 * 4096)
            self.assertNotIn("no_time", ledger(path)["ledger"]["counters"])
            found = sorted((e[3], e[4], e[5]["correlation_id"]) for e in of_kind(events(path), "kernel") if e[3] > 18000)
            self.assertGreater(len(found), 1000)
            first = found[0][0]
            self.assertEqual(found, [(first + 1000 * i, 500, str(100 + i)) for i in range(len(found))])

    def test_a_damaged_page_is_named_and_ends_its_table(self):
        data = self.bytes_of(self.many())
        whole = len(of_kind(events(self.path("many.sqlite")), "kernel"))
        for page in range(1, len(data) // 4096, 7):
            path = self.put(data[:4096 * page] + b"\xa5" * 4096 + data[4096 * page + 4096:])
            self.assertEqual(self.cut_table(path)[1], 4096 * page)
            self.assertLessEqual(len(of_kind(events(path), "kernel")), whole)

    def test_a_text_that_goes_on_behind_the_cut_is_not_made_up(self):
        path = self.make("a.sqlite", fixtures.nsys)
        self.sql(path, f"UPDATE StringIds SET value = 'gemm{'x' * 9000}' WHERE value = 'gemm'")
        data = self.bytes_of(path)
        for pages in (1, 2):
            path = self.put(data[:-4096 * pages])
            self.assertEqual(self.cut_table(path), (1, len(data) - 4096 * pages))
            self.assertFalse([e[2] for e in events(path) if "gemm" in e[2]])

    def test_tables_of_which_the_list_is_left_are_read(self):
        # The list has more than a page: half of it near the begin of the file, half at its end.
        path = self.make("a.sqlite", fixtures.nsys)
        columns = ",".join(f"column{i}" for i in range(60))
        tables = [f"CREATE TABLE EXTRA_{i} ({columns})" for i in range(60)]
        self.sql(path, *tables[:30], *[f"INSERT INTO EXTRA_0 (column0) VALUES (zeroblob(4000)) -- {i}" for i in range(50)],
                 *tables[30:], "CREATE TABLE CUDNN_EVENTS (start, end, globalTid, nameId)")
        wanted = of_kind(events(path), "kernel")
        self.assertEqual(len(wanted), 2)
        data = self.bytes_of(path)
        path = self.put(data[:len(data) - 8 * 4096])
        self.assertEqual(self.cut_table(path), (1, len(data) - 8 * 4096))
        self.assertEqual(of_kind(events(path), "kernel"), wanted)

    def test_a_cut_off_list_of_tables_is_refused_with_what_to_do(self):
        # The list moves to new pages when it outgrows its first, here behind 50 pages of rows.
        path = self.make("a.sqlite", fixtures.nsys)
        self.sql(path, *["INSERT INTO OSRT_API (start) VALUES (zeroblob(4000))"] * 50,
                 *[f"CREATE TABLE EXTRA_{i} (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)" for i in range(60)])
        data = self.bytes_of(path)
        size = 50 * 4096
        for command in (("info",), ("stats",), ("info", "--from", "nsys")):
            r = self.expect(1, *command, self.put(data[:size]))
            self.assertIn(f"reading the list of tables of '{self.path('cut.sqlite')}' failed: the database is cut off, it has {size} "
                          f"of {len(data)} bytes, and the list goes on behind them; copy or export it again", r.stderr)
        at = data.rindex(b"CREATE TABLE EXTRA_0") // 4096 * 4096
        r = self.expect(1, "info", self.put(data[:at] + b"\xa5" * 4096 + data[at + 4096:]))
        self.assertIn(f"failed: the page at byte {at} is damaged; copy or export it again", r.stderr)

    def test_missing_work_of_a_cut_file_is_not_said_to_be_unrecorded(self):
        data = self.bytes_of(self.make("a.sqlite", fixtures.nsys))
        self.assertIn("no GPU operations are in what can be read of this file", run("info", self.put(data[:4096])).stdout)

    def test_a_database_of_something_else_is_refused_with_a_reason(self):
        path = fixtures.database(self.path("x.sqlite"), "people: name", {"people": [("me",)]})
        r = self.expect(1, "info", path)
        self.assertIn("without the tables of Nsight Systems, nvprof, RPD or rocpd", r.stderr)

    def test_a_session_of_the_visual_profiler_is_refused_with_a_reason(self):
        for mark in ("", "\ufeff"):
            with open(self.path("s.nvvp"), "w", encoding="utf-8") as f:
                f.write(mark + '<?xml version="1.0"?>\n<session version="1" name="x">\n</session>\n')
            self.assertIn("settings and no timeline", self.expect(1, "info", self.path("s.nvvp")).stderr)


class Nvprof(Sqlite):
    def test_kernels_are_demangled_and_calls_named(self):
        path = self.make("a.nvvp", fixtures.nvprof)
        self.counters(path, no_time=1, unfinished=1, unmatched_end=1, not_shown=1)
        listed = events(path)
        self.assertEqual(sums(of_kind(listed, "kernel")), {"axpy(float*, float*, int)": [1, 2000]})
        names = [e[2] for e in listed if e[1] == "thread -570288384"]
        self.assertEqual(names, ["step 0", "forward", "cudaLaunchKernel", "cuDeviceGet", "runtime call 99999", "forward"])
        self.assertEqual(ops(path, "Device"), {"forward": (1, 2000)})

    def test_memory_lives_from_start_to_end(self):
        page = answer("memory_profile", self.make("a.nvvp", fixtures.nvprof))["memoryProfilePerAllocator"]["GPU_0"]
        self.assertEqual(int(page["profileSummary"]["peakBytesUsageLifetime"]), 768)


class Rocm(Sqlite):
    def test_one_call_starts_many_operations(self):
        path = self.make("a.rpd", fixtures.rpd)
        listed = events(path)
        kernels = of_kind(listed, "kernel")
        self.assertEqual(sums(kernels), {"gemm": [2, 3000], "attn": [2, 507]})
        self.assertEqual([e[5].get("correlation_id", NO_CALL) for e in sorted(kernels, key=lambda e: e[3])],
                         ["1", "1", str((1 << 32) + 2), NO_CALL])
        self.assertEqual(copied(of_kind(listed, "memcpy")), 65536)
        self.assertEqual(len(steps(path)), 1)

    def test_grids_counted_in_work_items(self):
        table = rows(answer("kernel_stats", self.make("a.rpd", fixtures.rpd)))
        self.assertIn("7,782,1", [r["grid_dim"] for r in table])  # 1792 / 256

    def test_an_empty_database_says_so(self):
        path = self.make("a.rpd", fixtures.rpd)
        self.sql(path, "DELETE FROM rocpd_api", "DELETE FROM rocpd_op")
        said = json.dumps(answer("overview_page", path))
        self.assertIn("no GPU operations", said)
        self.assertIn("RPD schema 2: 0 operations, 0 API calls; nothing was recorded", said)
        self.assertIn("no GPU operations", self.expect(0, "info", path).stdout)

    def rocpd_facts(self, path, times=1):
        listed = events(path)
        self.assertEqual(sums(of_kind(listed, "kernel")), {"void gemm<float>(float*)": [times, times * 2000]})
        self.assertEqual(copied(of_kind(listed, "memcpy")), times * 4096)
        self.assertEqual(ops(path, "Device"), {"forward": (times, times * 2000)})
        table = rows(answer("kernel_stats", path))
        self.assertEqual({(r["grid_dim"], r["registers_per_thread"], r["shmem_bytes"]) for r in table}, {("4,1,1", 48, 256)})
        self.assertEqual({e[1] for e in of_kind(listed, "kernel")}, {"Stream #6(MemcpyH2D,Compute)"})
        self.assertIn("thread 4399", {e[1] for e in listed})
        page = answer("memory_profile", path)["memoryProfilePerAllocator"]["GPU_0"]
        self.assertEqual(int(page["profileSummary"]["peakBytesUsageLifetime"]), times * 512)

    def test_rocpd(self):
        path = self.make("a.db", fixtures.rocpd)
        self.counters(path)
        self.rocpd_facts(path)
        self.assertEqual(len(steps(path)), 1)

    def test_a_release_is_of_the_allocation_before_it_wherever_its_row_stands(self):
        """512 bytes from 1.1 to 8 us; 2048 at the same address from 8.5 to 8.9 us. The first release stands first."""
        path = self.make("a.db", fixtures.rocpd)
        with contextlib.closing(sqlite3.connect(path)) as db:
            (table,) = db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'rocpd_memory_allocate%'").fetchone()
            columns = [c[1] for c in db.execute(f'PRAGMA table_info("{table}")')]
            taken, freed = (dict(zip(columns, row)) for row in db.execute(f'SELECT * FROM "{table}" ORDER BY start'))
            at = freed["start"]
            more = [dict(taken, start=at + 500, end=at + 510, size=2048), dict(freed, start=at + 900, end=at + 910)]
            db.execute(f'DELETE FROM "{table}"')
            for row in [freed, taken, *more]:
                db.execute(f'INSERT INTO "{table}" VALUES ({",".join("?" * len(columns))})', [row[c] for c in columns])
            db.commit()
        page = answer("memory_profile", path)["memoryProfilePerAllocator"]["GPU_0"]
        self.assertEqual(int(page["profileSummary"]["peakBytesUsageLifetime"]), 2048)

    def test_a_release_is_of_the_agent_that_allocated(self):
        """512 bytes of the host (agent 1) from 1.1 to 8 us; the row of the release names no agent, or another one."""
        for agent, kind in ((None, "FREE"), (2, "FREE"), (None, "RECLAIM")):
            path = self.make(f"{agent}{kind}.db", fixtures.rocpd)
            with contextlib.closing(sqlite3.connect(path)) as db:
                (table,) = db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'rocpd_memory_allocate%'").fetchone()
                db.execute(f"UPDATE \"{table}\" SET agent_id = 1 WHERE type = 'ALLOC'")
                db.execute(f"UPDATE \"{table}\" SET agent_id = ?, type = ? WHERE type = 'FREE'", [agent, kind])
                db.commit()
            (host,) = answer("memory_profile", path)["memoryProfilePerAllocator"].items()
            self.assertEqual(host[0], "host_0")
            held = [int(s["aggregationStats"]["heapAllocatedBytes"]) for s in host[1]["sampledTimelineSnapshots"]]
            self.assertEqual(held, [512, 0])

    def test_rocpd_with_times_in_a_table_of_their_own(self):
        self.rocpd_facts(self.make("b.db", fixtures.rocpd, is_normal=True))

    def test_rocpd_of_two_processes_in_one_file(self):
        self.rocpd_facts(self.make("c.db", fixtures.rocpd, sets=(fixtures.GUID, "_0000dddd")), times=2)


@needs_shared
class Public(Sqlite):
    def test_cloverleaf(self):
        path = shared("corpus", "nsys", "pipit-cloverleaf.sqlite")
        listed = events(path)
        kernels = of_kind(listed, "kernel")
        self.assertEqual((len(kernels), total(kernels), len(sums(kernels))), (1312, 294404540, 102))
        copies = of_kind(listed, "memcpy")
        self.assertEqual((len(copies), total(copies), copied(copies)), (279, 9390923, 225116952))
        self.assertEqual(len([e for e in listed if re.match("cu[A-Zd]", e[2]) and e[0] == "/host:CPU"]), 3048)
        self.assertEqual(sum(int(r["occurrences"]) for r in rows(answer("kernel_stats", path))), 1312)

    def test_cloverleaf_equals_its_own_tables(self):
        """What `nsys stats` wrote of the same recording: every kernel and copy at its time, the names short."""
        import csv
        listed = on_device(events(shared("corpus", "nsys", "pipit-cloverleaf.sqlite")))
        with open(shared("corpus", "nsys", "pipit-cloverleaf_gpu_trace.csv")) as f:
            table = [r for r in csv.DictReader(f) if r["Event Type"] == "Enter"]
        first = min(int(r["Timestamp (ns)"]) for r in table)
        own = min(e[3] for e in listed)
        wanted = sorted((int(r["Timestamp (ns)"]) - first, int(r["_matching_timestamp"]) - int(r["Timestamp (ns)"])) for r in table)
        self.assertEqual(sorted((e[3] - own, e[4]) for e in listed), wanted)

    def test_newest_nsight(self):
        path = shared("corpus", "nsys", "testcuda-report1.sqlite")
        listed = events(path)
        kernels, copies = of_kind(listed, "kernel"), of_kind(listed, "memcpy")
        self.assertEqual((len(kernels), total(kernels), len(sums(kernels)), len({e[1] for e in kernels})), (4, 536542, 1, 4))
        self.assertEqual((len(copies), total(copies), copied(copies)), (12, 91646179, 1200000000))
        self.assertEqual(len(calls(path)), 44)

    def test_no_kernels(self):
        path = shared("corpus", "nsys", "vqe.sqlite")
        listed = events(path)
        self.assertEqual(on_device(listed), [])
        self.assertEqual(len([e for e in listed if e[2].startswith("cu")]), 11)
        self.assertIn("no GPU operations", self.expect(0, "info", path).stdout)

    def test_mxnet_by_nvprof(self):
        listed = events(shared("corpus", "nvprof", "mxnet-basic_nvprof_output.nvvp"))
        kernels, copies = of_kind(listed, "kernel"), of_kind(listed, "memcpy")
        self.assertEqual((len(kernels), total(kernels), len(sums(kernels)), len({e[1] for e in kernels})),
                         (1230, 40506472, 57, 12))
        self.assertEqual((len(copies), total(copies), copied(copies)), (28, 358520, 2985712))
        self.assertEqual(len([e for e in listed if "Memset_details" in e[5]]), 18)
        self.assertEqual(len([e for e in listed if e[0] == "/host:CPU" and e[2].startswith("cuda")]), 16165)
        self.assertEqual([e for e in kernels if e[2].startswith("_Z")], [])

    def test_empty_and_foreign(self):
        self.assertIn("no GPU operations", self.expect(0, "info", shared("corpus", "nvprof", "swatik-profile.nvvp")).stdout)
        self.expect(1, "info", shared("corpus", "nvprof", "gpusph-profile.nvvp"))

    def test_matmul_by_rpd(self):
        path = shared("corpus", "rocprof", "rpd-matmul_result.rpd")
        listed = events(path)
        self.assertEqual(len(on_device(listed)), 85)
        self.assertEqual((len(of_kind(listed, "kernel")), total(of_kind(listed, "kernel"))), (29, 26399795))
        self.assertEqual((len(of_kind(listed, "memcpy")), total(of_kind(listed, "memcpy"))), (55, 157178063 + 334758))
        self.assertEqual(len([e for e in listed if e[0] == "/host:CPU"]), 125)


@needs_shared
class Cases(Sqlite):
    def test_start_end_ranges(self):
        folder = shared("cases", "nsys-start-end-ranges-and-no-markers")
        wanted = expected("nsys-start-end-ranges-and-no-markers")
        path = os.path.join(folder, "startend.sqlite")
        ranges = [e for e in events(path) if e[1].startswith("NVTX ranges")]
        self.assertEqual(len(ranges), wanted["startend.sqlite"]["ranges"])
        self.assertEqual([e[4] / 1000 for e in ranges], wanted["startend.sqlite"]["range_time"])
        found = steps(path)
        self.assertEqual([1] * len(found), wanted["startend.sqlite"]["kernels_by_launch_in_range"])
        self.assertEqual([round(s["stepTimeMs"], 3) for s in found], [0.3] * 3)
        self.assertEqual(total(of_kind(events(path), "kernel")), wanted["startend.sqlite"]["device_sum"] * 1000)
        path = os.path.join(folder, "nomarkers.sqlite")
        kernels = of_kind(events(path), "kernel")
        self.assertEqual((len(kernels), total(kernels)), (wanted["nomarkers.sqlite"]["kernel_count"],
                                                          wanted["nomarkers.sqlite"]["device_sum"] * 1000))
        self.assertEqual(steps(path), [])

    def test_suffixed_table(self):
        wanted = expected("nsys-suffixed-nvtx-table-and-substring-markers")
        path = shared("cases", "nsys-suffixed-nvtx-table-and-substring-markers", "report.sqlite")
        listed = events(path)
        marks = [e for e in listed if "step_num" in e[5] and e[0] == "/host:CPU"]
        self.assertEqual([e[4] / 1000 for e in marks], wanted["iteration_host_time"])
        self.assertEqual(len(steps(path)), wanted["iterations"])
        by_step = [[e for e in of_kind(listed, "kernel") if e[5]["group_id"] == m[5]["group_id"]] for m in marks]
        self.assertEqual([len(k) for k in by_step], wanted["kernels_per_iteration"])
        self.assertEqual([total(k) / 1000 for k in by_step], wanted["device_time_per_iteration"])
        self.assertEqual(len([e for e in listed if "/layer" in e[2] and e[0] == "/host:CPU"]), wanted["nested_ranges"])

    def test_old_nvprof(self):
        wanted = expected("nvprof-without-the-optional-tables")
        listed = events(shared("cases", "nvprof-without-the-optional-tables", "old.nvvp"))
        kernels = of_kind(listed, "kernel")
        self.assertEqual((len(kernels), total(kernels)), (wanted["kernel_count"], wanted["device_sum_ns"]))
        found = sums(kernels)
        # the mangled name has two pointers: _Z4axpyPfS_i
        self.assertEqual(found["axpy(float*, float*, int)"], list(wanted["kernels"]["axpy(float*, int)"].values()))
        gemm = [v for name, v in found.items() if "mlops::gemm<float, 128>(" in name]
        self.assertEqual(gemm, [list(wanted["kernels"]["mlops::gemm…"].values())])
        first = min(e[3] for e in kernels)
        self.assertEqual([0, max(e[3] + e[4] for e in kernels) - first], wanted["device_window_ns"])
        self.assertEqual({e[1] for e in listed if e[0] == "/host:CPU"}, {f"thread {wanted['thread']}"})

    def test_graph_launches(self):
        folder = shared("cases", "rpd-with-an-empty-schema-and-graph-launches")
        wanted = expected("rpd-with-an-empty-schema-and-graph-launches")
        self.assertIn(wanted["empty.rpd"]["must_say"], self.expect(0, "info", os.path.join(folder, "empty.rpd")).stdout)
        wanted, path = wanted["graph.rpd"], os.path.join(folder, "graph.rpd")
        listed, launched = events(path), calls(path)
        kernels, copies = of_kind(listed, "kernel"), of_kind(listed, "memcpy")
        self.assertEqual((len(kernels), total(kernels)), (wanted["kernel_count"], wanted["kernel_sum_ns"]))
        self.assertEqual({"count": len(copies), "total_ns": total(copies)}, wanted["copies"])
        self.assertEqual({k: v[1] for k, v in sums(kernels).items()}, wanted["by_name_ns"])
        by_launch = {}
        for e in on_device(listed):
            call = launched.get(e[5].get("correlation_id"))
            by_launch[call[2] if call else "unlinked"] = by_launch.get(call[2] if call else "unlinked", 0) + 1
        self.assertEqual(by_launch, wanted["by_launch"])
        spans = sorted((e[3], e[3] + e[4]) for e in on_device(listed))
        self.assertEqual([spans[0][0] + 2000 - spans[0][0], spans[-1][1] - spans[0][0] + 2000], wanted["window_ns"])
        self.assertEqual(sum(b - a for a, b in spans), wanted["busy_ns"])  # none overlap


if __name__ == "__main__":
    unittest.main()
