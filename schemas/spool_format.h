/* SPDX-License-Identifier: Apache-2.0
 *
 * Layout of a capture spool: the file that a recording process shares with the system, so that
 * what it recorded outlives it. The capture runtime writes it, the collector (in the same process,
 * or `tbprof recover` for a dead one) reads it; nothing else is needed to make a profile of it.
 * It is `<spool folder>/tbprof-<session>/<host>_<pid>.tbs`, mode 0600. Locks (fcntl, for writing):
 * byte 0 while its process lives, byte 1 while somebody makes a run of it. Little endian; all
 * offsets from the start of the file.
 *
 *     header (one page) | anchors | chunk 0 | chunk 1 | …     chunks of 64 KiB, from chunks_offset
 *
 * The file is sparse and grows in extents; what was never written is zero, and a chunk whose magic
 * is wrong was never used. A reader trusts nothing: a spool of a dead process may end anywhere, and
 * one from a stranger may hold anything.
 *
 * Who writes: a chunk has one writer (its thread) until it is full. `committed` is stored with
 * release order after the records below it are complete; a reader loads it with acquire order and
 * reads no further. Names: records refer to strings by id; a string is defined by a STRING record
 * in a chunk of kind STRINGS, before the first record that names it is committed.
 */
#ifndef TBP_SCHEMAS_SPOOL_FORMAT_H
#define TBP_SCHEMAS_SPOOL_FORMAT_H

#include <stdint.h>

#define TBP_SPOOL_MAGIC       0x4c4f4f5053504254u /* "TBPSPOOL" */
#define TBP_SPOOL_CHUNK_MAGIC 0x4b4e4843u         /* "CHNK" */

enum {
    TBP_SPOOL_VERSION = 1,
    TBP_SPOOL_HEADER_BYTES = 8192,
    TBP_SPOOL_ANCHORS = 4096, /* when all are used, every second one goes and the period doubles */
    TBP_SPOOL_CHUNK_BYTES = 65536,
    TBP_SPOOL_SLOT_BYTES = 16,
    TBP_SPOOL_MAX_EXTRA = 62, /* slots after the first of a record */
    TBP_SPOOL_MAX_NAME = 960, /* bytes of an inline name */
};

/* Ticks of the record clock against the clocks of the system, read at the same moment. */
struct tbp_spool_anchor {
    uint64_t ticks;       /* raw: not relative to the session */
    int64_t realtime_ns;  /* since 1970; places the session */
    int64_t monotonic_ns; /* what times are interpolated on */
};

/* Of a file, as stat(2) tells it: no other file has all of them. */
struct tbp_spool_file_id {
    uint64_t device, inode, size_bytes;
    int64_t modified_s, modified_ns;
};

enum tbp_spool_state {
    TBP_SPOOL_EMPTY,     /* the header is not complete */
    TBP_SPOOL_RECORDING, /* a process records, or died while it did */
    TBP_SPOOL_STOPPED,   /* recording has ended; not (completely) written as a run */
    TBP_SPOOL_WRITTEN,   /* the run is on disk: the spool may go */
};

struct tbp_spool_header {
    uint64_t magic;
    uint32_t version, header_bytes;
    uint32_t state;      /* enum tbp_spool_state; atomic */
    uint32_t generation; /* of the session; records of others are left-overs */
    int32_t pid;
    uint32_t clock_is_tsc;
    uint64_t ticks_base; /* raw ticks, a little before the start: records count from here */
    int64_t start_realtime_ns, stop_realtime_ns; /* stop 0: not stopped */
    uint64_t anchors_offset;
    uint32_t n_anchors; /* atomic */
    uint32_t chunk_bytes;
    uint64_t chunks_offset;
    uint32_t n_chunks; /* chunks that may have been used; atomic */
    uint32_t full_policy;
    uint64_t n_dropped[16]; /* by enum tbp_spool_drop; atomic */
    char hostname[256];
    char logdir[2048];  /* absolute; "" if nothing is to be saved */
    char run[256];      /* name of the run, as asked for; "" to be made from the start time */
    char options[1024]; /* "key=value\n" lines, for the plane Task Environment */
    char command[1024]; /* of the process, blanks between arguments */
    /* The file that was last made of all there was, below logdir; what is written later takes its
     * place, if it is still that file. "": none */
    char written_as[768];
    struct tbp_spool_file_id written_id;
    /* The file that is about to get a name in a run, so that it is known if its process is killed
     * before it has noted which. inode 0: none */
    struct tbp_spool_file_id staged_id;
};

