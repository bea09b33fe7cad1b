/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's error numbers as sentences for people: what it means, and what exactly to change. Pure.
 */
#ifndef TBP_CAPTURE_CUPTI_ERRORS_H
#define TBP_CAPTURE_CUPTI_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

enum { /* numbers with a meaning for the session */
       TBP_CUPTI_OK = 0,
       TBP_CUPTI_END = 12,          /* MAX_LIMIT_REACHED: no further record in the buffer */
       TBP_CUPTI_NO_PRIVILEGE = 35, /* INSUFFICIENT_PRIVILEGES */
       TBP_CUPTI_IS_TAKEN = 39,     /* MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
};

/* "another tool holds CUPTI …; to do: …": what happened while doing `what`. */
void tbp_cupti_explain(int code, const char *what, char *text, size_t size);
/* The part after "to do"; never NULL. */
const char *tbp_cupti_advice(int code);
/* The error concerns one kind of activity: the session goes on without it. */
bool tbp_cupti_is_of_kind(int code);

#endif
