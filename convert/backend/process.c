/* SPDX-License-Identifier: Apache-2.0
 *
 * Making the backend of the process; see process.h.
 */
#include "convert/backend/process.h"

#include "base/guard.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>

static const uint64_t default_budget_bytes = UINT64_C(2) << 30;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct tbp_backend *backend;
static struct tbp_error failure;
static _Atomic uint64_t answers, errors;

static uint64_t budget_of_environment(void) {
    const char *text = getenv("TBPROF_CACHE_BYTES");
    uint64_t n;
    return text && tbp_str_to_u64(tbp_str_c(text), &n) ? n : default_budget_bytes;
}

static enum tbp_semantics semantics_of_environment(void) {
    const char *text = getenv("TBPROF_SEMANTICS");
    if (text && strcmp(text, "official") == 0)
        return TBP_SEMANTICS_OFFICIAL;
    return text && strcmp(text, "tf") == 0 ? TBP_SEMANTICS_TF : TBP_SEMANTICS_REPAIR;
}

static int make_guarded(void *ctx, struct tbp_error *err) {
    (void)ctx, (void)err;
    backend = tbp_backend_new(&(struct tbp_backend_options){
        .budget_bytes = budget_of_environment(), .semantics = semantics_of_environment()});
    return TBP_OK;
}

static void make(void) {
    tbp_guard_run(make_guarded, NULL, &failure);
}

struct tbp_backend *tbp_process_backend(struct tbp_error *err) {
    pthread_once(&once, make);
    if (!backend && err)
        *err = failure;
    return backend;
}

/* The values are those of python_shim/tbprof/settings.py. */
bool tbp_process_is_off(void) {
    static const char *const values[] = {"off", "0", "no", "false"};
    const char *text = getenv("TBPROF_BACKEND");
    for (size_t i = 0; text && i < sizeof values / sizeof *values; i++) {
        if (strcasecmp(text, values[i]) == 0)
            return true;
    }
    return false;
}

void tbp_process_count(int status) {
    atomic_fetch_add(status ? &errors : &answers, 1);
}

void tbp_process_counts(uint64_t *n_answers, uint64_t *n_errors) {
    *n_answers = answers;
    *n_errors = errors;
}
