/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of the forest of host events that tf.data needs: iterators, producers and consumers of
 * elements, who directly encloses whom, and which iterator on another thread produced what an
 * iterator consumed. Internal to tf_data.c; lives only while a host is analysed. 72 bytes per event
 * of tf.data, nothing for others.
 */
#ifndef TBP_CONVERT_ANALYZE_TF_DATA_FOREST_H
#define TBP_CONVERT_ANALYZE_TF_DATA_FOREST_H

#include "base/vec.h"
#include "convert/model/model.h"

enum tbp_tf_data_class {
    TBP_TF_DATA_NONE,
    TBP_TF_DATA_ITERATOR,
    TBP_TF_DATA_GENERATOR, /* Iterator::Prefetch::Generator: the device side of a pipeline */
    TBP_TF_DATA_PRODUCE,   /* + index of the kind of producer */
    TBP_TF_DATA_CONSUME = TBP_TF_DATA_PRODUCE + 6,
    TBP_TF_DATA_CLASSES = TBP_TF_DATA_CONSUME + 6,
};

#define TBP_TF_DATA_NO_NODE UINT32_MAX

struct tbp_tf_data_node {
    uint64_t start_ps, dur_ps;
    int64_t id, parent_id; /* of iterators; id: element of producers and consumers */
    const struct tbp_meta *meta;
    uint32_t parent;      /* the enclosing event, if it is a node */
    uint32_t first, last; /* links to children */
    uint8_t class;        /* enum tbp_tf_data_class */
    bool has_id, has_parent_id;
    bool is_dataset; /* its name says tf.data: counts as a child */
};

struct tbp_tf_data_link {
    uint32_t child, next;
};

struct tbp_tf_data_forest {
    TBP_VEC(struct tbp_tf_data_node) nodes; /* file order */
    TBP_VEC(struct tbp_tf_data_link) links;
    bool reads_unsigned; /* ids stored unsigned are read, not taken as 0 */
    uint64_t n_repaired; /* ids that were */
};

void tbp_tf_data_forest_init(struct tbp_tf_data_forest *f, const struct tbp_plane *cpu,
                             bool reads_unsigned);
void tbp_tf_data_forest_release(struct tbp_tf_data_forest *f);

#endif
