/* SPDX-License-Identifier: Apache-2.0
 *
 * Fork in a session. The parent goes on as if nothing had happened. The child records nothing: the
 * spool is not mapped there (MADV_DONTFORK) and its descriptor is closed at once, so that the child
 * cannot touch the parent's file, nor keep it looking alive. With follow_fork it gets a session of
 * its own (capture/session.c).
 */
#include "capture/fork.h"

#include "capture/fork_gate.h"
#include "capture/gpu_session.h"
#include "capture/janitor.h"
#include "capture/session.h"
#include "capture/spool_file.h"
#include "capture/state.h"
#include "capture/string_table.h"
#include "capture/thread.h"

#include <pthread.h>

static uint32_t held; /* by the thread that forks; under the locks, as all of these */
static bool was_recording, is_gate_closed;

/* In the order in which they are taken everywhere: the gate (who is inside waits for the C library
 * alone), strings, then threads, then files; a spool's own lock comes last and is held for moments
 * only. */
static void prepare(void) {
    bool is_closed = tbp_fork_gate_close();
    uint32_t offset = tbp_thread_hold();
    tbp_string_table_lock();
    tbp_threads_lock();
    tbp_spool_files_hold();
    held = offset;
    is_gate_closed = is_closed;
    was_recording = (uint8_t)tbp_state_load() > 0;
}

static void in_parent(void) {
    uint32_t offset = held;
    bool is_closed = is_gate_closed;
    tbp_spool_files_unhold();
    tbp_threads_unlock();
    tbp_string_table_unlock();
    tbp_thread_unhold(offset);
    if (is_closed)
        tbp_fork_gate_leave();
}

static void in_child(void) {
    __atomic_store_n(&tbprof_g_state, 0, __ATOMIC_RELEASE);
    tbp_string_table_after_fork();
    tbp_threads_after_fork();
    tbp_janitor_after_fork();
    tbp_gpu_after_fork();
    tbp_spool_files_after_fork();
    tbp_fork_gate_after_fork();
    tbp_session_after_fork(was_recording);
}

static void set_handlers(void) {
    pthread_atfork(prepare, in_parent, in_child);
}

void tbp_fork_init(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_handlers);
}
