/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors of the public interface: a status, and a text per thread.
 */
#include "capture/last_error.h"

#include <stdio.h>

static __thread char last_text[2048];

static const struct {
    int code;
    tbprof_status status;
} statuses[] = {
    {TBP_OK, TBPROF_OK},
    {TBP_E_USAGE, TBPROF_INVALID_ARGUMENT},
    {TBP_E_NOT_FOUND, TBPROF_NOT_FOUND},
    {TBP_E_IO, TBPROF_UNAVAILABLE},
    {TBP_E_OPTION, TBPROF_INVALID_ARGUMENT},
    {TBP_E_MEMORY, TBPROF_RESOURCE_EXHAUSTED},
    {TBP_E_LIMIT, TBPROF_RESOURCE_EXHAUSTED},
    {TBP_E_UNSUPPORTED, TBPROF_UNIMPLEMENTED},
    {TBP_E_INTERRUPTED, TBPROF_CANCELLED},
};

tbprof_status tbp_last_error_status(int code) {
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].code == code)
            return statuses[i].status;
    return TBPROF_INTERNAL;
}

tbprof_status tbp_last_error_set(tbprof_status status, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(last_text, sizeof last_text, fmt, args);
    va_end(args);
    return status;
}

tbprof_status tbp_last_error_from(const struct tbp_error *err) {
    tbp_error_text(err, last_text, sizeof last_text);
    return tbp_last_error_status(err->code);
}

const char *tbprof_last_error(void) {
    return last_text;
}

const char *tbprof_version(void) {
    return TBP_VERSION;
}
