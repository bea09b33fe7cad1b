/* SPDX-License-Identifier: Apache-2.0
 *
 * The public interface of the capture runtime, for C and C++: record scopes, steps, counters and
 * memory of a running program, and save them as a run folder of TensorBoard's Profile tab.
 *
 *     tbprof_start("logdir", NULL);
 *     for (int step = 0; step < 100; step++) {
 *         tbprof_step_begin("train", step);
 *         { TBPROF_SCOPE("forward"); forward(); }
 *         tbprof_step_end();
 *     }
 *     tbprof_stop(1);                       // then: tensorboard --logdir logdir
 *
 * Link with -ltbprof. With -DTBPROF_DISABLE every annotation macro compiles to nothing.
 *
 * Cost: an annotation costs one relaxed load while nothing is recorded, two clock reads and a few
 * stores while something is; it never locks, allocates or waits (the first use of a site or a
 * thread does). Thread-safety: every function may be called from any thread; a scope is ended by
 * the thread that began it. Annotations may be used in signal handlers of a thread that has
 * recorded before. Ownership: texts are copied, unless a function says "must stay" (string
 * literals do). Errors: functions that can fail return a tbprof_status (the numbers of gRPC);
 * tbprof_last_error() tells the reason. Annotations never fail: what cannot be recorded is counted
 * by reason (tbprof_stats) and told in the profile.
 */
#ifndef TBP_CAPTURE_TBPROF_H
#define TBP_CAPTURE_TBPROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(TBPROF_BUILD)
#define TBPROF_API __attribute__((visibility("default")))
#else
#define TBPROF_API
#endif

typedef enum tbprof_status {
    TBPROF_OK = 0,
    TBPROF_CANCELLED = 1,
    TBPROF_INVALID_ARGUMENT = 3,
    TBPROF_DEADLINE_EXCEEDED = 4,
    TBPROF_NOT_FOUND = 5,
    TBPROF_ALREADY_EXISTS = 6,
    TBPROF_PERMISSION_DENIED = 7,
    TBPROF_RESOURCE_EXHAUSTED = 8,
    TBPROF_FAILED_PRECONDITION = 9,
    TBPROF_UNIMPLEMENTED = 12,
    TBPROF_INTERNAL = 13,
    TBPROF_UNAVAILABLE = 14
} tbprof_status;

/* What the last failing call of this thread said; "" if none failed. Valid until its next call. */
TBPROF_API const char *tbprof_last_error(void);
TBPROF_API const char *tbprof_version(void);

/* ---- options ---- */

/* What happens when max_host_bytes are full. STOP drops what is newer; RING forgets what is oldest,
 * thread by thread; GROW has no bound but the disk. What is lost is counted. */
typedef enum tbprof_full_policy {
    TBPROF_FULL_STOP = 0,
    TBPROF_FULL_RING = 1,
    TBPROF_FULL_GROW = 2
} tbprof_full_policy;

/* Whether what a GPU does is recorded. AUTO: if the program uses CUDA; ON: CUDA and CUPTI are
 * loaded at start, a failure is a warning; REQUIRE: a failure is one of tbprof_start. */
typedef enum tbprof_gpu {
    TBPROF_GPU_OFF = 0,
    TBPROF_GPU_AUTO = 1,
    TBPROF_GPU_ON = 2,
    TBPROF_GPU_REQUIRE = 3
} tbprof_gpu;

typedef struct tbprof_options {
    size_t struct_size;          /* set by tbprof_options_init: later releases append fields */
    int host_tracer_level;       /* 2: records scopes of level 1 … 2; 0: none */
    int device_tracer_level;     /* 1 */
    int python_tracer_level;     /* 0: off, 1: functions, 2: C functions too */
    int delay_ms;                /* 0 */
    uint64_t duration_ms;        /* 0: until tbprof_stop */
    uint64_t start_timestamp_ns; /* 0: now; else since 1970 */
    uint64_t category_mask;      /* all; bit n: scopes of category n are recorded */
    uint64_t max_host_bytes;     /* 512 MiB of records */
    uint64_t max_device_bytes;   /* 256 MiB of buffers between the GPU and the records */
    int full_policy;             /* tbprof_full_policy */
    int memory_mode;             /* 0 off, 1 tbprof_memory_*, 2 also sampled malloc, 3 all malloc */
    int rss_period_ms;           /* 100: resident set as a counter; 0: off */
    int sync_gpu;                /* 0 */
    int follow_fork;             /* 0: forked children record nothing */
    int record_shapes;           /* 0 */
    int with_stack;              /* 0 */
    int convert;                 /* 0; 1: also write the pages as JSON when stopped */
    int start_paused;            /* 0 */
    int raise_error_on_start_failure; /* 0 */
    const char *session_id; /* name of the run; NULL: the local time, never one that exists */
    const char *override_hostname; /* NULL: gethostname() */
    const char *spool_dir;         /* NULL: $TBPROF_SPOOL_DIR, $TMPDIR, /tmp; "memory": no file */
    int gpu;                       /* tbprof_gpu: AUTO */
    int gpu_flush_ms;              /* 1000: how often what a GPU did is fetched */
    uint64_t gpu_buffer_bytes;     /* 1 MiB: one buffer of those */
    const char *gpu_kinds; /* NULL: "kernel,memcpy,memset,api,sync,memory,overhead,facts"; also
                              "graph", "jit", "unified" */
    uint64_t max_events; /* 0: any number; beyond it scopes above level 2 are left out of the run */
} tbprof_options;

