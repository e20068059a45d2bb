/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SKEL_BASE_ERROR_H
#define SKEL_BASE_ERROR_H

#include <skel/skel_base.h>

#if defined(__GNUC__)
#define SKEL__PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define SKEL__PRINTF(f, a)
#endif

/* Writes err (may be NULL) and returns status, so that a check is one line:
   return skel__fail(err, SKEL_E_BODY, i, -1, "bodies[%d].mass: is %g, must be > 0", i, m); */
skel_status skel__fail(skel_error *err, skel_status status, int32_t body, int32_t joint,
                       const char *format, ...) SKEL__PRINTF(5, 6);

#endif
