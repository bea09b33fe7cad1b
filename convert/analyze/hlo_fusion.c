/* SPDX-License-Identifier: Apache-2.0
 *
 * Costs of a fusion: what the fused computation really needs of its instructions and parameters.
 *
 * Walking from the root, every instruction keeps a set of element-wise roots: the places from which
 * its elements are asked for. An element-wise instruction passes its set on to its operands; any
 * other becomes a reason of its own to compute them, weighted by how often it reads an element. The
 * use of an instruction is the sum of the weights of its set, in order of insertion.
 * Source: ../shared/spec/tables/RULES.md 5.2.
 */
#include "convert/analyze/hlo_walk.h"

#include <math.h>

/* More members of all sets of one fusion are not of a real program (256 MB). */
enum { MAX_ENTRIES = 1 << 24 };

struct tbp_hlo_entry {
    uint32_t root;
    struct tbp_hlo_entry *next;
};

struct set {
    struct tbp_hlo_entry *head, **tail;
    uint32_t n;
};

struct fusion {
    struct tbp_hlo_walk *w;
    uint32_t first;   /* nodes of the computation count from here */
    struct set *sets; /* by node - first */
    float *weights;   /* of roots, by node - first */
    uint32_t *stamps; /* set whose members were marked last */
    uint32_t stamp;
};

static bool insert(struct fusion *f, struct set *s, uint32_t root) {
    struct tbp_hlo_entry *e = f->w->spare;
    if (e != NULL) {
        f->w->spare = e->next;
    } else {
        if (++f->w->n_entries > MAX_ENTRIES)
            return false;
        e = TBP_NEW(f->w->scratch, struct tbp_hlo_entry);
    }
    *e = (struct tbp_hlo_entry){.root = root};
    if (s->tail == NULL)
        s->tail = &s->head;
    *s->tail = e;
    s->tail = &e->next;
    s->n++;
    return true;
}

static bool unite(struct fusion *f, struct set *into, const struct set *from) {
    if (!tbp_hlo_walk_spend(f->w, (uint64_t)into->n + from->n + 1))
        return false;
    if (into == from)
        return true;
    uint32_t stamp = ++f->stamp;
    for (const struct tbp_hlo_entry *e = into->head; e != NULL; e = e->next)
        f->stamps[e->root] = stamp;
    for (const struct tbp_hlo_entry *e = from->head; e != NULL; e = e->next)
        if (f->stamps[e->root] != stamp && !insert(f, into, e->root))
            return false;
    return true;
}

static void give_back(struct fusion *f, struct set *sets, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (sets[i].head == NULL)
            continue;
        *sets[i].tail = f->w->spare;
        f->w->spare = sets[i].head;
    }
}

static bool contains(const struct set *s, uint32_t root) {
    for (const struct tbp_hlo_entry *e = s->head; e != NULL; e = e->next)
        if (e->root == root)
            return true;
    return false;
}

/* Operands are asked for element by element, exactly where the instruction itself is. */
static bool passes_on(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n) {
    switch (n->opcode->rule) {
    case TBP_HLO_ARITHMETIC:
    case TBP_HLO_COPY:
    case TBP_HLO_TUPLE:
    case TBP_HLO_GET_TUPLE_ELEMENT:
        return true;
    case TBP_HLO_BITCAST_CONVERT:
        return n->n_operands > 0 && n->shape.bits == tbp_hlo_operand(w, n, 0)->shape.bits;
    default:
        return false;
    }
}

/* n asks for its k-th operand by itself. */
static bool ask(struct fusion *f, const struct tbp_hlo_node *n, uint32_t k) {
    uint32_t operand = n->operands[k] - f->first;
    struct set *s = &f->sets[operand];
    if (!tbp_hlo_walk_spend(f->w, (uint64_t)s->n + 1))
        return false;
    if (!contains(s, operand) && !insert(f, s, operand))
        return false;
    int64_t elements = tbp_hlo_operand(f->w, n, k)->shape.elements_deep;
    float use = n->use * n->use_of_operand[k];
    double read = ceil((double)(float)((double)use * (double)elements));
    f->weights[operand] += elements != 0 ? (float)(read / (double)elements) : 0.0f;
    return true;
}

