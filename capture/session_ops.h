/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sampling server needs of the session of its process: the public calls of
 * capture/tbprof.h as a table, so that tests can play a session that is slow, large, busy or
 * broken.
 */
#ifndef TBP_CAPTURE_SESSION_OPS_H
#define TBP_CAPTURE_SESSION_OPS_H

#include "capture/tbprof.h"

struct tbp_session_ops {
    void (*options_init)(tbprof_options *options);
    tbprof_status (*options_set)(tbprof_options *options, const char *key, const char *value);
    tbprof_status (*start)(const char *logdir, const tbprof_options *options);
    tbprof_status (*pause)(void);
    tbprof_status (*stop)(int save);
    tbprof_status (*collect)(uint8_t **bytes, size_t *size_bytes);
    void (*bytes_free)(uint8_t *bytes);
    tbprof_status (*stats)(tbprof_counts *counts);
    void (*warn)(const char *text);
    const char *(*last_error)(void);
    uint32_t (*generation)(void);    /* another one for each session */
    void (*trace_python)(int level); /* 0: off; NULL: there is no Python */
};

#endif
