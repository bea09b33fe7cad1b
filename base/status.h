/* SPDX-License-Identifier: Apache-2.0
 *
 * Status codes and the error value that every fallible function of tbprof fills.
 *
 * A function that can fail returns int: TBP_OK (0) or a negative enum tbp_code, and takes a
 * `struct tbp_error *err` last (NULL is allowed). The error is a plain value: no allocation, no
 * printing, no ownership. Bad *data* is not an error: readers count it (convert/model/ledger.h).
 *
 * Message grammar: lower case, no full stop, what failed first, the subject in single quotes.
 * Thread-safety: a struct tbp_error belongs to one thread at a time.
 */
#ifndef TBP_BASE_STATUS_H
#define TBP_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pinned in decades: 1 usage, 10 input/output, 20 format, 40 options, 60 resources, 70 limits, 90
 * internal. */
enum tbp_code {
    TBP_OK = 0,
    TBP_E_USAGE = -1,        /* the caller asked for something that cannot be */
    TBP_E_NOT_FOUND = -10,   /* path, host or event does not exist */
    TBP_E_IO = -11,          /* the system refused a read or write */
    TBP_E_FORMAT = -20,      /* unknown format or wrong magic */
    TBP_E_TRUNCATED = -21,   /* bytes end inside a value */
    TBP_E_VARINT = -22,      /* varint longer than ten bytes */
    TBP_E_UTF8 = -23,        /* text is not UTF-8 */
    TBP_E_OPTION = -40,      /* unknown option or bad value */
    TBP_E_MEMORY = -60,      /* memory exhausted */
    TBP_E_LIMIT = -70,       /* over a stated limit */
    TBP_E_UNSUPPORTED = -71, /* valid, but not offered for this input */
    TBP_E_INTERRUPTED = -72, /* a signal asked to stop */
    TBP_E_INTERNAL = -90,
};

enum { TBP_ERROR_TEXT = 480, TBP_ERROR_CAUSES = 8, TBP_ERROR_CAUSE_TEXT = 256 };
#define TBP_NO_OFFSET UINT64_MAX

struct tbp_error {
    int code;        /* enum tbp_code */
    uint64_t offset; /* byte offset in `input`, or TBP_NO_OFFSET */
    char input[TBP_ERROR_TEXT];
    char message[TBP_ERROR_TEXT];
    unsigned n_causes;
    char causes[TBP_ERROR_CAUSES]
               [TBP_ERROR_CAUSE_TEXT]; /* innermost first: "while reading plane 3" */
};

/* Fills err (if not NULL) and returns code, so that callers can `return tbp_fail(err, …)`. */
int tbp_fail(struct tbp_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As tbp_fail, with the input's name and the byte offset of the fault. */
int tbp_fail_at(struct tbp_error *err, int code, const char *input, uint64_t offset,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* As tbp_fail, with the text of errno appended. */
int tbp_fail_errno(struct tbp_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends "while doing X" on the way up; keeps err->code and returns it. */
int tbp_cause(struct tbp_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One line: "input: message at byte N (while …)". Returns buf. */
const char *tbp_error_text(const struct tbp_error *err, char *buf, size_t size);

/* A broken invariant of our own: prints and aborts in every build. Never for bad input. */
_Noreturn void tbp_bug(const char *file, int line, const char *what);
#define TBP_BUG_IF(cond) ((cond) ? tbp_bug(__FILE__, __LINE__, #cond) : (void)0)

#endif
