/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC-32C half a byte at a time: records here are some dozen bytes long.
 */
#include "plugin_data/tfrecord.h"

static void put_le(uint8_t *to, uint64_t v, unsigned n) {
    for (unsigned i = 0; i < n; ++i)
        to[i] = (uint8_t)(v >> 8 * i);
}

uint32_t tbp_crc32c(uint32_t crc, const void *p, size_t n) {
    /* table[i]: i shifted out of the register, reflected polynomial 0x82f63b78 */
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                       0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                       0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    const uint8_t *at = p;
    crc = ~crc;
    for (size_t i = 0; i < n; ++i) {
        crc ^= at[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

uint32_t tbp_crc32c_mask(uint32_t crc) {
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

int tbp_tfrecord_write(struct tbp_sink *out, const void *data, size_t n, struct tbp_error *err) {
    uint8_t head[12], tail[4];
    put_le(head, n, 8);
    put_le(head + 8, tbp_crc32c_mask(tbp_crc32c(0, head, 8)), 4);
    put_le(tail, tbp_crc32c_mask(tbp_crc32c(0, data, n)), 4);
    int status = tbp_sink_write(out, head, sizeof head, err);
    if (status == TBP_OK)
        status = tbp_sink_write(out, data, n, err);
    return status == TBP_OK ? tbp_sink_write(out, tail, sizeof tail, err) : status;
}
