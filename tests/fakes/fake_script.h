/* SPDX-License-Identifier: Apache-2.0
 *
 * The script that the fakes of NVIDIA's libraries and the program that uses them share: a text file
 * in $FAKE_GPU_SCRIPT. Lines beginning with '!' set the fakes up, '#' comments; the others are
 * played by tests/fakes/gpu_program.c one by one. A line is words and key=value pairs.
 */
#ifndef TBP_TESTS_FAKES_FAKE_SCRIPT_H
#define TBP_TESTS_FAKES_FAKE_SCRIPT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Value of "key=" in the line, copied to `to`; "" if there is none. */
static inline const char *script_text(const char *line, const char *key, char *to, size_t size) {
    size_t n = strlen(key);
    *to = '\0';
    for (const char *p = line; (p = strstr(p, key)); p += n) {
        if ((p != line && p[-1] != ' ') || p[n] != '=')
            continue;
        size_t length = strcspn(p + n + 1, " \n");
        snprintf(to, size, "%.*s", (int)length, p + n + 1);
        break;
    }
    return to;
}

static inline int64_t script_number(const char *line, const char *key, int64_t otherwise) {
    char text[64];
    script_text(line, key, text, sizeof text);
    return *text ? strtoll(text, NULL, 0) : otherwise;
}

/* The nth word, from 0. */
static inline const char *script_word(const char *line, int n, char *to, size_t size) {
    const char *p = line + strspn(line, " ");
    while (n-- > 0) {
        p += strcspn(p, " \n");
        p += strspn(p, " ");
    }
    snprintf(to, size, "%.*s", (int)strcspn(p, " \n"), p);
    return to;
}

static inline FILE *script_open(void) {
    const char *path = getenv("FAKE_GPU_SCRIPT");
    return path ? fopen(path, "r") : NULL;
}

#endif
