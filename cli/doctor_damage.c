/* SPDX-License-Identifier: Apache-2.0
 *
 * Check of what lies beside the xplanes: pages and caches which the plugin hands on as they are,
 * unless it cannot read them. What it does make again is not looked at, nor are caches in which 0
 * bytes mean that there is nothing to tell.
 */
#include "cli/doctor.h"

#include "base/file.h"
#include "base/json_pull.h"
#include "schemas/wire.h"

#include <inttypes.h>

struct bytes {
    struct tbp_arena *arena;
    struct tbp_str all;
};

static const char *fault_of_message(const struct bytes *b) {
    struct tbp_wire w = tbp_wire_of(b->all.p, b->all.n);
    struct tbp_wire_field f;
    int got;
    do
        got = tbp_wire_next(&w, &f);
    while (got > 0);
    return got == 0 ? NULL
                    : tbp_arena_printf(b->arena, "is no whole message of protobuf from byte %zu on",
                                       (size_t)((const char *)w.at - b->all.p));
}

/* Statistics of a profile are never nothing. */
static const char *fault_of_statistics(const struct bytes *b) {
    return b->all.n ? fault_of_message(b) : "has 0 bytes";
}

/* The last bytes of each such file. */
static const char *fault_of_table(const struct bytes *b) {
    static const char mark[] = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
    if (!b->all.n)
        return "has 0 bytes";
    return tbp_str_ends(b->all, mark) ? NULL : "is cut short or has other bytes";
}

static const char *fault_of_text(const struct bytes *b) {
    return tbp_utf8_valid_prefix(b->all) == b->all.n ? NULL : "is no text in UTF-8";
}

static const char *fault_of_json_but(const struct bytes *b, enum tbp_json_repair tolerated) {
    struct tbp_json_pull j;
    tbp_json_pull_init(&j, b->all.p, b->all.n);
    uint64_t first = UINT64_MAX;
    while (tbp_json_pull_next(&j) != TBP_JSON_END)
        continue;
    for (int k = 0; k < TBP_JSON_REPAIRS; k++) {
        bool is_harmless = k == TBP_JSON_UTF8 || k == TBP_JSON_DEPTH || k == (int)tolerated;
        if (j.count[k] && !is_harmless && j.first_offset[k] < first)
            first = j.first_offset[k];
    }
    if (first < UINT64_MAX)
        return tbp_arena_printf(b->arena, "is no whole JSON from byte %" PRIu64 " on", first);
    return j.had_document ? NULL : "holds no JSON";
}

static const char *fault_of_json(const struct bytes *b) {
    return fault_of_json_but(b, TBP_JSON_REPAIRS);
}

/* Trace viewers want no bracket behind the last event. */
static const char *fault_of_trace(const struct bytes *b) {
    return fault_of_json_but(b, TBP_JSON_OPEN);
}

/* The first that fits, of the same kind. */
static const struct {
    enum tbp_file_kind kind;
    const char *ending;
    const char *(*fault)(const struct bytes *b);
} rules[] = {
    {TBP_FILE_CACHE, "op_stats.pb", fault_of_statistics},
    {TBP_FILE_CACHE, "op_stats_v2.pb", fault_of_statistics},
    {TBP_FILE_CACHE, ".SSTABLE", fault_of_table},
    {TBP_FILE_CACHE, "cached_tools.json", fault_of_text},
    {TBP_FILE_CACHE, "cache_version.txt", fault_of_text},
    {TBP_FILE_PAGE, "trace.json.gz", fault_of_trace},
    {TBP_FILE_PAGE, ".json.gz", fault_of_json},
    {TBP_FILE_PAGE, ".json", fault_of_json},
    {TBP_FILE_PAGE, ".pb", fault_of_message},
};

static const char *fault_of_input(struct tbp_arena *arena, const struct tbp_doctor_file *file,
                                  const struct tbp_input *in, size_t rule) {
    const struct bytes b = {arena, {(const char *)in->data, in->size}};
    const bool is_called_packed = tbp_str_ends(tbp_str_c(file->name), ".gz");
    if (in->is_unpacked != is_called_packed)
        return is_called_packed ? "is not packed with gzip, as its name says"
                                : "is packed, which its name does not say";
    return in->damaged ? "is cut short or damaged within gzip" : rules[rule].fault(&b);
}

/* What is wrong with the bytes of the file, or NULL. */
static const char *fault_of(struct tbp_arena *arena, const struct tbp_doctor_file *file) {
    struct tbp_input in;
    struct tbp_error ignored; /* what may not be read is told by another check */
    const char *fault;
    size_t rule = 0, n = sizeof rules / sizeof *rules;
    while (rule < n && (rules[rule].kind != file->kind ||
                        !tbp_str_ends(tbp_str_c(file->name), rules[rule].ending)))
        rule++;
    if (rule == n || !file->is_readable || tbp_input_open(&in, file->path, &ignored) != TBP_OK)
        return NULL;
    fault = fault_of_input(arena, file, &in, rule);
    tbp_input_release(&in);
    return fault;
}

static void look_at(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                    const struct tbp_doctor_folder *run, const struct tbp_doctor_file *file) {
    const bool is_page = file->kind == TBP_FILE_PAGE;
    const bool is_used = is_page ? tbp_doctor_shows_pages(d, run) && file->size_bytes
                                 : tbp_doctor_uses_cache(d, run, file);
    const char *fault = is_used ? fault_of(d->arena, file) : NULL;
    if (!fault)
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, file->path);
    f->what =
        tbp_arena_printf(d->arena, "%s: %s", fault,
                         is_page ? "the page stays empty"
                                 : "what the plugin shows of this cache is empty, or an error");
    f->advice = is_page ? "copy it again, or make it again with 'tbprof convert'"
                        : "remove it; the plugin makes it again when the page is opened";
}

static void run_damaged_beside(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        for (size_t k = 0; k < run->files.n; k++)
            look_at(d, self, run, &run->files.at[k]);
    }
}

const struct tbp_doctor_check tbp_check_damaged_beside = {
    .name = "damaged-beside",
    .scope = TBP_CHECK_FILES,
    .help = "pages and caches beside the xplanes are whole",
    .run = run_damaged_beside,
};
