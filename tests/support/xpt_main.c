/* SPDX-License-Identifier: Apache-2.0
 *
 * xpt: profiles between text and bytes.
 *     xpt to-pb FILE.xpt FILE.xplane.pb
 *     xpt to-text FILE.xplane.pb FILE.xpt
 */
#include "base/file.h"
#include "plugin_data/sink.h"
#include "tests/support/xpt.h"

#include <stdio.h>

static int run(const char *what, const char *from, const char *to, struct tbp_error *err) {
    struct tbp_input in;
    int status = tbp_input_open(&in, from, err);
    if (status)
        return status;
    struct tbp_wire_out out = {0};
    struct tbp_sink_file *file = NULL;
    struct tbp_str bytes = {(const char *)in.data, in.size};
    if (strcmp(what, "to-pb") == 0)
        status = tbp_xpt_parse(bytes, &out, err);
    else if (strcmp(what, "to-text") == 0)
        status = tbp_xpt_print(bytes, &out, err);
    else
        status = tbp_fail(err, TBP_E_USAGE, "to-pb or to-text expected, not '%s'", what);
    if (!status)
        status = tbp_sink_file_new(&file, to, err);
    if (!status)
        status = tbp_sink_write(tbp_sink_file_base(file), out.at, out.n, err);
    if (!status)
        status = tbp_sink_finish(tbp_sink_file_base(file), err);
    tbp_sink_file_free(file);
    tbp_wire_out_release(&out);
    tbp_input_release(&in);
    return status;
}

int main(int argc, char **argv) {
    struct tbp_error err = {.offset = TBP_NO_OFFSET};
    char text[1024];
    if (argc != 4) {
        fputs("usage: xpt to-pb|to-text FROM TO\n", stderr);
        return 2;
    }
    if (run(argv[1], argv[2], argv[3], &err) == TBP_OK)
        return 0;
    fprintf(stderr, "xpt: %s: %s\n", argv[2], tbp_error_text(&err, text, sizeof text));
    return 1;
}
