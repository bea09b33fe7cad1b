/* SPDX-License-Identifier: Apache-2.0
 *
 * The text (JSON) that tells what a matrix multiplication call of a GPU library multiplies: only
 * the contracting dimensions of its left side are of interest. Source:
 * ../shared/spec/tables/RULES.md 5.1, list of known fields measured with the official converter.
 */
#ifndef TBP_CONVERT_ANALYZE_GEMM_CONFIG_H
#define TBP_CONVERT_ANALYZE_GEMM_CONFIG_H

#include "convert/analyze/hlo_module.h"

/* Fills lhs_contracting; false if the text cannot be read or has a field that is not known (the
 * costs of the whole program are then unknown). An empty text and {} mean no contracting dimension.
 */
bool tbp_gemm_config_read(struct tbp_str config, struct tbp_hlo_ints *lhs_contracting,
                          struct tbp_arena *scratch);

#endif
