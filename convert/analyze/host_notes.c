/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes of a recording; see host_notes.h.
 */
#include "convert/analyze/host_notes.h"

#include "base/sort.h"

static int compare_texts(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return tbp_str_cmp(*(const struct tbp_str *)a, *(const struct tbp_str *)b);
}

static void sort_texts(struct tbp_str *texts, size_t n) {
    tbp_sort(texts, n, sizeof *texts, compare_texts, NULL);
}

/* Copy in byte order, each text once; returns their number. */
static size_t texts_once(const struct tbp_str *from, size_t n, struct tbp_arena *out,
                         struct tbp_str **texts) {
    size_t kept = 0;
    struct tbp_str *t = *texts = TBP_NEW_N(out, struct tbp_str, n);
    for (size_t i = 0; i < n; i++)
        t[i] = from[i];
    sort_texts(t, n);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !tbp_str_eq(t[i], t[kept - 1]))
            t[kept++] = t[i];
    return kept;
}

/* ---- damage ---- */

struct tbp_str tbp_host_damage_text(const struct tbp_host *h, struct tbp_arena *a) {
    const char *text = NULL;
    for (int k = 0; k < TBP_LEDGER_KEYS; k++) {
        enum tbp_ledger_key key = (enum tbp_ledger_key)k;
        if (h->ledger.count[k] && tbp_ledger_damage_of(key) == TBP_DAMAGE_FILE)
            text = tbp_arena_printf(a, "%s%s%s", text ? text : "", text ? ", " : "",
                                    tbp_ledger_help(key));
    }
    if (text)
        text = tbp_arena_printf(
            a, TBP_NOTE_OF_FILE "is cut or damaged (%s): these pages lack what is missing.", text);
    else if (h->size_bytes == 0)
        text = TBP_NOTE_OF_FILE "is empty: was it still being written?";
    return text ? tbp_str_c(text) : TBP_STR_NONE;
}

bool tbp_note_is_of_files(struct tbp_str warning) {
    return tbp_str_starts(warning, TBP_NOTE_OF_FILE) || tbp_str_starts(warning, TBP_NOTE_OF_FILES);
}

/* Those of the file, and what the reading has to say of it. */
static size_t all_warnings(const struct tbp_host *h, bool repairs, struct tbp_arena *out,
                           struct tbp_str **texts) {
    struct tbp_str damage = repairs ? tbp_host_damage_text(h, out) : TBP_STR_NONE;
    struct tbp_str *from = TBP_NEW_N(out, struct tbp_str, h->n_warnings + 1);
    size_t n = 0;
    for (; n < h->n_warnings; n++)
        from[n] = h->warnings[n];
    if (damage.n)
        from[n++] = damage;
    return texts_once(from, n, out, texts);
}

static int notes_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                         struct tbp_error *err) {
    const struct tbp_host *h = tbp_session_host(s, host, err);
    if (!h)
        return err ? err->code : TBP_E_INTERNAL;
    struct tbp_host_notes *notes = TBP_NEW(out, struct tbp_host_notes);
    notes->n_errors = texts_once(h->errors, h->n_errors, out, &notes->errors);
    const bool repairs = tbp_session_semantics(s) == TBP_SEMANTICS_REPAIR;
    notes->n_warnings = all_warnings(h, repairs, out, &notes->warnings);
    notes->repaired_steps = h->ledger.count[TBP_LEDGER_REPAIR_STEP_NUM];
    notes->repaired_loops = h->ledger.count[TBP_LEDGER_REPAIR_LOOPS];
    *table = notes;
    return TBP_OK;
}

static void append(struct tbp_str *to, size_t *n, const struct tbp_str *from, size_t n_from) {
    for (size_t i = 0; i < n_from; i++)
        to[(*n)++] = from[i];
}

static int notes_of_all(struct tbp_session *s, struct tbp_arena *out, void **table,
                        struct tbp_error *err) {
    struct tbp_host_notes *all = TBP_NEW(out, struct tbp_host_notes);
    size_t n_errors = 0, n_warnings = 0;
    for (uint32_t i = 0; i < tbp_session_n_hosts(s); i++) {
        const struct tbp_host_notes *notes = tbp_host_notes(s, i, err);
        if (!notes)
            return err ? err->code : TBP_E_INTERNAL;
        n_errors += notes->n_errors;
        n_warnings += notes->n_warnings;
        all->repaired_steps += notes->repaired_steps;
        all->repaired_loops += notes->repaired_loops;
    }
    all->errors = TBP_NEW_N(out, struct tbp_str, n_errors);
    all->warnings = TBP_NEW_N(out, struct tbp_str, n_warnings);
    for (uint32_t i = 0; i < tbp_session_n_hosts(s); i++) {
        const struct tbp_host_notes *notes = tbp_host_notes(s, i, err); /* known: made above */
        append(all->errors, &all->n_errors, notes->errors, notes->n_errors);
        append(all->warnings, &all->n_warnings, notes->warnings, notes->n_warnings);
    }
    sort_texts(all->errors, all->n_errors);
    *table = all;
    return TBP_OK;
}

const struct tbp_analysis tbp_analysis_host_notes = {
    .name = "host_notes",
    .help = "errors, warnings and repairs that pages tell",
    .host = notes_of_host,
    .all = notes_of_all,
};

const struct tbp_host_notes *tbp_host_notes(struct tbp_session *s, uint32_t host,
                                            struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_host_notes, host, err);
}
