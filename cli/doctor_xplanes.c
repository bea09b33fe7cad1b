/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of what is in the xplanes. Each file is read once, before the checks, with the reader that
 * all commands use; only the verdict is kept.
 */
#include "cli/doctor.h"

#include "base/file.h"
#include "convert/read/reader.h"
#include "convert/read/strangers.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_MESSAGE = 300 };
static const uint64_t protobuf_limit_bytes = UINT64_C(1) << 31;

struct stranger {
    const char *what, *advice;
};
static const struct stranger strangers[TBP_STRANGERS] = {
    [TBP_STRANGER_BZIP2] = {"is compressed with bzip2, which no plugin undoes",
                            "bunzip2 it, keeping the name"},
    [TBP_STRANGER_EVENTS] = {"is an event file of TensorBoard, no profile",
                             "copy the *.xplane.pb of the recording here"},
    [TBP_STRANGER_GIT_LFS] = {"is a pointer of Git LFS, not the file", "git lfs pull"},
    [TBP_STRANGER_GZIP] = {"is compressed with gzip, which no plugin undoes",
                           "gunzip it, keeping the name, or 'tbprof convert' it"},
    [TBP_STRANGER_TAR] = {"is a tar archive", "unpack it"},
    [TBP_STRANGER_XZ] = {"is compressed with xz, which no plugin undoes",
                         "unxz it, keeping the name"},
    [TBP_STRANGER_ZIP] = {"is a zip archive", "unpack it"},
    [TBP_STRANGER_ZIP_EMPTY] = {"is a zip archive", "unpack it"},
    [TBP_STRANGER_ZSTD] = {"is compressed with zstd, which no plugin undoes",
                           "unzstd it, keeping the name"},
};

/* What else stands where an xplane should. */
static const struct {
    size_t at;
    const char *bytes;
    struct stranger is;
} mistaken[] = {
    {0, "<!DOCTYPE", {"is a web page, saved in place of the file", "download the raw file"}},
    {0, "<!doctype", {"is a web page, saved in place of the file", "download the raw file"}},
    {0, "<html", {"is a web page, saved in place of the file", "download the raw file"}},
    {0, "<?xml", {"is XML, such as a server's message that it failed", "download the file itself"}},
    {0,
     "{",
     {"is JSON: a trace, or a server's message that it failed",
      "'tbprof convert' reads traces; else download the file itself"}},
    {0, "PK\x07\x08", {"is a zip archive", "unpack it"}}, /* one of several parts */
    {0,
     "SQLite format 3",
     {"is an SQLite database, as Nsight Systems and rocprofv3 write",
      "'tbprof convert' it, if it is a profiler's"}},
    {1,
     "\x05\x16\x07", /* after a zero */
     {"is what macOS keeps of a file on other file systems (AppleDouble), no profile",
      "remove it"}},
    {0,
     "\r\n",
     {"was transferred as text, which changed its line ends", "transfer it again, as binary"}},
};

enum { HEAD_BYTES = 4096, RESERVED_BYTES = 16 };

static bool set_stranger(struct tbp_doctor_file *file, const char *what, const char *advice) {
    file->damage = what;
    file->advice_of_damage = advice;
    return true;
}

static size_t read_head(const struct tbp_doctor_file *file, char *head) {
    FILE *f = fopen(file->path, "rb");
    if (!f)
        return 0;
    size_t n = fread(head, 1, HEAD_BYTES, f);
    fclose(f);
    return n;
}

/* A profile has tags of fields everywhere, which are no text. */
static bool is_text(const char *head, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if ((head[i] < ' ' || head[i] > '~') && !strchr("\t\n\r", head[i]))
            return false;
    }
    return n > 0;
}

static bool is_reserved(const char *head, size_t n) {
    static const char zeros[RESERVED_BYTES];
    return n >= sizeof zeros && memcmp(head, zeros, sizeof zeros) == 0;
}

