/* SPDX-License-Identifier: Apache-2.0
 *
 * The forest of events of one host: who encloses whom on a line, and who is linked to whom across
 * lines. Grouping walks it; nothing else needs it, so it lives only while a host is grouped.
 *
 * A node is an event, numbered in file order (plane, line, event). Children by nesting are the
 * range behind a node up to `subtree_end`, so only links across lines are stored as edges. 8 bytes
 * per event plus 16 per edge, all scratch. Source: ../shared/spec/pages/RULES.md 2.5-2.7.
 */
#ifndef TBP_CONVERT_ANALYZE_FOREST_H
#define TBP_CONVERT_ANALYZE_FOREST_H

#include "base/vec.h"
#include "convert/model/model.h"

#define TBP_NO_NODE UINT32_MAX

struct tbp_forest_edge {
    uint32_t parent, child;
};

struct tbp_forest_line {
    struct tbp_line *line;
    uint32_t first; /* node number of its first event */
};

struct tbp_forest {
    struct tbp_host *host;
    uint32_t n;                    /* nodes */
    struct tbp_forest_line *lines; /* ascending first */
    size_t n_lines;
    uint32_t *parent;                      /* by nesting, or TBP_NO_NODE */
    uint32_t *subtree_end;                 /* one past the last node nested in it */
    TBP_VEC(struct tbp_forest_edge) edges; /* in order of linking */
    uint32_t *child_from,
        *child_edges; /* CSR, after tbp_forest_close: children and parents over links */
    uint32_t *parent_from, *parent_edges;
    uint32_t *seen, round; /* visited marks of upward walks */
    TBP_VEC(uint32_t) queue;
    uint64_t budget; /* steps left for upward walks: bounds the work on hostile input */
    struct tbp_arena arena;
};

/* Numbers the events of all planes. Fails (false) if there are 2^32-1 or more. Release in either
 * case. */
bool tbp_forest_init(struct tbp_forest *f, struct tbp_host *h);
void tbp_forest_release(struct tbp_forest *f);

/* Line and event of a node. */
struct tbp_line *tbp_forest_event(const struct tbp_forest *f, uint32_t node, size_t *event);
/* Nests line k (index into f->lines) by time; events with is_async set neither enclose nor are
 * enclosed. */
void tbp_forest_nest(struct tbp_forest *f, size_t k, const uint8_t *is_async);
void tbp_forest_link(struct tbp_forest *f, uint32_t parent,
                     uint32_t child);        /* ignored beyond 8 edges per event */
void tbp_forest_close(struct tbp_forest *f); /* all links are made */

/* Breadth first over node (if with_self) and its ancestors, nearest first; stops when visit returns
 * true and returns that node, else TBP_NO_NODE. */
uint32_t tbp_forest_up(struct tbp_forest *f, uint32_t node, bool with_self,
                       bool (*visit)(void *ctx, uint32_t node), void *ctx);

#endif
