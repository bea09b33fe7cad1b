/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of HLO programs: wire bytes to the arrays of hlo_module.h in two passes, one that counts
 * and one that fills; then ids become indices. Field numbers are those of the public HLO schema.
 */
#include "convert/analyze/hlo_module.h"

#include "base/sort.h"
#include "schemas/wire.h"

/* Readers of the official kind stop at 100 nested messages; a shape begins at the fifth. */
enum { MAX_SHAPE_DEPTH = 95 };

static const struct tbp_hlo_extra no_extra = {.groups = 1, .batch_groups = 1, .ranks = 1};

struct reader {
    struct tbp_hlo_module *m;
    struct tbp_arena *out, *scratch;
};

const struct tbp_hlo_extra *tbp_hlo_extra_of(const struct tbp_hlo_node *n) {
    return n->extra != NULL ? n->extra : &no_extra;
}

static struct tbp_hlo_extra *extra_for(struct reader *r, struct tbp_hlo_node *n) {
    if (n->extra == NULL) {
        n->extra = TBP_NEW(r->scratch, struct tbp_hlo_extra);
        *n->extra = no_extra;
    }
    return n->extra;
}

void tbp_hlo_ints_add(struct tbp_arena *a, struct tbp_hlo_ints *list, int64_t value) {
    if (list->n == list->cap) {
        uint32_t cap = list->cap == 0 ? 4 : list->cap * 2;
        int64_t *at = TBP_NEW_N(a, int64_t, cap);
        if (list->n > 0)
            memcpy(at, list->at, list->n * sizeof *at);
        list->at = at;
        list->cap = cap;
    }
    list->at[list->n++] = value;
}

/* One field of repeated integers, packed or not. */
static bool add_ints(struct tbp_arena *a, struct tbp_hlo_ints *list, struct tbp_wire_field *f) {
    if (f->type == TBP_WIRE_VARINT) {
        tbp_hlo_ints_add(a, list, (int64_t)f->value);
        return true;
    }
    if (f->type != TBP_WIRE_BYTES)
        return true;
    for (uint64_t value; f->bytes.at < f->bytes.end;) {
        if (tbp_wire_varint(&f->bytes, &value) != TBP_OK)
            return false;
        tbp_hlo_ints_add(a, list, (int64_t)value);
    }
    return true;
}

/* Occurrences of a field with sub-messages; false on bytes that cannot be read. */
static bool count_field(struct tbp_wire w, uint32_t number, uint32_t *n) {
    struct tbp_wire_field f;
    int got;
    *n = 0;
    while ((got = tbp_wire_next(&w, &f)) == 1)
        if (f.number == number && f.type == TBP_WIRE_BYTES && *n < TBP_HLO_NONE)
            ++*n;
    return got == 0;
}

/* ---- shapes ---- */

static void measure_shape(struct tbp_hlo_shape *s, bool has_layout) {
    s->bits = tbp_hlo_type_bits(s->type);
    s->elements = 1;
    for (uint32_t i = 0; i < s->dims.n; i++)
        s->elements = s->dims.at[i] < 0 ? 0 : tbp_hlo_mul(s->elements, s->dims.at[i]);
    if (s->type == TBP_HLO_TUPLE_TYPE) {
        s->size_bytes = 8 * (int64_t)s->n_parts;
        for (uint32_t i = 0; i < s->n_parts; i++) {
            s->elements_deep = tbp_hlo_add(s->elements_deep, s->parts[i].elements_deep);
            s->deep_bytes = tbp_hlo_add(s->deep_bytes, s->parts[i].deep_bytes);
        }
        return;
    }
    s->elements_deep = s->elements;
    if (has_layout && s->bits > 0) /* sub-byte types take a byte each */
        s->size_bytes = s->bits < 8 ? s->elements : tbp_hlo_mul(s->elements, s->bits / 8);
    s->deep_bytes = s->size_bytes;
}

static bool parse_layout(struct reader *r, struct tbp_hlo_shape *s, struct tbp_wire w) {
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) == 1)
        if (f.number == 1 && !add_ints(r->scratch, &s->order, &f)) /* minor_to_major */
            return false;
    return got == 0;
}

