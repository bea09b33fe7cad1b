/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of counters: what is damage, and that whoever speaks of damage means that.
 */
#include "convert/analyze/file_marks.h"
#include "convert/analyze/host_notes.h"
#include "convert/analyze/rewrite_xplane.h"
#include "tests/support/tiny_run.h"
#include "tests/support/xpt.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Everything else is odd, a repair, or left out by a rule or a limit of ours. */
static bool is_damage_of_file(enum tbp_ledger_key k) {
    return k == TBP_LEDGER_BAD_WIRE || k == TBP_LEDGER_TRUNCATED || k == TBP_LEDGER_EVENT_DROPPED ||
           k == TBP_LEDGER_STAT_DROPPED || k == TBP_LEDGER_GZIP_DAMAGED ||
           k == TBP_LEDGER_GZIP_TAIL || k == TBP_LEDGER_JSON_CUT || k == TBP_LEDGER_TABLE_CUT ||
           k == TBP_LEDGER_NO_TABLE;
}

Test(ledger, each_counter_has_its_kind_of_damage) {
    for (int i = 0; i < TBP_LEDGER_KEYS; i++) {
        enum tbp_ledger_key k = (enum tbp_ledger_key)i;
        enum tbp_damage right = is_damage_of_file(k)          ? TBP_DAMAGE_FILE
                                : k == TBP_LEDGER_HLO_DAMAGED ? TBP_DAMAGE_VALUE
                                                              : TBP_DAMAGE_NONE;
        struct tbp_ledger l;
        tbp_ledger_init(&l);
        tbp_ledger_count(&l, k, 1, 0);
        cr_expect_eq(tbp_ledger_damage_of(k), right, "%s", tbp_ledger_name(k));
        cr_expect_eq(tbp_ledger_has_damage(&l), right == TBP_DAMAGE_FILE, "%s", tbp_ledger_name(k));
    }
}

/* Pages name each damage of the file, and such a file is not copied as it is. */
Test(ledger, damage_is_told_on_pages_and_not_copied) {
    for (int i = 0; i < TBP_LEDGER_KEYS; i++) {
        enum tbp_ledger_key k = (enum tbp_ledger_key)i;
        struct tiny_host host = {0};
        struct tiny_run run;
        struct tbp_error err = {0};
        cr_assert_eq(tbp_xpt_parse(TBP_STR("plane 4 \"/host:CPU\"\n"), &host.bytes, &err), TBP_OK);
        struct tbp_session *s = tiny_open(&run, &host, 1, TBP_SEMANTICS_OFFICIAL);
        struct tbp_host *h = tbp_session_host(s, 0, &err);
        struct tbp_arena a;
        tbp_arena_init(&a);
        tbp_ledger_count(&h->ledger, k, 1, 0);
        struct tbp_str text = tbp_host_damage_text(h, &a);
        cr_expect_eq(text.n && strstr(tbp_arena_str(&a, text).p, tbp_ledger_help(k)),
                     is_damage_of_file(k), "%s", tbp_ledger_name(k));
        cr_expect_eq(tbp_rewrite_xplane_is_needed(s, h),
                     is_damage_of_file(k) || k == TBP_LEDGER_INVALID_UTF8, "%s",
                     tbp_ledger_name(k));
        tbp_arena_release(&a);
        tiny_close(&run);
    }
}

/* Lost between the input and an xplane that is written of it, which does not show it any more. Not:
 * what stands in that xplane, too, and what is left out of something else, or only then. */
Test(ledger, every_loss_is_marked_in_what_is_written) {
    for (int i = 0; i < TBP_LEDGER_KEYS; i++) {
        enum tbp_ledger_key k = (enum tbp_ledger_key)i;
        bool is_elsewhere =
            k == TBP_LEDGER_HLO_DAMAGED || k == TBP_LEDGER_VIEW_CAP || k == TBP_LEDGER_WRITE_CAP;
        char name[64];
        struct tbp_ledger l;
        tbp_ledger_init(&l);
        tbp_ledger_count(&l, k, 1, 0);
        snprintf(name, sizeof name, "tbprof_%s", tbp_ledger_name(k));
        if ((tbp_ledger_has_loss(&l) || tbp_ledger_has_damage(&l)) && !is_elsewhere)
            cr_expect(tbp_is_file_mark(tbp_str_c(name)), "%s", name);
    }
}

/* One row per counter in docs/ledger.md: name, meaning, loss, damage. */
Test(ledger, the_document_has_the_table) {
    static const char *const damages[] = {"", "value", "file"};
    char line[512], name[64], right[64];
    int k = 0;
    FILE *f = fopen(TBP_SOURCE_DIR "/docs/ledger.md", "r");
    cr_assert_not_null(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "| `%63[a-z0-9_]`", name) != 1)
            continue;
        cr_assert_lt(k, TBP_LEDGER_KEYS);
        enum tbp_ledger_key key = (enum tbp_ledger_key)k++;
        struct tbp_ledger l;
        tbp_ledger_init(&l);
        tbp_ledger_count(&l, key, 1, 0);
        cr_expect_str_eq(name, tbp_ledger_name(key));
        snprintf(right, sizeof right, "| %s | %s |\n", tbp_ledger_has_loss(&l) ? "yes" : "",
                 damages[tbp_ledger_damage_of(key)]);
        cr_expect(tbp_str_ends(tbp_str_c(line), right), "'%s' ends with '%s'", line, right);
    }
    fclose(f);
    cr_expect_eq(k, TBP_LEDGER_KEYS);
}