/* Defaults, then the environment (TBPROF_<FIELD IN CAPITALS>, and TBPROF_CONFIG=FILE.yaml). */
TBPROF_API void tbprof_options_init(tbprof_options *options);
/* One option by name ("max_host_bytes", "64MiB"). Unknown names: INVALID_ARGUMENT naming the
 * nearest known one. Text values must stay until the session has started. */
TBPROF_API tbprof_status tbprof_options_set(tbprof_options *options, const char *key,
                                            const char *value);

/* ---- sessions: one at a time in a process ---- */

/* logdir "" warms up: nothing is saved by the following stop; file:///DIR is DIR, any other URL is
 * INVALID_ARGUMENT: record into a local folder and copy what is in it. options may be NULL.
 * ALREADY_EXISTS names who holds the session and since when. */
TBPROF_API tbprof_status tbprof_start(const char *logdir, const tbprof_options *options);
/* save 0 drops what was recorded. UNAVAILABLE if no session runs. On a failed save the spool stays
 * and the text names it and the `tbprof recover` command. */
TBPROF_API tbprof_status tbprof_stop(int save);
TBPROF_API tbprof_status tbprof_pause(void);
TBPROF_API tbprof_status tbprof_resume(void);
/* Writes what was recorded since the start, or since the last snapshot, as a run of its own and
 * goes on recording. run NULL: named by the time. Every record is in exactly one run; a scope that
 * is open is split at the border. */
TBPROF_API tbprof_status tbprof_snapshot(const char *run);
/* The same as bytes of an XSpace, which the caller gives back with tbprof_bytes_free. */
TBPROF_API tbprof_status tbprof_collect(uint8_t **bytes, size_t *size);
TBPROF_API void tbprof_bytes_free(uint8_t *bytes);
TBPROF_API int tbprof_is_active(int level);
/* Folder of the run written last in this process ("" if none); valid until the next one is. */
TBPROF_API const char *tbprof_last_run(void);

/* Of the session that runs, else of the last one. */
typedef struct tbprof_counts {
    size_t struct_size; /* set by the caller */
    uint64_t records, bytes, threads, snapshots;
    uint64_t dropped_cap;       /* max_host_bytes reached */
    uint64_t dropped_ring;      /* forgotten by the ring */
    uint64_t dropped_no_chunk;  /* no memory to record into */
    uint64_t dropped_too_long;  /* arguments that did not fit in a record */
    uint64_t dropped_reentrant; /* in a signal handler that interrupted a record */
    uint64_t dropped_depth;     /* nested deeper than 65,535 */
    uint64_t dropped_threads;   /* more than 4,096 threads at a time */
    uint64_t cut_by_stop;       /* scopes that were open when recording stopped */
    uint64_t names_cut;         /* names longer than 960 bytes */
    uint64_t saved;             /* records that are in runs, or were collected */
} tbprof_counts;
TBPROF_API tbprof_status tbprof_stats(tbprof_counts *counts);

/* ---- the word that every annotation looks at ---- */

/* bits 0-7 level (0: nothing is recorded), 8-15 flags, 16-47 category mask, 48-63 generation. For
 * the inline functions below only. */
TBPROF_API extern uint64_t tbprof_g_state;

/* A place in the source that annotates. Made by the macros; must stay. The last eight bytes are
 * what a record holds of it. */
typedef struct tbprof_site {
    const char *name, *file;
    uint32_t line, reserved;
    uint32_t id; /* name's id in the string table; 0: not known yet */
    uint16_t reserved2;
    uint8_t level, category; /* category: 0 - 31 */
} tbprof_site;

