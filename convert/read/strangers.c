/* SPDX-License-Identifier: Apache-2.0
 *
 * See strangers.h.
 */
#include "convert/read/strangers.h"

#include <string.h>

static const struct {
    size_t at;
    const char *bytes;
} marks[TBP_STRANGERS] = {
    [TBP_STRANGER_BZIP2] = {0, "BZh"},
    [TBP_STRANGER_EVENTS] = {23, "brain.Event:"},
    [TBP_STRANGER_GIT_LFS] = {0, "version https://git-lfs"},
    [TBP_STRANGER_GZIP] = {0, "\x1f\x8b"},
    [TBP_STRANGER_TAR] = {257, "ustar"},
    [TBP_STRANGER_XZ] = {0, "\xfd\x37zXZ"},
    [TBP_STRANGER_ZIP] = {0, "PK\x03\x04"},
    [TBP_STRANGER_ZIP_EMPTY] = {0, "PK\x05\x06"},
    [TBP_STRANGER_ZSTD] = {0, "\x28\xb5\x2f\xfd"},
};

enum tbp_stranger tbp_stranger_of(const void *data, size_t size) {
    for (enum tbp_stranger s = TBP_STRANGER_NONE + 1; s < TBP_STRANGERS; s++) {
        size_t n = strlen(marks[s].bytes);
        if (size >= marks[s].at + n &&
            memcmp((const char *)data + marks[s].at, marks[s].bytes, n) == 0)
            return s;
    }
    return TBP_STRANGER_NONE;
}
