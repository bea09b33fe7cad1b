/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for libcuda.so.1: devices as the script says,
 *
 *     ! driver 12040
 *     ! device name=Fake_H100 major=9 minor=0 sms=132 …
 *
 * Attributes that a line does not give are 0, as newer drivers answer for some.
 */
#include "fake_script.h"

enum { MAX_DEVICES = 8, LINE = 512, NOT_INITIALIZED = 3, INVALID_VALUE = 1 };

static char devices[MAX_DEVICES][LINE];
static int n_devices, driver_version = 13000, is_initialized;

__attribute__((constructor)) static void load(void) {
    FILE *f = script_open();
    char line[LINE], word[64];
    while (f && fgets(line, sizeof line, f)) {
        if (line[0] != '!')
            continue;
        script_word(line, 1, word, sizeof word);
        if (strcmp(word, "device") == 0 && n_devices < MAX_DEVICES)
            memcpy(devices[n_devices++], line, sizeof line);
        if (strcmp(word, "driver") == 0)
            driver_version = atoi(script_word(line, 2, word, sizeof word));
    }
    if (f)
        fclose(f);
}

int cuInit(unsigned flags) {
    (void)flags;
    is_initialized = 1;
    return 0;
}

int cuDriverGetVersion(int *version) {
    *version = driver_version;
    return 0;
}

int cuDeviceGetCount(int *n) {
    *n = n_devices;
    return is_initialized ? 0 : NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int ordinal) {
    if (!is_initialized)
        return NOT_INITIALIZED;
    *device = ordinal;
    return ordinal >= 0 && ordinal < n_devices ? 0 : INVALID_VALUE;
}

int cuDeviceGetName(char *name, int size, int device) {
    script_text(devices[device], "name", name, (size_t)size);
    for (char *p = name; *p; p++)
        *p = *p == '_' ? ' ' : *p;
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = (size_t)script_number(devices[device], "memory", 0);
    return 0;
}

/* Handles of the fakes are numbers: streams of the one context 1. */
int cuStreamGetCtx(void *stream, void **context) {
    (void)stream;
    *context = (void *)1;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    static const struct {
        int attribute;
        const char *key;
    } known[] = {{13, "clock"},     {16, "sms"},     {36, "memory_clock"}, {37, "bus"},
                 {39, "threads"},   {75, "major"},   {76, "minor"},        {81, "shared"},
                 {82, "registers"}, {106, "blocks"}, {111, "reserved"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].attribute != attribute)
            continue;
        *value = (int)script_number(devices[device], known[i].key, 0);
        return 0;
    }
    return INVALID_VALUE;
}