static bool parse_shape(struct reader *r, struct tbp_hlo_shape *s, struct tbp_wire w,
                        unsigned depth) {
    uint32_t n_parts, part = 0;
    if (depth > MAX_SHAPE_DEPTH || !count_field(w, 4, &n_parts))
        return false;
    *s = (struct tbp_hlo_shape){.n_parts = n_parts};
    if (n_parts > 0)
        s->parts = TBP_NEW_N(r->scratch, struct tbp_hlo_shape, n_parts);
    bool has_layout = false, is_good = true;
    struct tbp_wire_field f;
    int got;
    while (is_good && (got = tbp_wire_next(&w, &f)) == 1) {
        bool is_message = f.type == TBP_WIRE_BYTES;
        if (f.number == 2 && f.type == TBP_WIRE_VARINT) {
            s->type = (uint32_t)f.value;
        } else if (f.number == 3) {
            is_good = add_ints(r->scratch, &s->dims, &f);
        } else if (f.number == 4 && is_message) {
            is_good = parse_shape(r, &s->parts[part++], f.bytes, depth + 1);
        } else if (f.number == 5 && is_message) {
            has_layout = true;
            is_good = parse_layout(r, s, f.bytes);
        }
    }
    if (!is_good || got != 0)
        return false;
    measure_shape(s, has_layout);
    return true;
}

/* ---- parts of an instruction ---- */

static bool parse_metadata(struct tbp_hlo_instruction *i, struct tbp_wire w) {
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) == 1) {
        if (f.number == 4 && f.type == TBP_WIRE_VARINT)
            i->source_line = (int32_t)f.value;
        if (f.type != TBP_WIRE_BYTES)
            continue;
        if (f.number == 1)
            i->op_type = tbp_wire_str(f.bytes);
        else if (f.number == 2)
            i->op_name = tbp_wire_str(f.bytes);
        else if (f.number == 3)
            i->source_file = tbp_wire_str(f.bytes);
    }
    return got == 0;
}

static bool parse_window_dimension(struct tbp_hlo_window *d, struct tbp_wire w) {
    int64_t *const members[] = {NULL,
                                &d->size,
                                &d->stride,
                                &d->pad_low,
                                &d->pad_high,
                                &d->window_dilation,
                                &d->base_dilation};
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) == 1)
        if (f.number < sizeof members / sizeof members[0] && f.type == TBP_WIRE_VARINT)
            *members[f.number] = (int64_t)f.value;
    return got == 0;
}

static bool parse_window(struct reader *r, struct tbp_hlo_extra *e, struct tbp_wire w) {
    uint32_t n;
    if (!count_field(w, 1, &n))
        return false;
    e->window = TBP_NEW_N(r->scratch, struct tbp_hlo_window, n + 1);
    e->n_window = 0;
    struct tbp_wire_field f;
    while (tbp_wire_next(&w, &f) == 1)
        if (f.number == 1 && f.type == TBP_WIRE_BYTES &&
            !parse_window_dimension(&e->window[e->n_window++], f.bytes))
            return false;
    return true;
}

static bool parse_convolution(struct reader *r, struct tbp_hlo_extra *e, struct tbp_wire w) {
    struct tbp_hlo_ints *const members[] = {
        [6] = &e->kernel_spatial,  [7] = &e->input_batch,    [8] = &e->input_feature,
        [10] = &e->output_feature, [11] = &e->input_spatial, [12] = &e->output_spatial};
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) == 1)
        if (f.number < sizeof members / sizeof members[0] && members[f.number] != NULL &&
            !add_ints(r->scratch, members[f.number], &f))
            return false;
    return got == 0;
}

/* Adds the integers of field 1 of a sub-message. */
static bool parse_ints_1(struct reader *r, struct tbp_hlo_ints *list, struct tbp_wire w) {
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) == 1)
        if (f.number == 1 && !add_ints(r->scratch, list, &f))
            return false;
    return got == 0;
}

static bool parse_replica_group(struct reader *r, struct tbp_hlo_extra *e, struct tbp_wire w) {
    struct tbp_hlo_ints ids = {0};
    if (!parse_ints_1(r, &ids, w))
        return false;
    if (!e->has_replica_groups || (int64_t)ids.n > e->ranks)
        e->ranks = ids.n;
    e->has_replica_groups = true;
    return true;
}

/* ---- instructions ---- */

/* Fields that name an instruction. */
static bool parse_name_field(struct tbp_hlo_instruction *i, struct tbp_wire_field *f) {
    if (f->number == 47 && f->type == TBP_WIRE_VARINT)
        i->is_host_transfer = f->value != 0;
    if (f->type != TBP_WIRE_BYTES)
        return true;
    if (f->number == 1)
        i->name = tbp_wire_str(f->bytes);
    else if (f->number == 2)
        i->opcode = tbp_wire_str(f->bytes);
    else if (f->number == 7)
        return parse_metadata(i, f->bytes);
    return true;
}

static void parse_node_number(struct reader *r, struct tbp_hlo_node *n, uint32_t field,
                              int64_t value) {
    switch (field) {
    case 13:
        n->tuple_index = value;
        break;
    case 35:
        n->id = value;
        break;
    case 50: /* 0 means 1 */
        extra_for(r, n)->groups = value != 0 ? value : 1;
        break;
    case 58:
        extra_for(r, n)->batch_groups = value != 0 ? value : 1;
        break;
    default:
        break;
    }
}

