/* SPDX-License-Identifier: BSD-3-Clause */
/* Every allocation of the process fails once: the linker leads malloc, calloc, realloc and free of
   our code and of all packages inside it (expat, CVODE, LAPACK) here. Each case of cases.c is run
   undisturbed, then with its n-th allocation failing, for n = 1, 2, ... until none is left; and
   again with all allocations from the n-th on failing. It must then either give the same output, or
   end with SKEL_E_MEMORY; never crash, and never keep memory.
   Usage: faults [--stride N] [--only NAME]. The stride leaves out all but every N-th n.
   A case runs in a child process, so that a crash is counted and the next n goes on. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "faults/faults.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESTARTS_MAX 50 /* children of one case that may crash before it is given up */

/* ---- the allocator --------------------------------------------------------------------------- */

typedef enum failure { FAIL_NONE, FAIL_ONE, FAIL_REST } failure;

static struct {
    failure mode;
    long count;   /* allocations so far */
    long at;      /* the one that fails */
    long live;    /* blocks that are not freed yet */
    long refused; /* allocations that failed */
} g_heap;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static bool refuse(void) {
    ++g_heap.count;
    const bool fails = (g_heap.mode == FAIL_ONE && g_heap.count == g_heap.at) ||
                       (g_heap.mode == FAIL_REST && g_heap.count >= g_heap.at);
    g_heap.refused += fails;
    return fails;
}

void *__wrap_malloc(size_t size) {
    void *memory = refuse() ? NULL : __real_malloc(size);
    g_heap.live += memory != NULL;
    return memory;
}

void *__wrap_calloc(size_t count, size_t size) {
    void *memory = refuse() ? NULL : __real_calloc(count, size);
    g_heap.live += memory != NULL;
    return memory;
}

void *__wrap_realloc(void *memory, size_t size) {
    void *moved = refuse() ? NULL : __real_realloc(memory, size);
    g_heap.live += !memory && moved;
    return moved;
}

void __wrap_free(void *memory) {
    g_heap.live -= memory != NULL;
    __real_free(memory);
}

/* ---- output ---------------------------------------------------------------------------------- */

void output_add(fault_output *out, const void *bytes, size_t count) { /* FNV-1a */
    const unsigned char *c = bytes;
    for (size_t i = 0; i < count; ++i) out->hash = (out->hash ^ c[i]) * 0x100000001b3u;
    out->bytes += count;
}

static fault_output output_none(void) {
    return (fault_output){0xcbf29ce484222325u, 0};
}

/* ---- one case -------------------------------------------------------------------------------- */

/* Shared with the children. */
typedef struct progress {
    long next;     /* the n that the child is at */
    long injected; /* failures in all */
    long survived; /* of these, runs that gave the right output all the same */
    long crashes, leaks, wrong, misnamed;
    bool done;
} progress;

static progress *g_progress;

typedef struct run_result {
    skel_status status;
    fault_output output;
    long leaked, refused, count;
} run_result;

static run_result run_once(const fault_case *c, failure mode, long at) {
    run_result r = {SKEL_OK, output_none(), 0, 0, 0};
    const long live = g_heap.live;
    g_heap.mode = mode;
    g_heap.at = at;
    g_heap.count = 0;
    g_heap.refused = 0;
    r.status = c->run(c, &r.output);
    g_heap.mode = FAIL_NONE;
    r.leaked = g_heap.live - live;
    r.refused = g_heap.refused;
    r.count = g_heap.count;
    return r;
}

static void report(const fault_case *c, failure mode, long n, const char *what) {
    printf("%s, allocation %ld%s: %s\n", c->name, n, mode == FAIL_REST ? " and all after it" : "",
           what);
    fflush(stdout);
}

/* In a child: from progress->next until nothing fails any more. */
static void run_child(const fault_case *c, failure mode, long stride) {
    const run_result good = run_once(c, FAIL_NONE, 0);
    if (good.status != SKEL_OK || good.leaked != 0) {
        report(c, FAIL_NONE, 0, good.leaked ? "leaks undisturbed" : skel_status_text(good.status));
        ++g_progress->wrong;
        g_progress->done = true;
        return;
    }
    for (; !g_progress->done; g_progress->next += stride) {
        const long n = g_progress->next;
        const run_result r = run_once(c, mode, n);
        if (r.refused == 0) {
            g_progress->done = true;
            break;
        }
        g_progress->injected += r.refused;
        if (r.leaked != 0) {
            report(c, mode, n, "leaks");
            ++g_progress->leaks;
        }
        if (r.status == SKEL_OK) {
            const bool same =
                r.output.hash == good.output.hash && r.output.bytes == good.output.bytes;
            g_progress->survived += same;
            g_progress->wrong += !same;
            if (!same) report(c, mode, n, "success, but another output");
        } else if (r.status != SKEL_E_MEMORY) {
            report(c, mode, n, skel_status_text(r.status));
            ++g_progress->misnamed;
        }
    }
}

static void run_case(const fault_case *c, failure mode, long stride) {
    g_progress->next = 1;
    g_progress->done = false;
    for (int restart = 0; restart < RESTARTS_MAX && !g_progress->done; ++restart) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            run_child(c, mode, stride);
            fflush(stdout);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
        report(c, mode, g_progress->next, "crashes");
        ++g_progress->crashes;
        ++g_progress->injected;
        g_progress->next += stride;
    }
}

/* ---- main ------------------------------------------------------------------------------------ */

int main(int argc, char **argv) {
    long stride = 1;
    const char *only = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--stride") == 0) stride = strtol(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    }
    g_progress =
        mmap(NULL, sizeof *g_progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (g_progress == MAP_FAILED || stride < 1) return 2;
    faults_prepare();

    long runs = 0;
    for (int32_t i = 0; i < fault_case_count; ++i) {
        const fault_case *c = &fault_cases[i];
        const long before = g_progress->injected;
        if (only && !strstr(c->name, only)) continue;
        run_case(c, FAIL_ONE, stride);
        run_case(c, FAIL_REST, stride);
        printf("%-28s %6ld injected failures\n", c->name, g_progress->injected - before);
        ++runs;
    }
    faults_release();

    const progress *p = g_progress;
    printf("%ld cases, %ld injected failures: %ld crashes, %ld leaks, %ld wrong outputs, %ld wrong "
           "reasons; %ld went well all the same\n",
           runs, p->injected, p->crashes, p->leaks, p->wrong, p->misnamed, p->survived);
    return p->injected > 0 && p->crashes + p->leaks + p->wrong + p->misnamed == 0 ? 0 : 1;
}
