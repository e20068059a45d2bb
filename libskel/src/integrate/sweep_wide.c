/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops over all bodies and the elimination, compiled again for processors with AVX2. */
#define SKEL__WIDE
/* NOLINTBEGIN(bugprone-suspicious-include) */
#include "integrate/sweep.c"
#include "integrate/tree_lu.c"
/* NOLINTEND(bugprone-suspicious-include) */