static bool parse_node_message(struct reader *r, struct tbp_hlo_node *n, uint32_t field,
                               struct tbp_wire w) {
    switch (field) {
    case 3:
        return parse_shape(r, &n->shape, w, 0);
    case 11:
        n->is_custom_fusion = tbp_str_is(tbp_wire_str(w), "kCustom");
        return true;
    case 15:
        return parse_window(r, extra_for(r, n), w);
    case 16:
        return parse_convolution(r, extra_for(r, n), w);
    case 28:
        extra_for(r, n)->target = tbp_wire_str(w);
        return true;
    case 30:
        return parse_ints_1(r, &extra_for(r, n)->contracting, w);
    case 43:
        if (w.at < w.end)
            extra_for(r, n)->config = tbp_wire_str(w);
        return true;
    case 49:
        return parse_replica_group(r, extra_for(r, n), w);
    default:
        return true;
    }
}

/* Fields that only the cost analysis reads. */
static bool parse_node_field(struct reader *r, struct tbp_hlo_node *n, struct tbp_wire_field *f) {
    switch (f->number) {
    case 14:
        return add_ints(r->scratch, &n->dims, f);
    case 32:
        return add_ints(r->scratch, &extra_for(r, n)->fft_length, f);
    case 36:
        return add_ints(r->scratch, &n->operand_ids, f);
    case 38:
        return add_ints(r->scratch, &n->called_ids, f);
    default:
        break;
    }
    if (f->type == TBP_WIRE_VARINT)
        parse_node_number(r, n, f->number, (int64_t)f->value);
    return f->type != TBP_WIRE_BYTES || parse_node_message(r, n, f->number, f->bytes);
}

static void finish_instruction(struct reader *r, struct tbp_hlo_instruction *i) {
    if (i->op_name.n > 0 || i->op_type.n > 0) {
        size_t n = i->op_name.n + 1 + i->op_type.n;
        char *text = tbp_arena_alloc(r->out, n + 1, 1);
        if (i->op_name.n > 0)
            memcpy(text, i->op_name.p, i->op_name.n);
        text[i->op_name.n] = ':';
        if (i->op_type.n > 0)
            memcpy(text + i->op_name.n + 1, i->op_type.p, i->op_type.n);
        i->framework_name = (struct tbp_str){text, n};
    }
}

static bool parse_instruction(struct reader *r, uint32_t at, struct tbp_wire w) {
    struct tbp_hlo_instruction *i = &r->m->instructions[at];
    struct tbp_hlo_node *n = r->m->nodes != NULL ? &r->m->nodes[at] : NULL;
    i->name = i->op_name = i->op_type = i->framework_name = i->opcode = i->source_file =
        TBP_STR_NONE;
    if (n != NULL) /* an instruction without a shape */
        n->shape.elements = n->shape.elements_deep = 1;
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) == 1)
        if (!parse_name_field(i, &f) || (n != NULL && !parse_node_field(r, n, &f)))
            return false;
    if (n != NULL)
        n->opcode = tbp_hlo_opcode_of(i->opcode);
    finish_instruction(r, i);
    return got == 0;
}

/* ---- computations ---- */

static bool parse_computation(struct reader *r, struct tbp_hlo_computation *c, struct tbp_wire w) {
    c->first = r->m->n;
    c->root = TBP_HLO_NONE;
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) == 1) {
        if (f.number == 2 && f.type == TBP_WIRE_BYTES) {
            if (!parse_instruction(r, r->m->n++, f.bytes))
                return false;
        } else if (f.number == 5 && f.type == TBP_WIRE_VARINT) {
            c->id = (int64_t)f.value;
        } else if (f.number == 6 && f.type == TBP_WIRE_VARINT) {
            c->root_id = (int64_t)f.value;
        }
    }
    c->n = r->m->n - c->first;
    return got == 0;
}

/* Number of computations and instructions of an HloModuleProto. */
static bool count_module(struct tbp_wire w, uint32_t *n_computations, uint32_t *n_instructions) {
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) == 1) {
        uint32_t n;
        if (f.number != 3 || f.type != TBP_WIRE_BYTES)
            continue;
        if (!count_field(f.bytes, 2, &n) || n >= TBP_HLO_NONE - *n_instructions)
            return false;
        *n_instructions += n;
        ++*n_computations;
    }
    return got == 0;
}

static bool parse_module(struct reader *r, struct tbp_wire w) {
    struct tbp_hlo_module *m = r->m;
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) == 1) {
        if (f.number == 1 && f.type == TBP_WIRE_BYTES)
            m->name = tbp_wire_str(f.bytes);
        else if (f.number == 6 && f.type == TBP_WIRE_VARINT)
            m->entry_id = (int64_t)f.value;
        else if (f.number == 3 && f.type == TBP_WIRE_BYTES &&
                 !parse_computation(r, &m->computations[m->n_computations++], f.bytes))
            return false;
    }
    return got == 0;
}

