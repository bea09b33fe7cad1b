/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target of the configuration file: build/fuzz/fuzz_config -max_total_time=60 CORPUS
 */
#include "cli/config_yaml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t n_commands = 0;
    struct tbp_arena arena;
    struct tbp_error err;
    if (size == 0)
        return 0;
    while (tbp_commands[n_commands])
        n_commands++;
    /* the first byte chooses the command */
    const struct tbp_command *c = tbp_commands[data[0] % n_commands];
    tbp_arena_init(&arena);
    void *values = tbp_arena_alloc(&arena, 1, c->values_size);
    uint64_t given = 0;
    tbp_config_parse((struct tbp_str){(const char *)data + 1, size - 1}, "f.yaml", c, &arena,
                     &given, values, &err);
    tbp_arena_release(&arena);
    return 0;
}
