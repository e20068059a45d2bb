/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a track as a NumPy array, format version 1.0: float64 little-endian, C order, shape
   (frames, bodies, 13): x y z, w x y z, vx vy vz, wx wy wz; without the last six numbers if the
   track has no velocities. */
#include "motion/track.h"

#include <string.h>

static int put_header(FILE *stream, int32_t frames, int32_t bodies, int columns) {
    unsigned char head[128];
    char shape[118];
    const int n = snprintf(shape, sizeof shape,
                           "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d, %d), }",
                           (int)frames, (int)bodies, columns);

    /* 10 bytes, then the text padded with spaces up to a newline: 128 bytes, a multiple of 64. */
    memset(head, ' ', sizeof head);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, not a string */
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);

    memcpy(head + 10, shape, (size_t)n);
    head[sizeof head - 1] = '\n';
    return fwrite(head, 1, sizeof head, stream) == sizeof head;
}

static void put_double(unsigned char *out, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    for (int k = 0; k < 8; ++k) out[k] = (unsigned char)(bits >> (8 * k));
}

int track_write_npy(FILE *stream, const track_source *s) {
    const int32_t nb = skel_model_body_count(s->model);
    const size_t size = s->velocities ? 8 * 13 : 8 * 7;
    if (!put_header(stream, s->frames, nb, (int)(size / 8))) return 0;

    for (int32_t f = 0; f < s->frames; ++f) {
        for (int32_t b = 0; b < nb; ++b) {
            const size_t at = (size_t)f * (size_t)nb + (size_t)b;
            unsigned char row[8 * 13];
            for (int k = 0; k < 7; ++k) put_double(row + 8 * k, s->poses[7 * at + (size_t)k]);
            for (int k = 0; s->velocities && k < 6; ++k)
                put_double(row + 8 * (7 + k), s->velocities[6 * at + (size_t)k]);
            if (fwrite(row, 1, size, stream) != size) return 0;
        }
    }
    return 1;
}
