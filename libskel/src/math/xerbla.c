/* SPDX-License-Identifier: BSD-3-Clause */
/* What LAPACK calls in the surroundings of a Fortran program, made fit for a library: nothing here
   prints or stops the process. These names stay inside libskel.so (skel.map).
   A wrong argument still shows: LAPACK's `info`, which LAPACKE returns, says which. */
#include <stddef.h>
#include <string.h>

void xerbla_(const char *routine, const int *info, size_t routine_length);
void LAPACKE_xerbla(const char *routine, int info);
void _gfortran_concat_string(size_t n, char *dest, size_t na, const char *a, size_t nb,
                             const char *b);

/* LAPACK's own prints and then executes STOP, which ends the host. */
void xerbla_(const char *routine, const int *info, size_t routine_length) {
    (void)routine;
    (void)info;
    (void)routine_length;
}

/* LAPACKE's own prints to standard output. */
void LAPACKE_xerbla(const char *routine, int info) {
    (void)routine;
    (void)info;
}

/* dest = a // b, cut or filled with blanks to n. The only function of libgfortran that the LAPACK
   routines we use call (for the option string of ILAENV); libgfortran.a itself cannot be linked
   into a shared object. */
void _gfortran_concat_string(size_t n, char *dest, size_t na, const char *a, size_t nb,
                             const char *b) {
    const size_t from_a = na < n ? na : n;
    const size_t from_b = nb < n - from_a ? nb : n - from_a;
    memcpy(dest, a, from_a);
    memcpy(dest + from_a, b, from_b);
    memset(dest + from_a + from_b, ' ', n - from_a - from_b);
}
