/* Rows shared among threads: torch's own team where it can be had, else plain threads.
 *
 * There is no pool of ours. Torch's team (OpenMP's, whose workers still spin from the operation
 * before) takes the rows as it takes torch's. Without it, and in a child process, where that team
 * did not survive the fork, threads are made for one call, if the work is worth it. Nothing is
 * kept between calls, so callers never meet. Who computes a row makes no difference to it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels.h"

#define MOST_THREADS 256
#define PARTS 4          /* of each thread's share, so that a late thread finds less to do */
#define GRAIN 20000      /* logits worth a thread of a team that is there, some 10 microseconds */
#define OWN_GRAIN 160000 /* logits worth making a thread */
#define ROW_OVERHEAD 50  /* what a row takes beside its logits, in logits */
#define LOG_WORK 2.5     /* of a log-bilinear logit, in bilinear ones */

typedef void parallel_function(void (*run)(void *), void *data, unsigned threads, unsigned flags);

static parallel_function *team;

struct work {
    rows_function *rows;
    const struct batch *batch;
    int64_t parts, scratch_size;
    double *scratch; /* of each thread in turn */
    atomic_llong next_part, next_thread;
};

/* What every thread does: take parts as long as there are any. */
static void run(void *given)
{
    struct work *work = given;
    int64_t n = work->batch->n;
    double *scratch = work->scratch + atomic_fetch_add(&work->next_thread, 1) * work->scratch_size;
    for (;;) {
        int64_t part = atomic_fetch_add(&work->next_part, 1);
        if (part >= work->parts)
            return;
        work->rows(work->batch, n * part / work->parts, n * (part + 1) / work->parts, scratch);
    }
}

static void *run_thread(void *given)
{
    run(given);
    return NULL;
}

static void run_plainly(struct work *work, int64_t threads)
{
    pthread_t ids[MOST_THREADS];
    sigset_t all, before;
    int64_t made = 1;
    sigfillset(&all); /* signals are for the threads that were there already */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (made < threads && !pthread_create(&ids[made], NULL, run_thread, work))
        made++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    run(work);
    for (int64_t i = 1; i < made; i++)
        pthread_join(ids[i], NULL);
}

static int64_t worth(const struct batch *batch, int64_t threads, double grain)
{
    double work = (double)batch->n * (double)(batch->k + ROW_OVERHEAD);
    double most = work * (batch->is_log ? LOG_WORK : 1.0) / grain;
    threads = threads < batch->n ? threads : batch->n;
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    threads = (double)threads < most ? threads : (int64_t)most;
    return threads < 1 ? 1 : threads;
}

int untrue_run(rows_function *rows, const struct batch *batch, int64_t threads)
{
    parallel_function *shared = team;
    threads = worth(batch, threads, shared ? GRAIN : OWN_GRAIN);
    struct work work = {rows, batch, PARTS * threads, scratch_size(batch), NULL, 0, 0};
    work.scratch = malloc((size_t)(threads * work.scratch_size) * sizeof *work.scratch);
    if (!work.scratch)
        return -1;
    if (threads == 1)
        rows(batch, 0, batch->n, work.scratch);
    else if (shared)
        shared(run, &work, (unsigned)threads, 0);
    else
        run_plainly(&work, threads);
    free(work.scratch);
    return 0;
}

static void leave_team(void)
{
    team = NULL;
}

void untrue_join_team(void *parallel)
{
    if (!team && parallel)
        pthread_atfork(NULL, NULL, leave_team);
    team = (parallel_function *)parallel;
}
