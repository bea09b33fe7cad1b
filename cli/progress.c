/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of a conversion on standard error.
 */
#include "cli/progress.h"

#include <string.h>
#include <time.h>

#define FIRST_SHOW_S 0.5 /* shorter work shows nothing */
#define BAR_EVERY_S  0.1
#define LINE_EVERY_S 5.0
enum { BAR_CELLS = 24, TEXT_MAX = 128 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void tbp_progress_text(char *buf, size_t size, bool bar, uint64_t done, uint64_t total,
                       double elapsed_s) {
    double part = total ? (double)done / (double)total : 1.0;
    if (part > 1.0)
        part = 1.0;
    char cells[BAR_CELLS + 4] = "";
    if (bar) {
        size_t full = (size_t)(part * BAR_CELLS);
        cells[0] = '[';
        memset(cells + 1, '#', full);
        memset(cells + 1 + full, ' ', BAR_CELLS - full);
        cells[BAR_CELLS + 1] = ']';
        cells[BAR_CELLS + 2] = ' ';
    }
    double rate = elapsed_s > 0 ? (double)done / elapsed_s : 0;
    unsigned percent = (unsigned)(part * 100), mb10 = (unsigned)(rate / 1e5);
    if (rate <= 0) {
        snprintf(buf, size, "%s%3u %%", cells, percent);
        return;
    }
    double left = done < total ? (double)(total - done) / rate : 0;
    unsigned seconds = left > 359999 ? 359999 : (unsigned)(left + 0.5);
    if (seconds >= 3600)
        snprintf(buf, size, "%s%3u %%  %u.%u MB/s  %u:%02u:%02u left", cells, percent, mb10 / 10,
                 mb10 % 10, seconds / 3600, seconds / 60 % 60, seconds % 60);
    else
        snprintf(buf, size, "%s%3u %%  %u.%u MB/s  %u:%02u left", cells, percent, mb10 / 10,
                 mb10 % 10, seconds / 60, seconds % 60);
}

void tbp_progress_begin(struct tbp_progress *p, enum tbp_progress_mode mode, FILE *out,
                        uint64_t total_bytes) {
    *p = (struct tbp_progress){.mode = mode, .out = out, .total = total_bytes, .start_s = now_s()};
    p->shown_s = p->start_s;
    pthread_mutex_init(&p->lock, NULL);
}

static void show(struct tbp_progress *p, double now) {
    char text[TEXT_MAX];
    bool bar = p->mode == TBP_PROGRESS_BAR;
    tbp_progress_text(text, sizeof text, bar, p->done, p->total, now - p->start_s);
    fprintf(p->out, bar ? "\r%s\033[K" : "%s\n", text);
    fflush(p->out);
    p->shown_s = now;
    p->was_shown = true;
}

void tbp_progress_add(struct tbp_progress *p, uint64_t bytes) {
    if (p->mode == TBP_PROGRESS_OFF)
        return;
    pthread_mutex_lock(&p->lock);
    p->done += bytes;
    double now = now_s();
    double wait = p->mode == TBP_PROGRESS_LINES ? LINE_EVERY_S
                  : p->was_shown                ? BAR_EVERY_S
                                                : FIRST_SHOW_S;
    if (now - p->shown_s >= wait)
        show(p, now);
    pthread_mutex_unlock(&p->lock);
}

void tbp_progress_end(struct tbp_progress *p) {
    if (p->mode == TBP_PROGRESS_BAR && p->was_shown) {
        fputs("\r\033[K", p->out);
        fflush(p->out);
    }
    pthread_mutex_destroy(&p->lock);
}
