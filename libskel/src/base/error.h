/* SPDX-License-Identifier: BSD-3-Clause */
/* Error messages: "field: is VALUE, must be RULE". */
#ifndef SKEL_BASE_ERROR_H
#define SKEL_BASE_ERROR_H

#include <skel/skel_base.h>

#if defined(__GNUC__)
#define SKEL__PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define SKEL__PRINTF(f, a)
#endif

/* Returns from the calling function if `call` does not return SKEL_OK. */
#define SKEL__CHECK(call)                                                                          \
    do {                                                                                           \
        const skel_status status_ = (call);                                                        \
        if (status_ != SKEL_OK) return status_;                                                    \
    } while (0)

/* Fills *err, if it is not NULL, and returns status, so that a check is one statement:
   return skel__fail(err, SKEL_E_BODY, i, -1, "bodies[%d].mass: is %g, must be > 0", i, m); */
skel_status skel__fail(skel_error *err, skel_status status, int32_t body, int32_t joint,
                       const char *format, ...) SKEL__PRINTF(5, 6);

#endif
