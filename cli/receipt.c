/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing of receipts. They are JSON; since JSON is YAML, libyaml reads them.
 */
#include "cli/receipt.h"

#include "base/file.h"
#include "cli/yaml_depth.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>
#include <zlib.h>

#ifdef TBP_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

enum { READ_CHUNK = 64 * 1024, MOST_BYTES = 8 << 20 };

uint32_t tbp_sum_bytes(uint32_t crc, const void *p, size_t n) {
#ifdef TBP_HAVE_LIBDEFLATE
    return libdeflate_crc32(crc, p, n);
#else
    return (uint32_t)crc32_z(crc, p, n);
#endif
}

enum { PART_BYTES = 8 << 20 };

struct summing {
    const struct tbp_input *in;
    uint32_t *crcs; /* of the parts */
};

static size_t part_size(const struct tbp_input *in, size_t part) {
    size_t rest = in->size - part * PART_BYTES;
    return rest < PART_BYTES ? rest : PART_BYTES;
}

static int sum_part(void *ctx, size_t part, struct tbp_error *err) {
    (void)err;
    const struct summing *s = ctx;
    size_t from = part * PART_BYTES, n = part_size(s->in, part);
    s->crcs[part] = tbp_sum_bytes(0, s->in->data + from, n);
    if (s->in->size > 2 * PART_BYTES)
        tbp_input_drop_range(s->in, from, n);
    return TBP_OK;
}

int tbp_input_sum(const struct tbp_input *in, struct tbp_pool *pool, uint32_t *crc,
                  struct tbp_error *err) {
    const size_t n_parts = (in->size + PART_BYTES - 1) / PART_BYTES;
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    struct summing s = {in, TBP_NEW_N(&scratch, uint32_t, n_parts)};
    int status = tbp_pool_for(pool, n_parts, sum_part, &s, err);
    *crc = 0;
    for (size_t i = 0; i < n_parts; i++)
        *crc = (uint32_t)crc32_combine(*crc, s.crcs[i], (z_off_t)part_size(in, i));
    tbp_arena_release(&scratch);
    return status;
}

bool tbp_file_sum(const char *path, uint64_t *size_bytes, uint32_t *crc) {
    struct tbp_file_stamp stamp; /* only files: opening a pipe might wait for ever */
    int fd = tbp_file_stamp(&stamp, path, NULL) == TBP_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    unsigned char chunk[READ_CHUNK];
    ssize_t n;
    *size_bytes = 0;
    *crc = 0;
    while ((n = read(fd, chunk, sizeof chunk)) > 0) {
        *crc = tbp_sum_bytes(*crc, chunk, (size_t)n);
        *size_bytes += (uint64_t)n;
    }
    close(fd);
    return n == 0;
}

static const yaml_node_t *member(yaml_document_t *doc, const yaml_node_t *map, const char *key) {
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *k = yaml_document_get_node(doc, p->key);
        if (k->type == YAML_SCALAR_NODE && strcmp((const char *)k->data.scalar.value, key) == 0)
            return yaml_document_get_node(doc, p->value);
    }
    return NULL;
}

static struct tbp_str text_of(const yaml_node_t *n) {
    if (!n || n->type != YAML_SCALAR_NODE)
        return TBP_STR_NONE;
    return (struct tbp_str){(const char *)n->data.scalar.value, n->data.scalar.length};
}

static void read_files(struct tbp_receipt *r, struct tbp_arena *arena, yaml_document_t *doc,
                       const yaml_node_t *files) {
    if (files->type != YAML_SEQUENCE_NODE)
        return;
    const yaml_node_item_t *item = files->data.sequence.items.start;
    for (; item < files->data.sequence.items.top; item++) {
        const yaml_node_t *n = yaml_document_get_node(doc, *item);
        struct tbp_receipt_file f = {.name = tbp_arena_str(arena, text_of(member(doc, n, "name")))};
        uint64_t crc = 0;
        f.has_sum = tbp_str_to_u64(text_of(member(doc, n, "bytes")), &f.size_bytes) &&
                    tbp_str_to_u64(text_of(member(doc, n, "crc32")), &crc);
        f.crc32 = (uint32_t)crc;
        if (f.name.n)
            *tbp_vec_push(&r->files) = f;
    }
}