enum tbp_spool_chunk_kind {
    TBP_SPOOL_CHUNK_FREE,
    TBP_SPOOL_CHUNK_RECORDS, /* of one thread */
    TBP_SPOOL_CHUNK_STRINGS, /* STRING records of the whole process */
    TBP_SPOOL_CHUNK_DEVICE,  /* what a GPU did */
};
enum tbp_spool_chunk_state {
    TBP_SPOOL_CHUNK_UNUSED,
    TBP_SPOOL_CHUNK_WRITING, /* set and left by the writer */
    TBP_SPOOL_CHUNK_FULL,    /* set by the writer */
    TBP_SPOOL_CHUNK_READING, /* set by the session while its collector reads: not used again */
};
/* A reader looks at `state` first (acquire) and takes chunks of all states but UNUSED; of a living
 * process it reads records before strings (a record that is committed has its strings committed).
 * States are changed by the recording process alone. */

struct tbp_spool_chunk { /* 128 bytes, then slots */
    uint32_t magic;
    uint16_t kind;
    uint16_t reserved;
    uint32_t state; /* atomic */
    uint32_t generation;
    uint32_t thread; /* serial number of the thread in its process: unlike tid never used twice */
    int32_t tid;     /* of the kernel */
    int32_t pid;
    uint32_t committed;     /* bytes of complete records after this header; atomic */
    uint64_t sequence;      /* order of the chunks of a thread */
    uint32_t consumed;      /* bytes that an earlier snapshot has taken */
    uint32_t n_records;     /* set when the chunk is full */
    uint64_t n_lost_before; /* records of this thread dropped just before the first here (those
                             * that a ring forgot show as a gap in `sequence`) */
    char thread_name[64];   /* as far as known when the chunk was begun */
    uint64_t reserved3;
};
_Static_assert(sizeof(struct tbp_spool_chunk) == 128, "layout of a file");
enum { TBP_SPOOL_BODY_BYTES = TBP_SPOOL_CHUNK_BYTES - sizeof(struct tbp_spool_chunk) };

/* Records: one slot, then `extra` slots. */
struct tbp_spool_slot {
    uint64_t head; /* ticks : 52 | kind : 6 | extra : 6 */
    uint32_t name; /* string id, or TBP_SPOOL_NAME_INLINE: first extra slots hold the bytes */
    uint32_t aux;  /* 0-15 bytes of the inline name | 16-23 level | 24-28 category | 29-31 flags */
};
#define TBP_SPOOL_NAME_INLINE UINT32_MAX
#define TBP_SPOOL_NAME_CUT    (1u << 29) /* flag: the name was longer */
#define TBP_SPOOL_AUX(size, level, category)                                                       \
    ((uint32_t)(size) | (uint32_t)(level) << 16 | (uint32_t)(category) << 24)

#define TBP_SPOOL_TICKS(head) ((head) & ((UINT64_C(1) << 52) - 1))
#define TBP_SPOOL_KIND(head)  ((unsigned)((head) >> 52) & 63)
#define TBP_SPOOL_EXTRA(head) ((unsigned)((head) >> 58))
#define TBP_SPOOL_HEAD(ticks, kind, extra)                                                         \
    (((ticks) & ((UINT64_C(1) << 52) - 1)) | (uint64_t)(kind) << 52 | (uint64_t)(extra) << 58)

