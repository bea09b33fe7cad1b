/* SPDX-License-Identifier: Apache-2.0
 *
 * A log directory as the Profile tab meets it: which folders hold profiles, which files are in
 * them and what they are for. Names, sizes and rights only; opened are no more than files that may
 * be copies of each other.
 *
 *   root ─ logdirs: every folder with plugins/profile below it ("" or "train")
 *        ─ runs:    plugins/profile/RUN, with its files by kind
 *        ─ strays:  folders with xplane files where no plugin looks
 *
 * Order is that of the names. Ownership: everything lies in the arena given, the lists until
 * tbp_tree_release.
 */
#ifndef TBP_CLI_DOCTOR_TREE_H
#define TBP_CLI_DOCTOR_TREE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

enum tbp_file_kind {
    TBP_FILE_XPLANE,  /* <host>.xplane.pb */
    TBP_FILE_RIEGELI, /* <host>.xplane.riegeli: plugins from 2.23 on */
    TBP_FILE_PAGE,    /* shown as written by plugins up to 2.19.0 */
    TBP_FILE_CACHE,   /* made by the plugin itself */
    TBP_FILE_FOREIGN, /* looks like a profile, but no plugin reads this name */
    TBP_FILE_OTHER,
    TBP_FILE_SPECIAL, /* called like a profile, but no file: a pipe, a folder, a dead link */
    TBP_FILE_KINDS
};

struct tbp_doctor_file {
    const char *name, *path;
    enum tbp_file_kind kind;
    const char *advice;  /* of foreign files: what to do with them */
    const char *special; /* what it is if no file: "a pipe"; else NULL */
    struct tbp_str host;
    uint64_t size_bytes, identity; /* identity: of device and inode, equal for links to it */
    int64_t mtime_s;
    bool is_readable;
    /* of xplanes that were read, doctor_xplanes.c */
    const char *damage; /* NULL: none found */
    const char *advice_of_damage;
    const char *recorder_error; /* what the profiler itself complained of, or NULL */
    bool was_read, has_host_plane;
    uint64_t n_events;
};
static inline bool tbp_doctor_is_hidden(const struct tbp_doctor_file *file) {
    return file->name[0] == '.';
}

struct tbp_doctor_folder {
    const char *path, *name;
    size_t logdir; /* of runs: index in logdirs */
    TBP_VEC(struct tbp_doctor_file) files;
    size_t count[TBP_FILE_KINDS];
    bool is_writable;
};

struct tbp_doctor_logdir {
    const char *path, *below; /* below: relative to the root, "" for the root itself */
    bool has_events;          /* some event file that is not empty */
    bool is_behind_link;      /* plugins that find folders by themselves pass by such */
    const char *empty_marker; /* a marker of 0 bytes, or NULL */
    size_t n_runs, n_shown;   /* run folders; those with data of any kind */
};

struct tbp_no_folder {
    const char *path, *what; /* "a link to nothing, or to itself", "a file" */
};

enum tbp_place { /* what the path given is */
                 TBP_PLACE_LOGDIR,
                 TBP_PLACE_FILE,
                 TBP_PLACE_PLUGINS, /* LOGDIR/plugins */
                 TBP_PLACE_PROFILE, /* LOGDIR/plugins/profile */
                 TBP_PLACE_RUN,
                 TBP_PLACE_BELOW, /* some folder below a log directory */
};

struct tbp_tree {
    struct tbp_arena *arena;
    const char *given, *root;  /* root: what --logdir should be */
    const char *given_special; /* what `given` is if neither folder nor file; else NULL */
    enum tbp_place place;
    TBP_VEC(struct tbp_doctor_logdir) logdirs;
    TBP_VEC(struct tbp_doctor_folder) runs;
    TBP_VEC(struct tbp_doctor_folder) strays;
    TBP_VEC(const char *) locked;             /* folders that may not be read */
    TBP_VEC(struct tbp_no_folder) no_folders; /* where plugins and runs should be */
    struct tbp_doctor_file foreign; /* first foreign file outside of runs; name NULL: none */
    size_t n_folders;
    bool is_cut; /* too many folders: the rest was not looked at */
};

/* Fails if the path does not exist. */
int tbp_tree_build(struct tbp_tree *t, struct tbp_arena *arena, const char *path,
                   struct tbp_error *err);
void tbp_tree_release(struct tbp_tree *t);

/* Kind of a file by its name; host and advice as in struct tbp_doctor_file. */
enum tbp_file_kind tbp_file_kind_of(struct tbp_str name, struct tbp_str *host, const char **advice);

#endif
