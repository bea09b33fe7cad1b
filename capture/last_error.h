/* SPDX-License-Identifier: Apache-2.0
 *
 * The text behind tbprof_last_error: of the calling thread, kept until its next call. Also the one
 * place where codes of tbprof (base/status.h) become those of the public interface.
 */
#ifndef TBP_CAPTURE_LAST_ERROR_H
#define TBP_CAPTURE_LAST_ERROR_H

#include "base/status.h"
#include "capture/tbprof.h"

/* Texts that a thread was given, until its next call. */
struct tbp_thread_texts {
    char error[2048], run[4096];
};
struct tbp_thread_texts *tbp_thread_texts(void);

/* Both return the status, so that callers can `return tbp_last_error_set(…)`. */
tbprof_status tbp_last_error_set(tbprof_status status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
tbprof_status tbp_last_error_from(const struct tbp_error *err);
tbprof_status tbp_last_error_status(int code); /* of enum tbp_code */

#endif
