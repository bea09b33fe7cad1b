/* SPDX-License-Identifier: Apache-2.0
 *
 * The official library behind ours: what is not answered here goes to it, when it is there.
 *
 * It is looked for once: at TBPROF_DROPIN_REAL, then beside our own library under the names
 * "official-profiler_plugin_c_api.so" (what `tbprof backend install` makes) and
 * "profiler_plugin_c_api.so". Its functions have the signatures of backend_c_api.c.
 */
#ifndef TBP_CONVERT_BACKEND_FORWARD_H
#define TBP_CONVERT_BACKEND_FORWARD_H

#include "base/status.h"

/* Options as the plugin packs them. */
struct tbp_packed_options {
    const char **keys, **texts;
    const int *ints;
    const bool *bools;
    const int *types; /* 0 bool, 1 int, 2 text */
    int n;
};

#define TBP_PACKED_PARAMETERS                                                                      \
    const char **, const char **, const int *, const bool *, const int *, int
#define TBP_RESULT_PARAMETERS char **, size_t *, bool *

/* Functions of the official library; those a release lacks are NULL. */
struct tbp_official {
    void (*FreeString)(char *);
    char *(*Trace)(const char *, const char *, const char *, bool, int, int, TBP_PACKED_PARAMETERS);
    char *(*Monitor)(const char *, int, int, bool, char **);
    char *(*StartContinuousProfiling)(const char *, TBP_PACKED_PARAMETERS);
    char *(*StopContinuousProfiling)(const char *);
    char *(*GetSnapshot)(const char *, const char *);
    char *(*XSpaceToToolsData)(const char **, size_t, const char *, TBP_PACKED_PARAMETERS,
                               TBP_RESULT_PARAMETERS);
    char *(*XSpaceToToolsDataFromByteString)(const char **, const size_t *, const char **, size_t,
                                             const char *, TBP_PACKED_PARAMETERS,
                                             TBP_RESULT_PARAMETERS);
    void (*StartGrpcServer)(int, int);
    void (*InitializeStubs)(const char *);
    void (*InitializeProfiler)(void);
};

/* NULL if there is none; *why is then a text for people. */
const struct tbp_official *tbp_official_library(const char **why);

#endif
