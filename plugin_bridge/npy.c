/* SPDX-License-Identifier: BSD-3-Clause */
/* A track as NumPy array, format version 1.0: float64 little-endian, C order, shape
   (frames, bodies, 13): x y z, w x y z, vx vy vz, wx wy wz. */
#include "track.h"

#include <string.h>

#define COLUMNS 13

static int put_header(FILE *stream, int32_t frames, int32_t bodies) {
    unsigned char head[128];
    char          shape[118];
    const int     n = snprintf(shape, sizeof shape,
                               "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d, %d), }",
                               (int)frames, (int)bodies, COLUMNS);
    /* 10 bytes before the text, which ends in a newline; the whole is a multiple of 64 */
    memset(head, ' ', sizeof head);
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
    const int32_t frames = skel_bake_samples_done(s->bake), nb = skel_model_body_count(s->model);
    const double *pose = skel_bake_poses(s->bake), *velocity = skel_bake_velocities(s->bake);
    if (!put_header(stream, frames, nb)) return 0;
    for (int32_t f = 0; f < frames && !*s->stop; ++f) {
        for (int32_t b = 0; b < nb; ++b, pose += 7, velocity += 6) {
            unsigned char row[8 * COLUMNS];
            for (int k = 0; k < 7; ++k) put_double(row + 8 * k, pose[k]);
            for (int k = 0; k < 6; ++k) put_double(row + 8 * (7 + k), velocity[k]);
            if (fwrite(row, 1, sizeof row, stream) != sizeof row) return 0;
        }
    }
    return !*s->stop;
}