/* "name": the record has one (id or inline). Then, if any, arguments. */
enum tbp_spool_kind {
    TBP_REC_NONE,         /* padding: the rest of the chunk is unused */
    TBP_REC_BEGIN,        /* name; arguments */
    TBP_REC_END,          /* no name; aux 0-15: how many scopes it ends; late arguments */
    TBP_REC_SPAN,         /* name; argument SPAN first: start and duration */
    TBP_REC_INSTANT,      /* name; aux flags unused, category: enum tbprof_instant_scope */
    TBP_REC_COUNTER,      /* name; one argument, key 0: the value */
    TBP_REC_ASYNC_BEGIN,  /* name; argument key 0: id */
    TBP_REC_ASYNC_END,    /* argument key 0: id */
    TBP_REC_FLOW_OUT,     /* aux 0-15: context type; argument key 0: id; of the open scope */
    TBP_REC_FLOW_IN,      /* the same */
    TBP_REC_MEMORY_ALLOC, /* name: allocator; one struct tbp_spool_memory */
    TBP_REC_MEMORY_FREE,  /* name: allocator; argument key 0: address */
    TBP_REC_MEMORY_BASE,  /* name: allocator; one struct tbp_spool_memory: capacity, in use, peak */
    TBP_REC_ANNOTATION,   /* name; opens: closed by ANNOTATION_END */
    TBP_REC_ANNOTATION_END,
    TBP_REC_STRING,      /* name: the id defined; aux 0-15: size; bytes inline (in STRINGS chunks;
                          * longer strings go on in records of the same id that follow) */
    TBP_REC_THREAD_NAME, /* name */
    TBP_REC_METADATA,    /* name: the key; one text argument */
    TBP_REC_WARNING,     /* name: the text */
    TBP_REC_DROPPED,     /* aux 0-15: enum tbp_spool_drop; argument key 0: how many, here */
    TBP_REC_PAUSE,       /* recording rests from here … */
    TBP_REC_RESUME,      /* … to here */
    TBP_REC_ARGS, /* arguments of an open scope; aux 0-15: 0 the innermost, 1 around it, … */
    TBP_REC_GPU,  /* name; aux 0-15: enum tbp_gpu_kind; a struct tbp_spool_gpu, and one by kind
                   * (schemas/spool_gpu.h); ticks: when it became known */
    TBP_REC_GPU_DEVICE, /* name: the device's; a struct tbp_spool_gpu_device */
    TBP_REC_GPU_LOSS,   /* aux 0-15: enum tbp_gpu_loss; argument key 0: how many more */
    TBP_REC_KINDS
};
_Static_assert(TBP_REC_KINDS <= 32, "readers keep sets of kinds in 32 bits");

enum tbp_spool_drop {
    TBP_DROP_CAP,
    TBP_DROP_RING,
    TBP_DROP_NO_CHUNK,
    TBP_DROP_TOO_LONG,
    TBP_DROP_REENTRANT,
    TBP_DROP_DEPTH,
    TBP_DROP_THREADS,
    TBP_DROP_CUT_BY_STOP,
    TBP_DROP_NAME_CUT,
    TBP_DROP_KINDS
};

enum tbp_spool_arg_type {
    TBP_ARG_I64 = 1,
    TBP_ARG_U64,
    TBP_ARG_F64,  /* bits of a double */
    TBP_ARG_TEXT, /* `size` bytes in the `extra` slots that follow */
    TBP_ARG_ID,   /* value: string id */
    TBP_ARG_SPAN, /* value: start in ns since 1970; next slot: u64 duration in ns */
};
struct tbp_spool_arg { /* one slot, then `extra` slots */
    uint32_t key;      /* string id; 0: the kind tells */
    uint8_t type, extra;
    uint16_t size; /* bytes of TEXT */
    uint64_t value;
};
struct tbp_spool_memory {                               /* four slots */
    uint64_t address, requested_bytes, allocated_bytes; /* MEMORY_BASE: capacity, in use, peak */
    uint32_t region_id, shape_id;                       /* string ids; 0: none */
    int32_t data_type;
    uint32_t reserved;
    uint64_t reserved2[3];
};
_Static_assert(sizeof(struct tbp_spool_slot) == 16 && sizeof(struct tbp_spool_arg) == 16 &&
                   sizeof(struct tbp_spool_memory) == 64,
               "layout of a file");

#endif