/* 0: nothing was begun. */
typedef uint64_t tbprof_scope;

static inline int tbprof_wants(uint64_t state, uint8_t level, uint8_t category) {
    return (uint8_t)state >= level && (state >> (16 + category) & 1);
}

/* Called through the table of addresses instead of a stub: a jump less. */
#if defined(__GNUC__) && !defined(__clang__)
#define TBPROF_HOT TBPROF_API __attribute__((noplt))
#else
#define TBPROF_HOT TBPROF_API
#endif
TBPROF_HOT tbprof_scope tbprof_scope_begin_slow(tbprof_site *site);
TBPROF_HOT void tbprof_scope_end_slow(tbprof_scope scope);
TBPROF_HOT tbprof_scope tbprof_scope_begin_dyn_slow(const char *name, size_t size, int level,
                                                    int category);

/* level and category: the site's, given apart since they are mostly constants. */
static inline tbprof_scope tbprof_scope_begin_lc(tbprof_site *site, uint8_t level,
                                                 uint8_t category) {
    uint64_t state = __atomic_load_n(&tbprof_g_state, __ATOMIC_RELAXED);
    if (__builtin_expect(!tbprof_wants(state, level, category), 1))
        return 0;
    return tbprof_scope_begin_slow(site);
}
static inline tbprof_scope tbprof_scope_begin(tbprof_site *site) {
    return tbprof_scope_begin_lc(site, site->level, site->category);
}
/* A name that is not known at compile time; "name#key=value,key=value#" carries arguments. */
static inline tbprof_scope tbprof_scope_begin_dyn(const char *name, size_t size, int level) {
    uint64_t state = __atomic_load_n(&tbprof_g_state, __ATOMIC_RELAXED);
    if (__builtin_expect(!tbprof_wants(state, (uint8_t)level, 0), 1))
        return 0;
    return tbprof_scope_begin_dyn_slow(name, size, level, 0);
}
/* Ends the scope and all that was begun inside it on this thread. */
static inline void tbprof_scope_end(tbprof_scope scope) {
    if (__builtin_expect(scope != 0, 0))
        tbprof_scope_end_slow(scope);
}
/* Ends one scope and begins the next with one clock read. */
TBPROF_API tbprof_scope tbprof_scope_next(tbprof_scope scope, tbprof_site *site);

/* Arguments of an open scope; key must stay (its address is remembered). */
TBPROF_API void tbprof_scope_arg_i64(tbprof_scope scope, const char *key, int64_t value);
TBPROF_API void tbprof_scope_arg_f64(tbprof_scope scope, const char *key, double value);
TBPROF_API void tbprof_scope_arg_str(tbprof_scope scope, const char *key, const char *value,
                                     size_t size);

static inline void tbprof_scope_cleanup(tbprof_scope *scope) {
    tbprof_scope_end(*scope);
}

/* ---- steps ---- */

/* Makes an event with step_num and _r=1: what the Profile tab takes for a training step. One step
 * may be open per thread; the next begin ends it. */
TBPROF_API void tbprof_step_begin(const char *name, int64_t step_num);
TBPROF_API void tbprof_step_end(void);

/* ---- the rest of the annotations ---- */

/* Work that begins on one thread and ends on another. 0: nothing was begun. */
TBPROF_API uint64_t tbprof_activity_start(const char *name, size_t size, int level);
TBPROF_API void tbprof_activity_end(uint64_t activity);

/* A span that was timed elsewhere, on this thread's line; nanoseconds since 1970. */
TBPROF_API void tbprof_span(const char *name, size_t size, int64_t start_ns, int64_t duration_ns);

typedef enum tbprof_instant_scope {
    TBPROF_INSTANT_THREAD = 0,
    TBPROF_INSTANT_PROCESS = 1,
    TBPROF_INSTANT_GLOBAL = 2
} tbprof_instant_scope;
TBPROF_API void tbprof_instant(const char *name, int instant_scope);
TBPROF_API void tbprof_counter_i64(const char *name, int64_t value);
TBPROF_API void tbprof_counter_f64(const char *name, double value);

/* Ties work that was handed over: the open scope of this thread produces, another one consumes.
 * context_type: as in XPlane (0 generic, 1 legacy, 2 executor, 5 tf.data, 10 GPU launch, …). */
TBPROF_API void tbprof_flow_produce(int context_type, uint64_t id);
TBPROF_API void tbprof_flow_consume(int context_type, uint64_t id);

