/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing over texts in mapped memory, in front of it a cache by address for keys. A name
 * is in the spool before its number is known to anybody, so that whoever reads a record finds its
 * name (schemas/spool_format.h).
 */
#include "capture/string_table.h"

#include "base/str.h"

#include <sys/mman.h>

enum {
    MAX_STRINGS = 1 << 20,
    SLOTS = 1 << 21,
    KEY_SLOTS = 8192, /* addresses remembered; further ones are looked up by text */
    KEY_PROBES = 16,
    PART_BYTES = TBP_SPOOL_MAX_NAME, /* of a text in one record */
};
#define TEXT_BYTES     (UINT64_C(1) << 30) /* addresses for texts … */
#define MIN_TEXT_BYTES (UINT64_C(1) << 20) /* … or fewer, where there are not so many */

struct key {
    const char *address; /* atomic; set after id */
    uint32_t id;
};

static struct {
    pthread_mutex_t lock;
    char *texts;
    uint64_t n_bytes, max_bytes;
    struct tbp_str *strings; /* by number */
    uint32_t *slots;         /* number, 0: free */
    uint32_t n;              /* numbers given: 1 … n */
    struct key keys[KEY_SLOTS];
    struct tbp_spool *spool;
    struct tbp_spool_chunk *chunk;
    uint64_t sequence;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *reserve(uint64_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool is_ready(void) {
    for (uint64_t n = TEXT_BYTES; !table.texts && n >= MIN_TEXT_BYTES; n /= 8) {
        table.max_bytes = n;
        table.texts = reserve(n);
    }
    if (!table.strings)
        table.strings = reserve((MAX_STRINGS + 1) * sizeof *table.strings);
    if (!table.slots)
        table.slots = reserve(SLOTS * sizeof *table.slots);
    return table.texts && table.strings && table.slots;
}

/* Room for a record of n slots in the chunk of strings, or NULL. */
static struct tbp_spool_slot *room(unsigned n) {
    uint32_t size = n * TBP_SPOOL_SLOT_BYTES;
    if (table.chunk && table.chunk->committed + size > TBP_SPOOL_BODY_BYTES) {
        tbp_spool_full(table.spool, table.chunk);
        table.chunk = NULL;
    }
    if (!table.chunk) {
        table.chunk = tbp_spool_take(table.spool, TBP_SPOOL_CHUNK_STRINGS);
        if (!table.chunk)
            return NULL;
        table.chunk->pid = table.spool->header->pid;
        table.chunk->sequence = table.sequence++;
        tbp_spool_begin(table.chunk);
    }
    return (struct tbp_spool_slot *)((uint8_t *)(table.chunk + 1) + table.chunk->committed);
}

static bool write_part(uint32_t id, struct tbp_str part) {
    unsigned extra = (unsigned)((part.n + TBP_SPOOL_SLOT_BYTES - 1) / TBP_SPOOL_SLOT_BYTES);
    struct tbp_spool_slot *slot = room(1 + extra);
    if (!slot)
        return false;
    slot->head = TBP_SPOOL_HEAD(0, TBP_REC_STRING, extra);
    slot->name = id;
    slot->aux = TBP_SPOOL_AUX(part.n, 0, 0);
    if (extra)
        slot[extra] = (struct tbp_spool_slot){0};
    memcpy(slot + 1, part.p, part.n);
    __atomic_store_n(&table.chunk->committed,
                     table.chunk->committed + (1 + extra) * TBP_SPOOL_SLOT_BYTES, __ATOMIC_RELEASE);
    return true;
}

static bool write_string(uint32_t id, struct tbp_str s) {
    size_t at = 0;
    do {
        size_t n = s.n - at < PART_BYTES ? s.n - at : PART_BYTES;
        if (!write_part(id, tbp_str_sub(s, at, at + n)))
            return false;
        at += n;
    } while (at < s.n);
    return true;
}

/* The slot of a text: its own, or the free one where it belongs. */
static uint32_t *find(struct tbp_str s) {
    uint32_t i = (uint32_t)tbp_str_hash(s) & (SLOTS - 1);
    while (table.slots[i] && !tbp_str_eq(table.strings[table.slots[i]], s))
        i = (i + 1) & (SLOTS - 1);
    return &table.slots[i];
}

static uint32_t intern(struct tbp_str s) {
    if (!is_ready())
        return 0;
    uint32_t *slot = find(s);
    if (*slot)
        return *slot;
    if (table.n == MAX_STRINGS || table.n_bytes + s.n + 1 > table.max_bytes)
        return 0;
    if (table.spool && !write_string(table.n + 1, s))
        return 0;
    char *copy = table.texts + table.n_bytes;
    memcpy(copy, s.p, s.n);
    table.n_bytes += s.n + 1;
    table.strings[++table.n] = (struct tbp_str){copy, s.n};
    return *slot = table.n;
}

uint32_t tbp_string_id(const char *text, size_t size_bytes) {
    pthread_mutex_lock(&table.lock);
    uint32_t id = intern((struct tbp_str){text, size_bytes});
    pthread_mutex_unlock(&table.lock);
    return id;
}

/* Under the lock, so that an address comes once. */
static void remember(uint32_t at, const char *key, uint32_t id) {
    for (int i = 0; id && i < KEY_PROBES; i++) {
        struct key *k = &table.keys[(at + i) % KEY_SLOTS];
        if (k->address == key)
            return;
        if (k->address)
            continue;
        k->id = id;
        __atomic_store_n(&k->address, key, __ATOMIC_RELEASE);
        return;
    }
}

uint32_t tbp_string_id_of_key(const char *key) {
    if (!key)
        return 0;
    uint32_t at = (uint32_t)((uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (int i = 0; i < KEY_PROBES; i++) {
        const struct key *k = &table.keys[(at + i) % KEY_SLOTS];
        const char *address = __atomic_load_n(&k->address, __ATOMIC_ACQUIRE);
        if (address == key)
            return k->id;
        if (!address)
            break;
    }
    pthread_mutex_lock(&table.lock);
    uint32_t id = intern(tbp_str_c(key));
    remember(at, key, id);
    pthread_mutex_unlock(&table.lock);
    return id;
}

void tbp_string_table_attach(struct tbp_spool *spool) {
    pthread_mutex_lock(&table.lock);
    table.spool = spool;
    table.chunk = NULL;
    table.sequence = 0;
    if (spool) /* else the first thread that names something would have to map it */
        is_ready();
    for (uint32_t i = 1; spool && i <= table.n; i++)
        if (!write_string(i, table.strings[i]))
            break;
    pthread_mutex_unlock(&table.lock);
}

void tbp_string_table_lock(void) {
    pthread_mutex_lock(&table.lock);
}

void tbp_string_table_unlock(void) {
    pthread_mutex_unlock(&table.lock);
}

void tbp_string_table_after_fork(void) {
    table.spool = NULL;
    table.chunk = NULL;
    pthread_mutex_init(&table.lock, NULL);
}