static bool propagate(struct fusion *f, struct tbp_hlo_node *n, uint32_t node) {
    const struct set *own = &f->sets[node - f->first];
    n->use = 0;
    if (!tbp_hlo_walk_spend(f->w, (uint64_t)own->n + 1))
        return false;
    for (const struct tbp_hlo_entry *e = own->head; e != NULL; e = e->next)
        n->use += f->weights[e->root];
    bool is_passing = passes_on(f->w, n);
    for (uint32_t k = 0; k < n->n_operands; k++) {
        bool is_good =
            is_passing ? unite(f, &f->sets[n->operands[k] - f->first], own) : ask(f, n, k);
        if (!is_good)
            return false;
    }
    return true;
}

/* Fills the use of every instruction and sums the flops. */
static bool use_of_nodes(struct fusion *f, uint32_t computation, float *flops) {
    const struct tbp_hlo_computation *c = &f->w->m->computations[computation];
    const struct tbp_hlo_visit *v = &f->w->visits[computation];
    f->first = c->first;
    f->sets = TBP_NEW_N(f->w->scratch, struct set, (size_t)c->n + 1);
    f->weights = TBP_NEW_N(f->w->scratch, float, (size_t)c->n + 1);
    f->stamps = TBP_NEW_N(f->w->scratch, uint32_t, (size_t)c->n + 1);
    if (c->root != TBP_HLO_NONE) {
        if (!insert(f, &f->sets[c->root - c->first], c->root - c->first))
            return false;
        f->weights[c->root - c->first] = 1;
    }
    *flops = 0;
    for (uint32_t i = v->n; i-- > 0;) {
        struct tbp_hlo_node *n = &f->w->m->nodes[v->order[i]];
        if (!propagate(f, n, v->order[i]))
            return false;
        *flops += n->use * n->flops;
    }
    give_back(f, f->sets, c->n);
    return true;
}

/* ---- bytes ---- */

/* A leaf of the result: an update in place writes only the update and does not read the rest. */
static bool add_leaf(struct tbp_hlo_walk *w, const struct tbp_hlo_shape *shape,
                     struct tbp_hlo_node *node, int64_t *bytes) {
    if (node == NULL || node->opcode->rule != TBP_HLO_DYNAMIC_UPDATE_SLICE ||
        shape->type == TBP_HLO_TUPLE_TYPE) {
        *bytes = tbp_hlo_add(*bytes, shape->deep_bytes);
        return true;
    }
    if (node->n_operands < 2 || node->use_of_operand == NULL)
        return false;
    *bytes = tbp_hlo_add(*bytes, tbp_hlo_operand(w, node, 1)->shape.size_bytes);
    node->use_of_operand[0] = 0;
    return true;
}

static bool result_bytes(struct tbp_hlo_walk *w, const struct tbp_hlo_node *fusion,
                         struct tbp_hlo_node *root, int64_t *bytes) {
    const struct tbp_hlo_shape *s = &fusion->shape;
    *bytes = 0;
    if (s->type != TBP_HLO_TUPLE_TYPE)
        return add_leaf(w, s, root, bytes);
    bool is_tuple = root != NULL && root->opcode->rule == TBP_HLO_TUPLE;
    for (uint32_t k = 0; k < s->n_parts; k++) {
        if (is_tuple && k >= root->n_operands)
            return false;
        if (!add_leaf(w, &s->parts[k], is_tuple ? tbp_hlo_operand(w, root, k) : NULL, bytes))
            return false;
    }
    return true;
}

static double read_bytes(const struct tbp_hlo_node *n) {
    return (double)n->shape.size_bytes * (double)fminf(n->use, 1.0f);
}

static bool is_tuple_parameter(const struct tbp_hlo_node *n) {
    return n->opcode->rule == TBP_HLO_PARAMETER && n->shape.type == TBP_HLO_TUPLE_TYPE;
}

/* Who takes the parts of the computation's tuple parameters: takers[base[parameter] + part] is the
 * first instruction that takes the part, or TBP_HLO_NONE. */
struct takers {
    uint32_t *base; /* by node - first */
    uint32_t *nodes;
};