/* Name of the work (layer, module) that launches and allocations inside belong to. */
TBPROF_API void tbprof_annotation_push(const char *name, size_t size);
TBPROF_API void tbprof_annotation_pop(void);

typedef struct tbprof_allocation {
    const char *allocator; /* "GPU_0_bfc", "cpu": what the memory page lists; must stay */
    uint64_t address, requested_bytes, allocated_bytes;
    const char *region_type; /* "temp", "output", "persist/dynamic"; NULL; must stay */
    int data_type;           /* number of TensorFlow's DataType; 0 unknown */
    const char *shape;       /* "[32,224]"; NULL */
} tbprof_allocation;
TBPROF_API void tbprof_memory_alloc(const tbprof_allocation *allocation);
TBPROF_API void tbprof_memory_free(const char *allocator, uint64_t address);
/* The allocator's own totals: capacity, bytes in use now, peak so far; capacity 0: unknown. */
TBPROF_API void tbprof_memory_baseline(const char *allocator, uint64_t capacity_bytes,
                                       uint64_t in_use_bytes, uint64_t peak_bytes);

TBPROF_API void tbprof_thread_name(const char *name);
/* Goes into the plane "Task Environment" of this session. */
TBPROF_API tbprof_status tbprof_metadata_set(const char *key, const char *value);
/* A sentence for the reader of the profile: shown by the overview page. */
TBPROF_API void tbprof_warn(const char *text);

/* ---- which step does what: the schedule of PyTorch ---- */

typedef enum tbprof_action {
    TBPROF_ACTION_NONE = 0,
    TBPROF_ACTION_WARMUP = 1,
    TBPROF_ACTION_RECORD = 2,
    TBPROF_ACTION_RECORD_AND_SAVE = 3
} tbprof_action;
typedef struct tbprof_schedule {
    int wait, warmup, active, repeat, skip_first, skip_first_wait;
} tbprof_schedule;
TBPROF_API tbprof_status tbprof_schedule_check(const tbprof_schedule *schedule);
TBPROF_API tbprof_action tbprof_schedule_action(const tbprof_schedule *schedule, int64_t step);

/* ---- capture on demand: a server in the program, clients of such servers ---- */

/* Where a profile goes that a client asked for. */
typedef enum tbprof_server_mode {
    TBPROF_SERVER_TO_CLIENT = 0, /* back in the answer: the client stores it */
    TBPROF_SERVER_TO_DISK = 1,   /* to the client's log directory, on this machine */
    TBPROF_SERVER_AUTO = 2       /* the latter if client and log directory are of this machine */
} tbprof_server_mode;

typedef struct tbprof_server_options {
    size_t struct_size; /* set by tbprof_server_options_init */
    const char *bind;   /* NULL or "localhost": this machine only; an IP address; "unix:/path" */
    int mode;           /* tbprof_server_mode */
    const char *allow_root;  /* folders that clients may have written to, with ':' between them */
    const char *allow_peers; /* "10.0.0.0/8,…": who may call besides this machine */
    const char *token; /* what clients must know, up to 200 visible characters; NULL: nothing */
    uint64_t max_duration_ms; /* 600,000: of one capture; at most a day */
    int allow_python_tracer;  /* 0: clients may not have Python calls recorded */
    int allow_remote_workers; /* 0: NewSession does not connect to other machines */
} tbprof_server_options;
/* Defaults, then the environment (TBPROF_SERVER_<FIELD IN CAPITALS>). */
TBPROF_API void tbprof_server_options_init(tbprof_server_options *options);

/* Serves tensorflow.ProfilerService over plaintext gRPC: the CAPTURE PROFILE button of TensorBoard,
 * TensorFlow's and JAX's clients, `tbprof capture`. A session runs only while a client wants one;
 * until then the server sleeps. port 0: a free one (tbprof_server_port). An address that other
 * machines reach needs allow_peers or a token. With TBPROF_SERVER=PORT in the environment a server
 * starts when the library is loaded. Not inherited by forked children. */
typedef struct tbprof_server tbprof_server;
TBPROF_API tbprof_status tbprof_server_start(int port, const tbprof_server_options *options,
                                             tbprof_server **server);
TBPROF_API int tbprof_server_port(const tbprof_server *server);
/* How captures get Python calls: called with the level after a session with python_tracer_level has
 * started, and with 0 before it is collected, from a thread of the server. NULL: no Python. */
