/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder as input: some profilers write many small files, of which none is the profile. The
 * tables and documents of the folder are packed into one input, which a reader then takes apart:
 *
 *     struct tbp_folder_walk w = tbp_folder_walk(&host->input);
 *     for (struct tbp_folder_file f; tbp_folder_next(&w, &f);)
 *         if (tbp_str_ends(f.name, ".csv")) …                      // f.bytes
 *
 * Packed are *.csv, *.json and *.txt, in order of their names, and those of the folders directly
 * below ("SUB/x.csv"); of everything else only the name is told. Names of folders end in '/'.
 */
#ifndef TBP_CONVERT_READ_FOLDER_H
#define TBP_CONVERT_READ_FOLDER_H

#include "base/file.h"
#include "base/str.h"
#include "convert/model/ledger.h"

struct tbp_folder_file {
    struct tbp_str name, bytes;
    bool is_unreadable; /* a link to nothing, a pipe or a folder by the name of a table */
};
struct tbp_folder_walk {
    const uint8_t *at, *bytes, *end;
};

/* Fails with TBP_E_IO or TBP_E_NOT_FOUND naming the path; with TBP_E_LIMIT if it is too much. */
int tbp_folder_pack(struct tbp_input *in, const char *path, struct tbp_error *err);
/* Only the names of what stands directly in the folder and can be read. */
int tbp_folder_pack_names(struct tbp_input *in, const char *path, struct tbp_error *err);
bool tbp_folder_is(const uint8_t *data, size_t size);
struct tbp_folder_walk tbp_folder_walk(const uint8_t *data, size_t size);
/* False at the end, or where the packed bytes are not as they were made. */
bool tbp_folder_next(struct tbp_folder_walk *w, struct tbp_folder_file *f);

/* Counts a file that is no such table as its name says: lacks one of the columns that are needed
 * (as tbp_csv_has_columns takes them), or, where needs is NULL, is JSON that does not begin as such
 * or text without a number. Nothing at all is an empty table, what cannot be read is none.
 * What can be read of it still counts.
 */
void tbp_folder_check(struct tbp_ledger *l, const struct tbp_input *in,
                      const struct tbp_folder_file *f, const char *needs);

/* "NAME_12.csv" with this beginning and end: 12, else false. Without a number: 0. */
bool tbp_folder_numbered(struct tbp_str name, const char *prefix, const char *suffix, uint32_t *id);

#endif