static struct takers find_takers(const struct tbp_hlo_walk *w,
                                 const struct tbp_hlo_computation *c) {
    struct takers t = {TBP_NEW_N(w->scratch, uint32_t, (size_t)c->n + 1), NULL};
    const struct tbp_hlo_node *nodes = w->m->nodes;
    uint32_t n_parts = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        t.base[i] = n_parts;
        if (is_tuple_parameter(&nodes[c->first + i]))
            n_parts += nodes[c->first + i].shape.n_parts;
    }
    t.nodes = TBP_NEW_N(w->scratch, uint32_t, (size_t)n_parts + 1);
    for (uint32_t i = 0; i < n_parts; i++)
        t.nodes[i] = TBP_HLO_NONE;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        if (nodes[i].opcode->rule != TBP_HLO_GET_TUPLE_ELEMENT)
            continue;
        for (uint32_t k = 0; k < nodes[i].n_operands; k++) {
            const struct tbp_hlo_node *of = tbp_hlo_operand(w, &nodes[i], k);
            int64_t part = nodes[i].tuple_index;
            if (!is_tuple_parameter(of) || part < 0 || part >= of->shape.n_parts)
                continue;
            uint32_t *taker = &t.nodes[t.base[nodes[i].operands[k] - c->first] + part];
            if (*taker == TBP_HLO_NONE)
                *taker = i;
        }
    }
    return t;
}

/* What the computation reads of a parameter, in whole bytes. */
static double parameter_bytes(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *parameter,
                              const uint32_t *takers) {
    if (parameter->shape.type != TBP_HLO_TUPLE_TYPE)
        return trunc(read_bytes(parameter));
    double bytes = 0;
    for (uint32_t k = 0; k < parameter->shape.n_parts; k++) {
        bool is_taken = takers[k] != TBP_HLO_NONE; /* else the index table is read */
        bytes += trunc(read_bytes(is_taken ? &w->m->nodes[takers[k]] : parameter));
    }
    return bytes;
}

static float input_bytes(const struct tbp_hlo_walk *w, const struct tbp_hlo_computation *c,
                         float bytes) {
    struct tbp_hlo_node *nodes = w->m->nodes;
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        if (nodes[i].opcode->rule == TBP_HLO_CONSTANT && nodes[i].shape.elements > 8)
            bytes += (float)read_bytes(&nodes[i]);
    struct takers takers = find_takers(w, c);
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        if (nodes[i].opcode->rule == TBP_HLO_PARAMETER) {
            const uint32_t *of = takers.nodes + takers.base[i - c->first];
            bytes = (float)((double)bytes + parameter_bytes(w, &nodes[i], of));
        }
    }
    return bytes;
}

/* A custom fusion around a gather or scatter costs just that. */
static bool custom_fusion_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_computation *c,
                               struct tbp_hlo_cost *cost) {
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const struct tbp_hlo_node *n = &w->m->nodes[i];
        if (n->opcode->rule == TBP_HLO_GATHER || n->opcode->rule == TBP_HLO_SCATTER) {
            cost->flops = n->flops;
            cost->bytes = n->bytes;
            return true;
        }
    }
    return false;
}

bool tbp_hlo_fusion_cost(struct tbp_hlo_walk *w, struct tbp_hlo_node *fusion,
                         struct tbp_hlo_cost *cost) {
    if (fusion->n_called < 1)
        return false;
    uint32_t computation = fusion->called[0];
    const struct tbp_hlo_computation *c = &w->m->computations[computation];
    if (!tbp_hlo_walk_spend(w, c->n)) /* a computation may be fused many times */
        return false;
    if (fusion->is_custom_fusion && custom_fusion_cost(w, c, cost))
        return true;
    struct tbp_hlo_node *root = c->root != TBP_HLO_NONE ? &w->m->nodes[c->root] : NULL;
    struct fusion f = {.w = w};
    int64_t bytes;
    float flops;
    if (!result_bytes(w, fusion, root, &bytes) || !use_of_nodes(&f, computation, &flops))
        return false;
    cost->flops = flops;
    cost->bytes = input_bytes(w, c, (float)(double)bytes);
    return true;
}
