/* SPDX-License-Identifier: Apache-2.0
 *
 * C++ names as compilers for Linux mangle them (Itanium ABI), made readable: `_Z4axpyPfS_i` is
 * `axpy(float*, int)`. What names of kernels use is known; a name that uses more (expressions in
 * types other than simple ones), is damaged or would become absurdly long stays as it is.
 *
 * Why not a library's: libiberty and libstdc++ refuse names over a kilobyte, which kernels of
 * CUTLASS exceed, unless told to recurse without limit, and write out a name that doubles itself
 * (7 MB from 194 bytes, twice that per ten bytes more) before they can be stopped.
 */
#ifndef TBP_BASE_DEMANGLE_H
#define TBP_BASE_DEMANGLE_H

#include "base/arena.h"

/* The readable name in the arena, or the name given. */
struct tbp_str tbp_demangle(struct tbp_str mangled, struct tbp_arena *a);

#endif
