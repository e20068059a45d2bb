/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorting and quantiles. */
#include "skin/skin.h"

#include <string.h>

#define SORT_RUN 16 /* entries that insertion sorts */

static void sort_run(skel__keyed *items, size_t n) {
    for (size_t i = 1; i < n; ++i) {
        const skel__keyed item = items[i];
        size_t k = i;
        for (; k > 0 && items[k - 1].key > item.key; --k) items[k] = items[k - 1];
        items[k] = item;
    }
}

/* Merges two sorted neighbours, of `left` and `right` entries. */
static void merge(const skel__keyed *from, size_t left, size_t right, skel__keyed *to) {
    const skel__keyed *a = from, *a_end = from + left;
    const skel__keyed *b = a_end, *b_end = a_end + right;
    while (a < a_end && b < b_end) *to++ = b->key < a->key ? *b++ : *a++;
    while (a < a_end) *to++ = *a++;
    while (b < b_end) *to++ = *b++;
}

void skel__sort_keyed(skel__keyed *items, skel__keyed *buffer, size_t n) {
    for (size_t at = 0; at < n; at += SORT_RUN)
        sort_run(items + at, n - at < SORT_RUN ? n - at : SORT_RUN);

    /* Runs are merged from one array into the other and back. */
    skel__keyed *from = items, *to = buffer;
    for (size_t run = SORT_RUN; run < n; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            const size_t rest = n - at;
            const size_t left = rest < run ? rest : run;
            const size_t right = rest - left < run ? rest - left : run;
            merge(from + at, left, right, to + at);
        }
        skel__keyed *other = from;
        from = to;
        to = other;
    }
    if (from != items) memcpy(items, from, n * sizeof *items);
}

static void swap(double *a, double *b) {
    const double c = *a;
    *a = *b;
    *b = c;
}

double skel__quantile(double *numbers, int32_t n, double fraction) {
    const int32_t rank = (int32_t)floor(fraction * (n - 1) + 0.5);
    int32_t low = 0, high = n - 1;

    /* Hoare's selection: the pivot is the median of three, and goes to the front. */
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (numbers[middle] > numbers[high]) swap(&numbers[middle], &numbers[high]);
        if (numbers[low] > numbers[high]) swap(&numbers[low], &numbers[high]);
        if (numbers[middle] > numbers[low]) swap(&numbers[middle], &numbers[low]);

        const double pivot = numbers[low];
        int32_t i = low - 1, j = high + 1;
        for (;;) {
            do ++i;
            while (numbers[i] < pivot);
            do --j;
            while (numbers[j] > pivot);
            if (i >= j) break;
            swap(&numbers[i], &numbers[j]);
        }
        if (rank <= j)
            high = j;
        else
            low = j + 1;
    }
    return numbers[rank];
}
