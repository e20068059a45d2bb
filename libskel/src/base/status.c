/* SPDX-License-Identifier: BSD-3-Clause */
/* Versions of the library, and texts of the status codes. */
#include <skel/skel_base.h>

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

const char *skel_version(void) {
    return TEXT_OF(SKEL_VERSION_MAJOR) "." TEXT_OF(SKEL_VERSION_MINOR) "." TEXT_OF(
        SKEL_VERSION_PATCH);
}

uint32_t skel_abi_version(void) {
    return SKEL_ABI_VERSION;
}

const char *skel_status_text(int32_t status) {
#define CASE(name, value, text)                                                                    \
    case value: return text;
    switch (status) {
        SKEL_STATUS_LIST(CASE)
    default: return "unknown status";
    }
#undef CASE
}