static bool is_stranger(struct tbp_doctor_file *file) {
    char head[HEAD_BYTES];
    size_t n = read_head(file, head);
    for (size_t i = 0; i < sizeof mistaken / sizeof *mistaken; i++) {
        size_t k = strlen(mistaken[i].bytes), at = mistaken[i].at;
        if (n >= at + k && memcmp(head + at, mistaken[i].bytes, k) == 0)
            return set_stranger(file, mistaken[i].is.what, mistaken[i].is.advice);
    }
    const struct stranger *known = &strangers[tbp_stranger_of(head, n)];
    if (known->what)
        return set_stranger(file, known->what, known->advice);
    if (is_reserved(head, n))
        return set_stranger(file, "begins with zeros: room was made for it, and nothing written",
                            "copy or record it again");
    if (is_text(head, n))
        return set_stranger(file, "is text, not the bytes of a profile",
                            "copy the file itself; 'base64 -d' undoes base64");
    return false;
}

/* Who reads bytes as UTF-8 and writes them again puts U+FFFD for each that is none. Profiles may
 * hold that, too, so this only explains damage. */
static bool is_mangled(const struct tbp_doctor_file *file) {
    char head[HEAD_BYTES];
    struct tbp_str s = {head, read_head(file, head)};
    size_t valid = tbp_utf8_valid_prefix(s);
    return tbp_str_has(s, "\xef\xbf\xbd") &&
           (valid == s.n || (s.n == HEAD_BYTES && valid + 4 > s.n));
}

static void explain_damage(struct tbp_doctor_file *file) {
    if (file->damage && is_mangled(file))
        set_stranger(file, "was written as text, which loses each byte that is none",
                     "copy it again, as binary");
}

/* The losses of the ledger in words: "is damaged: messages cut short … (1, first at byte 812)". */
static const char *losses(struct tbp_arena *arena, const struct tbp_host *h) {
    const struct tbp_ledger *l = &h->ledger;
    const char *text = "";
    if (!tbp_ledger_has_loss(l))
        return NULL;
    for (int k = 0; k < TBP_LEDGER_KEYS; k++) {
        struct tbp_ledger one;
        tbp_ledger_init(&one);
        one.count[k] = l->count[k];
        if (!l->count[k] || !tbp_ledger_has_loss(&one))
            continue;
        text = tbp_arena_printf(arena, "%s%s%s (%" PRIu64, text, *text ? ", " : "",
                                tbp_ledger_help((enum tbp_ledger_key)k), l->count[k]);
        if (l->first_offset[k] != TBP_NO_OFFSET)
            text = tbp_arena_printf(arena, "%s, first at byte %" PRIu64, text, l->first_offset[k]);
        text = tbp_arena_printf(arena, "%s)", text);
    }
    return tbp_arena_printf(arena, "is damaged or cut short: %s", *text ? text : "events are lost");
}

static void take_host(struct tbp_doctor_file *file, struct tbp_arena *arena,
                      const struct tbp_host *h) {
    file->was_read = true;
    file->n_events = tbp_host_count_events(h);
    file->has_host_plane = tbp_host_plane(h, "/host:CPU") != NULL;
    file->damage = losses(arena, h);
    if (file->damage)
        file->advice_of_damage = "copy or record it again; tbprof convert shows what is left of it";
    if (!h->n_errors)
        return;
    struct tbp_str message = h->errors[0];
    if (message.n > MAX_MESSAGE)
        message.n = MAX_MESSAGE;
    file->recorder_error = tbp_arena_str(arena, message).p;
}

static void read_profile(struct tbp_doctor *d, struct tbp_doctor_file *file) {
    struct tbp_host host;
    struct tbp_error err;
    char text[1024];
    const struct tbp_read_how how = {.from = tbp_reader_xplane.name, .wanted = TBP_WANTED_ALL};
    if (tbp_read_host(&host, file->path, file->host, &how, d->pool, &err) == TBP_OK) {
        take_host(file, d->arena, &host);
        tbp_host_release(&host);
    } else {
        err.input[0] = '\0'; /* findings name the file themselves */
        tbp_error_text(&err, text, sizeof text);
        set_stranger(file, tbp_arena_printf(d->arena, "cannot be read: %s", text),
                     "copy or record it again");
    }
    explain_damage(file);
}

static void read_file(struct tbp_doctor *d, struct tbp_doctor_file *file) {
    if (!file->size_bytes || !file->is_readable)
        return;
    if (!is_stranger(file))
        read_profile(d, file);
    if (file->damage && tbp_doctor_is_hidden(file))
        file->advice_of_damage =
            "remove it, and .cached_tools.json beside it: of a hidden file the plugin shows no "
            "host, and if it cannot read one, it lists and keeps that the run has no pages";
}

