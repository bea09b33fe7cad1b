/* SPDX-License-Identifier: Apache-2.0
 *
 * Zip archives: which file of one is meant, and where its bytes lie. Sizes and places come from the
 * directory at the end; of an archive that was cut, so that there is none, the first file is found
 * by its own header. Sizes may be those of Zip64.
 */
#ifndef TBP_BASE_ZIP_H
#define TBP_BASE_ZIP_H

#include "base/input.h"

#include <limits.h>

/* "FILE.zip:MEMBER", where FILE.zip is a file and nothing has the whole as its path. */
struct tbp_zip_path {
    char file[PATH_MAX];
    const char *member; /* borrows from the path */
};
bool tbp_zip_path_split(struct tbp_zip_path *out, const char *path);

bool tbp_zip_is(const struct tbp_input *in);

/* The bytes of a file, as they are or as deflate made them: data[from … end). */
struct tbp_zip_file {
    size_t from, end;
    bool is_stored;
    bool is_cut; /* stored, and the archive ends before the file does */
};
/* member NULL: the only file there is. Otherwise fails with TBP_E_UNSUPPORTED, or TBP_E_NOT_FOUND,
 * and tells the names of the first files; path is for messages. */
int tbp_zip_find(struct tbp_zip_file *out, const struct tbp_input *in, const char *member,
                 const char *path, struct tbp_error *err);

#endif
