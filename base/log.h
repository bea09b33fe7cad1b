/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the process to standard error, one line each; libraries only use it through the
 * caller's level. Cost when the level is off: one relaxed load. Thread-safe.
 */
#ifndef TBP_BASE_LOG_H
#define TBP_BASE_LOG_H

enum tbp_log_level { TBP_LOG_ERROR, TBP_LOG_WARNING, TBP_LOG_INFO, TBP_LOG_DEBUG };
void tbp_log_set_level(enum tbp_log_level level); /* default: warning */
void tbp_log(enum tbp_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
