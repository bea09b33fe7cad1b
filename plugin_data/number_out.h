/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text, the same bytes in every locale. Each writes at most TBP_NUMBER_MAX bytes at
 * `to`, without NUL, and returns their count. Pure, thread-safe. Digits of data tables are the
 * official writer's (grisu2.h: shortest in all but about one of a thousand cases); all other texts
 * are exact, as glibc's printf and Python's repr give them.
 */
#ifndef TBP_PLUGIN_DATA_NUMBER_OUT_H
#define TBP_PLUGIN_DATA_NUMBER_OUT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum { TBP_NUMBER_MAX = 40 };

size_t tbp_number_u64(char *to, uint64_t v);
size_t tbp_number_i64(char *to, int64_t v);

/* Data tables: plain for 1e-4 <= |x| < 1e15 (integers "1.0"), else exponent; NaN, infinity: null.
 */
size_t tbp_number_gviz(char *to, double v);

/* Protobuf JSON: %.15g if that reads back, else %.17g; "NaN", "Infinity" with their quotes. */
size_t tbp_number_proto(char *to, double v);

size_t tbp_number_g17(char *to, double v);  /* %.17g */
size_t tbp_number_repr(char *to, double v); /* Python's repr: "1.0", "1e-05", "1e+16" */

/* (double)ps / 1e6 as %.17g or as repr; about 30 ns. */
size_t tbp_number_us_g17(char *to, uint64_t ps);
size_t tbp_number_us_repr(char *to, uint64_t ps);

/* %.<digits>f for digits <= 6 and |v| < 1e20, else %.17g. NaN: "nan" or "-nan", as printf. */
size_t tbp_number_fixed(char *to, double v, int digits);

size_t tbp_number_g(char *to, double v); /* %g */

/* vsnprintf in the C locale, whatever the locale of the process. */
int tbp_number_vprintf(char *to, size_t size, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
