/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the Fortran runtime that LAPACK calls. The original ones print and stop the process,
   which a library must not do. These replacements stay inside libskel.so (skel.map). A wrong
   argument is still reported, by the value `info` that LAPACKE returns. */
#include <stddef.h>
#include <string.h>

void xerbla_(const char *routine, const int *info, size_t routine_length);
void LAPACKE_xerbla(const char *routine, int info);
void _gfortran_concat_string(size_t n, char *dest, size_t na, const char *a, size_t nb,
                             const char *b);

/* The original prints and then executes STOP, which would end the host program. */
void xerbla_(const char *routine, const int *info, size_t routine_length) {
    (void)routine;
    (void)info;
    (void)routine_length;
}

/* The original prints to standard output. */
void LAPACKE_xerbla(const char *routine, int info) {
    (void)routine;
    (void)info;
}

/* dest = a // b, cut or filled with blanks to n characters. The LAPACK routines that are used here
   call no other function of libgfortran (this one for the option string of ILAENV), and
   libgfortran.a cannot be linked into a shared object. */
void _gfortran_concat_string(size_t n, char *dest, size_t na, const char *a, size_t nb,
                             const char *b) {
    const size_t from_a = na < n ? na : n;
    const size_t from_b = nb < n - from_a ? nb : n - from_a;
    memcpy(dest, a, from_a);
    memcpy(dest + from_a, b, from_b);
    memset(dest + from_a + from_b, ' ', n - from_a - from_b);
}
