/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text, the same bytes in every locale. Each writes at most TBP_NUMBER_MAX bytes at `to`, without NUL,
 * and returns their count. Pure, thread-safe.
 * Digits of doubles are the official writer's (Grisu2: shortest in all but about one of a thousand cases).
 */
#ifndef TBP_PLUGIN_DATA_NUMBER_OUT_H
#define TBP_PLUGIN_DATA_NUMBER_OUT_H

#include <stddef.h>
#include <stdint.h>

enum { TBP_NUMBER_MAX = 40 };

size_t tbp_number_u64(char *to, uint64_t v);
size_t tbp_number_i64(char *to, int64_t v);
size_t tbp_number_gviz(char *to, double v);       /* data tables: plain for 1e-4 <= |x| < 1e15 (integers "1.0"), else exponent; NaN, inf: null */
size_t tbp_number_proto(char *to, double v);      /* protobuf JSON: %.15g if exact, else %.17g; 10954982000; NaN "NaN" quoted */
size_t tbp_number_g17(char *to, double v);        /* %.17g */
size_t tbp_number_repr(char *to, double v);       /* Python's repr: shortest round trip, "1.0", "1e-05", "1e+16" */
size_t tbp_number_us_g17(char *to, uint64_t ps);  /* (double)ps/1e6 as %.17g; fast */
size_t tbp_number_us_repr(char *to, uint64_t ps); /* (double)ps/1e6 as repr; fast path for ps < 2^53 */
size_t tbp_number_fixed(char *to, double v, int digits); /* %.<digits>f (digits <= 6), |v| < 1e20 else %.17g */
size_t tbp_number_g(char *to, double v);          /* %g */

#endif