typedef void tbprof_python_tracer(int level);
TBPROF_API void tbprof_server_python_tracer(tbprof_python_tracer *tracer);
/* Captures that run end now and their clients get what was recorded; waits until they have it, at
 * most five seconds once it is collected. exit() does the same. NULL is fine. */
TBPROF_API void tbprof_server_stop(tbprof_server *server);

typedef struct tbprof_client_options {
    size_t struct_size;      /* set by tbprof_client_options_init */
    const char *worker_list; /* "a:p,b:p": the first server asks all of these; NULL */
    const char *session_id;  /* of the run; NULL: the local time; one that exists gets "_1" … */
    const char *override_hostname, *token;
    int attempts;            /* 3 */
    int host_tracer_level;   /* 2 */
    int device_tracer_level; /* 1 */
    int python_tracer_level; /* 0 */
    uint64_t delay_ms;       /* 0 */
} tbprof_client_options;
TBPROF_API void tbprof_client_options_init(tbprof_client_options *options);

/* Asks one or several servers ("a:p,b:p") for a profile of the same time, into one run of logdir.
 * OK if any of them gave one; tbprof_last_error tells of those that did not, also then, and of what
 * the profiles of the others lack; it is "" if all is well. options and folder (the run's, cut at
 * folder_size) may be NULL. */
TBPROF_API tbprof_status tbprof_client_trace(const char *service_addrs, const char *logdir,
                                             uint64_t duration_ms,
                                             const tbprof_client_options *options, char *folder,
                                             size_t folder_size);
/* How busy a program is, as text; cut at `size`, NUL-terminated. */
TBPROF_API tbprof_status tbprof_client_monitor(const char *service_addr, uint64_t duration_ms,
                                               int level, char *text, size_t size);

/* ---- macros ---- */

#define TBPROF_CAT_(a, b) a##b
#define TBPROF_CAT(a, b)  TBPROF_CAT_(a, b)
#ifdef TBPROF_DISABLE
#define TBPROF_SCOPE_LC(level, category, name) (void)0
#else
/* The enclosing block, from here on; name is a literal. */
#define TBPROF_SCOPE_LC(level, category, name)                                                     \
    static tbprof_site TBPROF_CAT(tbprof_site_, __LINE__) = {name, __FILE__, __LINE__, 0,          \
                                                             0,    0,        level,    category};  \
    __attribute__((cleanup(tbprof_scope_cleanup), unused)) tbprof_scope TBPROF_CAT(tbprof_scope_,  \
                                                                                   __LINE__) =     \
        tbprof_scope_begin_lc(&TBPROF_CAT(tbprof_site_, __LINE__), level, category)
#endif
#define TBPROF_SCOPE_L(level, name) TBPROF_SCOPE_LC(level, 0, name)
#define TBPROF_SCOPE(name)          TBPROF_SCOPE_LC(1, 0, name)
#define TBPROF_FUNCTION             TBPROF_SCOPE_LC(1, 0, __func__)

#ifdef __cplusplus
} /* extern "C" */

#include <string>

namespace tbprof {

/* A scope with a name made at run time: tbprof::Scope s("layer " + name); */
class Scope {
  public:
    explicit Scope(const std::string &name, int level = 1)
        : scope_(tbprof_scope_begin_dyn(name.data(), name.size(), level)) {}
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    ~Scope() {
        tbprof_scope_end(scope_);
    }
    Scope &arg(const char *key, int64_t value) {
        tbprof_scope_arg_i64(scope_, key, value);
        return *this;
    }
    Scope &arg(const char *key, double value) {
        tbprof_scope_arg_f64(scope_, key, value);
        return *this;
    }
    Scope &arg(const char *key, const std::string &value) {
        tbprof_scope_arg_str(scope_, key, value.data(), value.size());
        return *this;
    }

  private:
    tbprof_scope scope_;
};

/* A training step. */
class Step {
  public:
    Step(const char *name, int64_t step_num) {
        tbprof_step_begin(name, step_num);
    }
    Step(const Step &) = delete;
    Step &operator=(const Step &) = delete;
    ~Step() {
        tbprof_step_end();
    }
};

/* A session; saved when left, also by an exception. */
class Session {
  public:
    explicit Session(const std::string &logdir, const tbprof_options *options = nullptr)
        : status_(tbprof_start(logdir.c_str(), options)) {}
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;
    ~Session() {
        if (status_ == TBPROF_OK)
            tbprof_stop(1);
    }
    tbprof_status status() const {
        return status_;
    }

  private:
    tbprof_status status_;
};

} /* namespace tbprof */
#endif
#endif
