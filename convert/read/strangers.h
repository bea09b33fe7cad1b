/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are something else altogether, told from their first bytes: archives, and what stands
 * in the place of a profile that was not fetched. Who meets one says what to do in words of its
 * own.
 */
#ifndef TBP_CONVERT_READ_STRANGERS_H
#define TBP_CONVERT_READ_STRANGERS_H

#include <stddef.h>

enum tbp_stranger {
    TBP_STRANGER_NONE,
    TBP_STRANGER_BZIP2,
    TBP_STRANGER_EVENTS, /* an event file of TensorBoard */
    TBP_STRANGER_GIT_LFS,
    TBP_STRANGER_GZIP,
    TBP_STRANGER_TAR,
    TBP_STRANGER_XZ,
    TBP_STRANGER_ZIP,
    TBP_STRANGER_ZIP_EMPTY,
    TBP_STRANGER_ZSTD,
    TBP_STRANGERS
};

enum tbp_stranger tbp_stranger_of(const void *data, size_t size);

#endif
