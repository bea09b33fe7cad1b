/* SPDX-License-Identifier: Apache-2.0
 *
 * What NVTX registers by name and refers to by handle: domains, strings, categories. They live as
 * long as the process, as NVTX wants; a name that is registered twice has one handle. Where memory
 * is exhausted the handle is NULL, which every function takes. Thread-safety: all functions.
 */
#ifndef TBP_CAPTURE_NVTX_NAMES_H
#define TBP_CAPTURE_NVTX_NAMES_H

#include "base/str.h"

#include <wchar.h>

struct tbp_nvtx_name; /* a domain or a registered string */

/* The default domain is NULL. */
struct tbp_nvtx_name *tbp_nvtx_domain(struct tbp_str name);
/* A string of a domain. */
struct tbp_nvtx_name *tbp_nvtx_string(const struct tbp_nvtx_name *domain, struct tbp_str text);
struct tbp_str tbp_nvtx_name_text(const struct tbp_nvtx_name *name);

void tbp_nvtx_category_set(const struct tbp_nvtx_name *domain, uint32_t id, struct tbp_str name);
/* Empty if it was never named. */
struct tbp_str tbp_nvtx_category(const struct tbp_nvtx_name *domain, uint32_t id);

/* Wide characters as UTF-8, as much as fits; what is no character becomes U+FFFD. */
struct tbp_str tbp_nvtx_utf8(char *to, size_t size, const wchar_t *text);

#endif
