/* SPDX-License-Identifier: Apache-2.0
 *
 * Decimal digits of a double by the Grisu2 algorithm. Pure, thread-safe.
 */
#ifndef TBP_PLUGIN_DATA_GRISU2_H
#define TBP_PLUGIN_DATA_GRISU2_H

#include <stdint.h>

enum { TBP_GRISU2_DIGITS = 24 };

/* x > 0 and finite. Writes the digits (no leading or trailing zeros of its own making), returns
 * their count; x is nearest to digits * 10^*exp10. */
unsigned tbp_grisu2(double x, char digits[TBP_GRISU2_DIGITS], int *exp10);

#endif