void tbp_doctor_read_xplanes(struct tbp_doctor *d) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        for (size_t k = 0; k < run->files.n; k++) {
            if (run->files.at[k].kind == TBP_FILE_XPLANE)
                read_file(d, &run->files.at[k]);
        }
    }
}

/* Calls `look` for every xplane of every run. */
static void each_xplane(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                        void (*look)(struct tbp_doctor *, const struct tbp_doctor_check *,
                                     const struct tbp_doctor_file *)) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        for (size_t k = 0; k < run->files.n; k++) {
            if (run->files.at[k].kind == TBP_FILE_XPLANE)
                look(d, self, &run->files.at[k]);
        }
    }
}

static void look_for_damage(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                            const struct tbp_doctor_file *file) {
    if (!file->damage)
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, file->path);
    f->what = file->damage;
    f->advice = file->advice_of_damage;
}
static void run_damaged(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    each_xplane(d, self, look_for_damage);
}

const struct tbp_doctor_check tbp_check_damaged = {
    .name = "damaged",
    .scope = TBP_CHECK_FILES,
    .help = "xplane files are whole",
    .run = run_damaged,
};

static void look_for_events(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                            const struct tbp_doctor_file *file) {
    if (!file->was_read || file->n_events || file->damage)
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, file->path);
    f->what = "has no events: the profiler saw nothing happen";
    f->advice = "record while the program works, for longer";
}
static void run_no_events(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    each_xplane(d, self, look_for_events);
}

const struct tbp_doctor_check tbp_check_no_events = {
    .name = "no-events",
    .scope = TBP_CHECK_FILES,
    .help = "xplane files have events",
    .run = run_no_events,
};

static void look_for_host_plane(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                                const struct tbp_doctor_file *file) {
    if (!file->was_read || file->has_host_plane || file->damage)
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, file->path);
    f->what = tbp_arena_printf(d->arena, "has no plane /host:CPU, without which %s crashes",
                               tbp_doctor_plugin_text(d));
    f->advice = "tbprof convert -o DIR writes it with one, or use another release of the plugin";
}
static void run_host_plane(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    if (tbp_doctor_plugin_within(d, TBP_RELEASE(2, 19, 0), TBP_RELEASE(2, 19, 1)) &&
        !tbp_python_tbprof_answers(&d->python))
        each_xplane(d, self, look_for_host_plane);
}

const struct tbp_doctor_check tbp_check_host_plane = {
    .name = "host-plane",
    .scope = TBP_CHECK_FILES,
    .help = "for plugin 2.19.0: xplane files have the plane /host:CPU",
    .run = run_host_plane,
};

static void look_at_size(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                         const struct tbp_doctor_file *file) {
    if (file->size_bytes < protobuf_limit_bytes)
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, file->path);
    f->what = "has 2 GiB or more, where the plugin's own reader stops";
    f->advice = "tbprof convert -o DIR writes one that stays below, or install tbprof's package";
}
static void run_file_size(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    if (!tbp_python_tbprof_answers(&d->python))
        each_xplane(d, self, look_at_size);
}

const struct tbp_doctor_check tbp_check_file_size = {
    .name = "file-size",
    .scope = TBP_CHECK_FILES,
    .help = "xplane files are small enough for the plugin's reader",
    .run = run_file_size,
};

static void look_at_recorder(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                             const struct tbp_doctor_file *file) {
    if (!file->recorder_error)
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_NOTE, file->path);
    f->what = tbp_arena_printf(d->arena, "tells of a failure while it was recorded: %s",
                               file->recorder_error);
    f->advice = strstr(file->recorder_error, "PRIVILEGES")
                    ? "let users profile (driver option NVreg_RestrictProfilingToAdminUsers=0, or "
                      "CAP_SYS_ADMIN), then record again"
                    : "device data may be missing; remove the cause and record again";
}
static void run_recorder(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    each_xplane(d, self, look_at_recorder);
}

const struct tbp_doctor_check tbp_check_recorder = {
    .name = "recorder",
    .scope = TBP_CHECK_FILES,
    .help = "the profiler told of no failure while recording",
    .run = run_recorder,
};
