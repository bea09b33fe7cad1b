/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs of unknown size: held in memory up to a bound, in a file without a name beyond it.
 */
#include "base/file.h"
#include "base/spill.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

static char folder[] = "/tmp/tbprof_unpack_XXXXXX";

static void make_folder(void) {
    cr_assert(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
}

/* The folder is empty and goes. */
static void remove_folder(void) {
    cr_assert_eq(rmdir(folder), 0, "a file was left");
}

enum { WORD_BYTES = sizeof(uint32_t) };

static int put_words(struct tbp_spill *s, uint32_t n, struct tbp_error *err) {
    int status = TBP_OK;
    for (uint32_t i = 0; i < n && !status; i++) {
        uint32_t word = i * 2654435761u;
        status = tbp_spill_put(s, &word, WORD_BYTES, err);
    }
    return status;
}

static void assert_words(const struct tbp_input *in, uint32_t n) {
    cr_assert_eq(in->size, (size_t)n * WORD_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t word;
        memcpy(&word, in->data + (size_t)i * WORD_BYTES, WORD_BYTES);
        if (word != i * 2654435761u)
            cr_assert_fail("word %u", i);
    }
}

Test(spill, few_bytes_stay_in_memory, .init = make_folder, .fini = remove_folder) {
    struct tbp_spill s;
    struct tbp_input in;
    tbp_spill_init(&s, "x");
    cr_assert_eq(put_words(&s, 3 << 20, NULL), TBP_OK);
    cr_assert_eq(tbp_spill_size(&s), 12 << 20);
    cr_assert_eq(tbp_spill_finish(&s, &in, NULL), TBP_OK);
    cr_assert_not(in.mapped);
    assert_words(&in, 3 << 20);
    tbp_input_release(&in);
}

Test(spill, many_bytes_are_mapped, .init = make_folder, .fini = remove_folder) {
    enum { WORDS = TBP_SPILL_MOST_HELD_BYTES / WORD_BYTES + 1000001 };
    struct tbp_spill s;
    struct tbp_input in;
    tbp_spill_init(&s, "x");
    cr_assert_eq(put_words(&s, WORDS, NULL), TBP_OK);
    cr_assert_leq(s.cap, 2 << 20); /* the rest is in the file */
    cr_assert_eq(tbp_spill_finish(&s, &in, NULL), TBP_OK);
    cr_assert(in.mapped);
    cr_assert_not(tbp_input_is_torn(&in, "/etc/passwd")); /* it is no file that others know */
    assert_words(&in, WORDS);
    tbp_input_drop_pages(&in); /* they come back */
    assert_words(&in, WORDS);
    tbp_input_release(&in);
}

Test(spill, says_where_there_is_no_room, .init = make_folder, .fini = remove_folder) {
    struct tbp_spill s;
    struct tbp_error err = {0};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20});
    tbp_spill_init(&s, "trace.json.gz");
    cr_assert_eq(put_words(&s, TBP_SPILL_MOST_HELD_BYTES / WORD_BYTES + 1, &err), TBP_E_IO);
    cr_assert(strstr(err.message, folder), "%s", err.message);
    cr_assert(strstr(err.message, "trace.json.gz") && strstr(err.message, "TMPDIR"));
    tbp_spill_release(&s);
}

Test(spill, says_which_folder_is_not_there) {
    struct tbp_spill s;
    struct tbp_error err = {0};
    setenv("TMPDIR", "/nonexistent", 1);
    tbp_spill_init(&s, "trace.json.gz");
    cr_assert_eq(put_words(&s, TBP_SPILL_MOST_HELD_BYTES / WORD_BYTES + 1, &err), TBP_E_IO);
    cr_assert(strstr(err.message, "'/nonexistent' (66 MB so far"), "%s", err.message);
    tbp_spill_release(&s);
}

/* ---- unpacking ---- */

struct told {
    unsigned n;
    double last;
};

static void tell(void *ctx, double part) {
    struct told *t = ctx;
    cr_assert_geq(part, t->last);
    t->last = part;
    t->n++;
}

Test(unpack, tells_how_far_it_is) {
    enum { WORDS = 4 << 20 };
    char path[] = "/tmp/tbprof_test_XXXXXX";
    gzFile gz = gzdopen(mkstemp(path), "wb1");
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t word = i * 2654435761u; /* hardly packed: some megabytes to read */
        cr_assert_eq(gzwrite(gz, &word, WORD_BYTES), WORD_BYTES);
    }
    gzclose(gz);
    struct told told = {0};
    const struct tbp_watch watch = {tell, &told};
    struct tbp_input in;
    cr_assert_eq(tbp_input_open_watched(&in, path, &watch, NULL), TBP_OK);
    assert_words(&in, WORDS);
    cr_assert_gt(told.n, 4);
    cr_assert(told.last > 0.4 && told.last <= 0.5, "%f", told.last);
    tbp_input_tell(&in, in.size / 2);
    cr_assert_eq(told.last, 0.75);
    tbp_input_tell(&in, in.size);
    cr_assert_eq(told.last, 1);
    tbp_input_release(&in);
    unlink(path);
}