static void read_facts(struct tbp_receipt *r, struct tbp_arena *arena, yaml_document_t *doc,
                       const yaml_node_t *root) {
    struct tbp_receipt_facts *f = &r->facts;
    uint64_t crc = 0;
    r->is_complete = tbp_str_is(text_of(member(doc, root, "complete")), "true");
    f->version = tbp_arena_str(arena, text_of(member(doc, root, "tbprof")));
    f->input = tbp_arena_str(arena, text_of(member(doc, root, "input")));
    f->format = tbp_arena_str(arena, text_of(member(doc, root, "format")));
    f->semantics = tbp_arena_str(arena, text_of(member(doc, root, "semantics")));
    tbp_str_to_u64(text_of(member(doc, root, "input_bytes")), &f->input_bytes);
    if (tbp_str_to_u64(text_of(member(doc, root, "input_crc32")), &crc))
        f->input_crc32 = (uint32_t)crc;
}

static bool same_reading(const struct tbp_receipt_facts *a, const struct tbp_receipt_facts *b) {
    return tbp_str_eq(a->format, b->format) && tbp_str_eq(a->semantics, b->semantics) &&
           a->input_bytes == b->input_bytes && a->input_crc32 == b->input_crc32;
}

bool tbp_receipt_same_source(const struct tbp_receipt_facts *a, const struct tbp_receipt_facts *b) {
    return tbp_str_eq(a->input, b->input) && same_reading(a, b);
}

bool tbp_receipt_same_outcome(const struct tbp_receipt_facts *a,
                              const struct tbp_receipt_facts *b) {
    return tbp_str_eq(a->version, b->version) && same_reading(a, b);
}

static bool parse(struct tbp_receipt *r, struct tbp_arena *arena, const struct tbp_input *in) {
    yaml_parser_t parser;
    yaml_document_t doc;
    bool is_receipt = false;
    if (in->size > MOST_BYTES ||
        tbp_yaml_line_too_deep((struct tbp_str){(const char *)in->data, in->size}) ||
        !yaml_parser_initialize(&parser))
        return false;
    yaml_parser_set_input_string(&parser, in->data, in->size);
    if (yaml_parser_load(&parser, &doc)) {
        const yaml_node_t *root = yaml_document_get_root_node(&doc);
        const yaml_node_t *files = member(&doc, root, "files");
        is_receipt = member(&doc, root, "tbprof") && files;
        if (is_receipt) {
            read_facts(r, arena, &doc, root);
            read_files(r, arena, &doc, files);
        }
        yaml_document_delete(&doc);
    }
    yaml_parser_delete(&parser);
    return is_receipt;
}

void tbp_receipt_read(struct tbp_receipt *r, struct tbp_arena *arena, const char *path) {
    struct tbp_input in;
    struct tbp_error err;
    memset(r, 0, sizeof *r);
    if (access(path, F_OK) != 0)
        return;
    struct tbp_file_stamp stamp;
    if (tbp_file_stamp(&stamp, path, &err) != TBP_OK || tbp_input_open(&in, path, &err) != TBP_OK) {
        r->is_foreign = true; /* a pipe, perhaps: opening it might wait for ever */
        return;
    }
    r->is_foreign = !parse(r, arena, &in);
    tbp_input_release(&in);
}

void tbp_receipt_release(struct tbp_receipt *r) {
    tbp_vec_release(&r->files);
}