/* ---- ids to indices ---- */

struct ids {
    uint32_t *order; /* positions by ascending id; of equal ids the last one counts */
    uint64_t *ids;
    uint32_t n;
};

static struct ids sort_ids(struct tbp_arena *a, uint64_t *ids, uint32_t n) {
    struct ids found = {TBP_NEW_N(a, uint32_t, (size_t)n + 1), ids, n};
    for (uint32_t i = 0; i < n; i++)
        found.order[i] = i;
    tbp_sort_index_u64(found.order, n, ids, NULL);
    return found;
}

static uint32_t find_id(const struct ids *t, int64_t id) {
    uint32_t low = 0, high = t->n;
    while (low < high) { /* first position with a greater id */
        uint32_t mid = low + (high - low) / 2;
        if (t->ids[t->order[mid]] <= (uint64_t)id)
            low = mid + 1;
        else
            high = mid;
    }
    bool is_there = low > 0 && t->ids[t->order[low - 1]] == (uint64_t)id;
    return is_there ? t->order[low - 1] : TBP_HLO_NONE;
}

/* Ids that are not there are left out. */
static uint32_t *resolve_list(struct tbp_arena *a, const struct tbp_hlo_ints *list,
                              const struct ids *ids, uint32_t first, uint32_t *n) {
    uint32_t *found = list->n > 0 ? TBP_NEW_N(a, uint32_t, list->n) : NULL;
    *n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t at = find_id(ids, list->at[i]);
        if (at != TBP_HLO_NONE)
            found[(*n)++] = first + at;
    }
    return found;
}

static void resolve_computation(struct reader *r, struct tbp_hlo_computation *c,
                                const struct ids *computations) {
    struct tbp_hlo_node *nodes = r->m->nodes + c->first;
    uint64_t *keys = TBP_NEW_N(r->scratch, uint64_t, (size_t)c->n + 1);
    for (uint32_t i = 0; i < c->n; i++)
        keys[i] = (uint64_t)nodes[i].id;
    struct ids ids = sort_ids(r->scratch, keys, c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        struct tbp_hlo_node *n = &nodes[i];
        n->operands = resolve_list(r->scratch, &n->operand_ids, &ids, c->first, &n->n_operands);
        n->called = resolve_list(r->scratch, &n->called_ids, computations, 0, &n->n_called);
    }
    uint32_t root = find_id(&ids, c->root_id);
    if (root == TBP_HLO_NONE && c->n > 0)
        root = c->n - 1;
    c->root = root == TBP_HLO_NONE ? TBP_HLO_NONE : c->first + root;
}

static void resolve_module(struct reader *r) {
    struct tbp_hlo_module *m = r->m;
    uint64_t *keys = TBP_NEW_N(r->scratch, uint64_t, (size_t)m->n_computations + 1);
    for (uint32_t i = 0; i < m->n_computations; i++)
        keys[i] = (uint64_t)m->computations[i].id;
    struct ids ids = sort_ids(r->scratch, keys, m->n_computations);
    for (uint32_t i = 0; i < m->n_computations; i++)
        resolve_computation(r, &m->computations[i], &ids);
    m->entry = find_id(&ids, m->entry_id);
}

bool tbp_hlo_module_parse(struct tbp_hlo_module *m, struct tbp_str proto, bool with_nodes,
                          struct tbp_arena *out, struct tbp_arena *scratch) {
    struct reader r = {m, out, scratch};
    struct tbp_wire w = tbp_wire_of(proto.p, proto.n), counted = w;
    struct tbp_wire_field f;
    uint32_t n_computations = 0, n = 0;
    int got;
    *m = (struct tbp_hlo_module){.name = TBP_STR_NONE, .entry = TBP_HLO_NONE};
    while ((got = tbp_wire_next(&counted, &f)) == 1)
        if (f.number == 1 && f.type == TBP_WIRE_BYTES &&
            !count_module(f.bytes, &n_computations, &n))
            return false;
    if (got != 0)
        return false;
    m->computations = TBP_NEW_N(scratch, struct tbp_hlo_computation, (size_t)n_computations + 1);
    m->instructions = TBP_NEW_N(out, struct tbp_hlo_instruction, (size_t)n + 1);
    if (with_nodes)
        m->nodes = TBP_NEW_N(scratch, struct tbp_hlo_node, (size_t)n + 1);
    while (tbp_wire_next(&w, &f) == 1)
        if (f.number == 1 && f.type == TBP_WIRE_BYTES && !parse_module(&r, f.bytes))
            return false;
    if (with_nodes)
        resolve_module(&r);
    return true;
}