bool tbp_receipt_owns(const struct tbp_receipt *r, struct tbp_arena *arena, const char *folder,
                      struct tbp_str name) {
    const char *path = tbp_arena_printf(arena, "%s/%.*s", folder, (int)name.n, name.p);
    if (access(path, F_OK) != 0)
        return true;
    for (size_t i = 0; i < r->files.n; i++) {
        const struct tbp_receipt_file *f = &r->files.at[i];
        uint64_t size_bytes;
        uint32_t crc;
        if (!tbp_str_eq(f->name, name))
            continue;
        if (!f->has_sum)
            return true;
        return tbp_file_sum(path, &size_bytes, &crc) && size_bytes == f->size_bytes &&
               crc == f->crc32;
    }
    return false;
}

static void write_key_text(struct tbp_json *j, const char *key, struct tbp_str text) {
    tbp_json_printf(j, ",\"%s\":", key);
    tbp_json_str(j, text, TBP_JSON_GVIZ);
}

void tbp_receipt_write_ledger(struct tbp_json *j, const struct tbp_ledger *l) {
    const struct {
        const char *key;
        uint64_t n;
    } events[] = {{"read", l->events_read},
                  {"emitted", l->events_emitted},
                  {"merged", l->events_merged},
                  {"quarantined", l->events_quarantined},
                  {"dropped", l->events_dropped}};
    tbp_json_lit(j, "{\"events\":{");
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        tbp_json_printf(j, "%s\"%s\":", i ? "," : "", events[i].key);
        tbp_json_u64(j, events[i].n);
    }
    tbp_json_lit(j, "},\"counters\":{");
    const char *comma = "";
    for (int k = 0; k < TBP_LEDGER_KEYS; k++) {
        if (!l->count[k])
            continue;
        tbp_json_printf(j, "%s\"%s\":{\"count\":", comma, tbp_ledger_name((enum tbp_ledger_key)k));
        tbp_json_u64(j, l->count[k]);
        if (l->first_offset[k] != TBP_NO_OFFSET) {
            tbp_json_lit(j, ",\"first_offset\":");
            tbp_json_u64(j, l->first_offset[k]);
        }
        write_key_text(j, "meaning", tbp_str_c(tbp_ledger_help((enum tbp_ledger_key)k)));
        tbp_json_char(j, '}');
        comma = ",";
    }
    tbp_json_lit(j, "}}");
}

static void write_file(struct tbp_json *j, const struct tbp_receipt_file *f) {
    tbp_json_lit(j, "{\"name\":");
    tbp_json_str(j, f->name, TBP_JSON_GVIZ);
    if (f->has_sum) {
        tbp_json_lit(j, ",\"bytes\":");
        tbp_json_u64(j, f->size_bytes);
        tbp_json_lit(j, ",\"crc32\":");
        tbp_json_u64(j, f->crc32);
    }
    tbp_json_char(j, '}');
}

void tbp_receipt_write(struct tbp_json *j, const struct tbp_receipt *r,
                       const struct tbp_ledger *l) {
    tbp_json_lit(j, "{\"tbprof\":");
    tbp_json_str(j, r->facts.version, TBP_JSON_GVIZ);
    tbp_json_printf(j, ",\"complete\":%s", r->is_complete ? "true" : "false");
    write_key_text(j, "input", r->facts.input);
    write_key_text(j, "format", r->facts.format);
    write_key_text(j, "semantics", r->facts.semantics);
    tbp_json_lit(j, ",\"input_bytes\":");
    tbp_json_u64(j, r->facts.input_bytes);
    tbp_json_lit(j, ",\"input_crc32\":");
    tbp_json_u64(j, r->facts.input_crc32);
    if (l) {
        tbp_json_lit(j, ",\n\"ledger\":");
        tbp_receipt_write_ledger(j, l);
    }
    tbp_json_lit(j, ",\n\"files\":[");
    for (size_t i = 0; i < r->files.n; i++) {
        tbp_json_lit(j, i ? ",\n" : "\n");
        write_file(j, &r->files.at[i]);
    }
    tbp_json_lit(j, "\n]}\n");
}
