/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics over time: data structures and internal interface.

     ik_motion.c   tracks the samples one after the other
     ik_strands.c  searches for other solutions around a sample that tracking has lost
     ik_smooth.c   smooths a motion that was joined from several solutions

   All of them work in units of one solve, so that a caller can interrupt the work. */
#ifndef SKEL_DRIVE_IK_MOTION_H
#define SKEL_DRIVE_IK_MOTION_H

#include "base/carve.h"
#include "ik/ik.h"

#define SKEL__IK_JUMP_MIN 0.15 /* [rad], [length]: a longer step between samples is a jump */
#define SKEL__IK_JUMP_PER_TARGET_MOTION 1.0 /* unless the targets move this much farther */

/* A solver and the poses that it works with. */
typedef struct skel__tracker {
    skel_ik *ik;
    double *x_base;        /* (coordinates) the animation at the present sample */
    double *x_base_before; /* (coordinates) the animation at the sample before */
    double *x_now;         /* (coordinates) the result before it is blended */
} skel__tracker;

/* Results of the samples first..last, which continue each other. */
typedef struct skel__strand {
    double *x;           /* (samples x coordinates) */
    int32_t origin;      /* sample that x begins with */
    int32_t first, last; /* samples that have results */
    double off;          /* distance from the motion at the lost sample [rad], [length] */
} skel__strand;

/* What the next unit of work does. */
enum {
    SKEL__IK_PHASE_TRACK,           /* solve the next sample */
    SKEL__IK_PHASE_SEARCH,          /* search for poses of the lost sample */
    SKEL__IK_PHASE_EXTEND_FORWARD,  /* extend a strand to later samples */
    SKEL__IK_PHASE_EXTEND_BACKWARD, /* extend a strand to earlier samples */
    SKEL__IK_PHASE_ORDER,           /* sort the strands by length */
    SKEL__IK_PHASE_GLIDE,           /* glide from the motion to a strand */
    SKEL__IK_PHASE_RETURN,          /* glide from a strand to the motion, backwards in time */
    SKEL__IK_PHASE_DECIDE,          /* choose among the strands and glides */
    SKEL__IK_PHASE_WRITE,           /* write the samples that have changed */
    SKEL__IK_PHASE_SMOOTH,          /* smooth a segment */
    SKEL__IK_PHASE_DONE
};

/* The search for other solutions around a lost sample. */
typedef struct skel__repair {
    int32_t lost;          /* the lost sample */
    int32_t seeded;        /* sample for which poses are searched: the lost one or one nearby */
    int32_t run_first;     /* first of the adjacent lost samples that were not yet examined */
    int32_t floor;         /* no sample before this one may change */
    int32_t first, last;   /* window of samples that a strand may cover */
    int32_t tries;         /* seeds that were used in this attempt */
    int32_t batch_end;     /* number of tries after which glides are attempted */
    int32_t max_tries;     /* number of seeds of one attempt */
    int32_t attempt;       /* every attempt uses other seeds */
    int32_t attempts;      /* largest number of attempts */
    int32_t count;         /* strands found so far */
    int32_t first_new;     /* first strand that no glide has tried */
    int32_t current;       /* strand in work: its index, or its position in `order` */
    int32_t glide_samples; /* number of samples that the glide starts before the lost one */
    int32_t is_walking;    /* the probe's solver already continues the strand in work */
    int32_t slots, width;  /* memory: number of strands, samples of each */
    double work;           /* work of this repair, as count_work counts it */
    double slack;          /* steps may be longer than allowed by this factor */
    double glide_step;     /* largest step of a glide towards its strand [rad], [length] */
    skel__strand *strand;  /* (slots) */
    int32_t *order;        /* (slots) indices, longest strand first */
    skel__strand glide;    /* the glide in work */
    skel__strand best;     /* the glide that gets farthest; none if it ends before `lost` */
    /* A strand that begins too late is extended by the same search, backwards in time. */
    int32_t direction;     /* 1: forwards in time; -1: backwards */
    int32_t reversals;     /* number of searches backwards in time */
    int32_t forward_lost;  /* lost sample of the forward search */
    int32_t forward_floor; /* floor of the forward search */
    skel__strand *motion;  /* the motion that is repaired: `path` or `reverse` */
    skel__strand reverse;  /* the strand that is extended backwards */
    skel__strand middle;   /* one pose: the middle of all limits */
    skel__strand jump;     /* best strand to jump to, of all attempts */
    skel__strand begin;    /* best strand that covers the first sample, of all attempts */
    /* Over the whole motion. */
    double spent;       /* work of all repairs */
    int32_t gap;        /* number of samples until unreachable targets are examined again */
    int32_t next_probe; /* sample at which they are examined again */
    int32_t last_lost;  /* last sample that no seed reaches, or -1 */
    uint64_t random;    /* state of the random numbers */
} skel__repair;

/* Smoothing of a segment: samples without a jump between them. */
typedef struct skel__smoothing {
    int32_t first, last;           /* samples of the segment */
    int32_t round;                 /* number of rounds that improved the segment */
    int32_t is_walking;            /* the probe's solver continues the segment */
    int32_t is_over;               /* all segments are done */
    int32_t changed, changed_last; /* first and last sample that smoothing has changed */
    double roughness, step;        /* of the present motion; neither may grow */
    double next_roughness, next_step;
    double *x;       /* (samples x coordinates) the smoothed motion, complete up to `done` */
    int32_t done;    /* last sample of x */
    double *y, *sum; /* (columns) */
    double *guide;   /* (2 x coordinates) preferred postures of two adjacent samples */
} skel__smoothing;

/* The best motion of several passes. */
typedef struct skel__kept {
    int32_t passes;   /* number of passes over the whole motion */
    double penalty;   /* of the kept motion; lower is better */
    double *x;        /* (samples x coordinates) */
    int32_t *reached; /* (samples) */
} skel__kept;

/* How tracking and repair treated a sample. */
enum {
    SKEL__SAMPLE_LOST = 0,    /* the targets are not reached */
    SKEL__SAMPLE_REACHED = 1, /* reached by tracking */
    SKEL__SAMPLE_REPAIRED = 2 /* reached by another solution */
};

struct skel_ik_motion {
    skel_allocator allocator;
    const skel_model *model;
    /* Input. */
    const skel_goal_track *tracks; /* the caller's */
    const double *base;            /* the caller's animation as joint coordinates, or NULL */
    const double *base_poses;      /* the caller's animation as poses, or NULL */
    int32_t sample_count;
    int32_t goals;
    int32_t mode;                 /* SKEL_IK_POSE, SKEL_IK_TRACK */
    int32_t base_posture;         /* the animation is the posture */
    int32_t has_bounds;           /* max_step is given */
    int32_t start_held;           /* the first sample must not change */
    uint32_t blend_in, blend_out; /* samples */
    double rate;                  /* [1/s] */
    skel__ik_settings settings;   /* of the caller */
    double *q_seed;               /* (nq) */
    double *root;                 /* (coordinates - nq) initial poses of free roots */
    /* Results. */
    double *poses;             /* (samples x nb x 7) */
    double *q;                 /* (samples x nq) */
    skel_ik_receipt *receipts; /* (samples) */
    double *residuals;         /* (samples x goals x 2) */
    int32_t stored;            /* number of samples that are written */
    int32_t repaired;          /* number of samples that were repaired */
    skel_ik_jump *jumps;       /* (samples) */
    int32_t jump_count;
    skel_ik_jump moved; /* how far the first sample was moved */
    double progress;    /* largest progress reported so far, 0..1 */
    /* Tracking. */
    int32_t phase;       /* SKEL__IK_PHASE_* */
    int32_t done;        /* number of samples that are tracked */
    skel__tracker track; /* solves sample after sample */
    skel__tracker probe; /* searches for other solutions; its ik is NULL if none are wanted */
    double *q_work;      /* (nq) */
    double *posture;     /* (coordinates) posture of the present sample */
    double *x_carried;   /* (coordinates) last result plus the change of the animation */
    double *seed;        /* (columns) */
    /* Repair. Its memory is a block of its own, which is not cleared. */
    void *room;
    skel__strand path;         /* results of all samples before blending */
    double *x_first;           /* (coordinates) first sample, as tracked */
    double *limit;             /* (samples) longest step to this sample that is no jump */
    int32_t *reached;          /* (samples) SKEL__SAMPLE_* */
    int32_t write, write_last; /* samples that are written next */
    int32_t changed;           /* first sample that was repaired; sample_count: none */
    int32_t last_jump;         /* last sample that the motion jumps to, or 0 */
    int32_t has_repairs;       /* tracking has lost a sample */
    skel__repair repair;
    skel__kept kept;
    skel__smoothing smooth;
};

static inline double *skel__strand_at(const skel__strand *s, int32_t k, int32_t coordinates) {
    return s->x + (size_t)(k - s->origin) * (size_t)coordinates;
}

/* ---- ik_motion.c ---- */

/* x = the animation at sample k. */
void skel__motion_base(const skel_ik_motion *motion, skel_ik *ik, int32_t k, double *x);
/* Sets the targets, the posture and the prescribed bodies of the tracker's solver to sample k, and
   x_base to the animation there. */
void skel__motion_set_sample(const skel_ik_motion *motion, skel__tracker *t, int32_t k);
/* Adds the change of the animation from a to b to x. Nodes that no goal moves become those of b. */
void skel__motion_carry(const skel_ik *ik, const double *a, const double *b, double *x);
/* Does the same to the history of the solver. */
void skel__motion_carry_history(skel_ik *ik, const double *a, const double *b);
/* Largest step of a joint from a to b [rad], [length]. jump (may be NULL) receives the joint. */
double skel__motion_step(const skel_ik *ik, const double *a, const double *b, skel_ik_jump *jump);
/* Longest step that is no jump, for the last solve of `ik` [rad], [length]. */
double skel__motion_limit(const skel_ik_motion *motion, const skel_ik *ik);
/* Samples first..last of the path have new results; they are written next. */
void skel__motion_changed(skel_ik_motion *motion, int32_t first, int32_t last);
/* Lists all jumps. Returns the sum of their steps. */
double skel__motion_list_jumps(skel_ik_motion *motion);
/* All samples are tracked: chooses the next phase. */
void skel__motion_finish(skel_ik_motion *motion);

/* ---- ik_strands.c ---- */

void skel__repair_layout(skel_ik_motion *motion, skel__carver *c);
/* A sample is reached again: the run of lost samples has ended. */
void skel__repair_reset(skel_ik_motion *motion);
/* Sample `lost` is not reached, or its step is a jump. Returns 1 if a repair begins. */
int skel__repair_begin(skel_ik_motion *motion, int32_t lost);
void skel__repair_work(skel_ik_motion *motion);
/* All samples are tracked. Returns 1 if the motion still jumps and another pass begins. */
int skel__repair_again(skel_ik_motion *motion);

/* One step of a strand to the next sample. */
typedef struct skel__walk {
    int32_t at;                /* present sample */
    int32_t direction;         /* 1: to the next sample; -1: to the one before */
    const skel__strand *guide; /* strand that the solver approaches as a posture, or NULL */
    double bound;              /* largest step towards the guide [rad], [length] */
    double slack;              /* steps may be longer than allowed by this factor */
} skel__walk;
/* Prepares the probe's solver to continue from the pose x (coordinates) of sample w->at. */
void skel__walk_begin(skel_ik_motion *motion, const skel__walk *w, const double *x);
/* Solves the next sample. x is the pose of sample w->at on entry and of the next sample on return.
   Returns 1 if the targets are reached without a jump. */
int skel__walk_step(skel_ik_motion *motion, const skel__walk *w, double *x);

/* ---- ik_smooth.c ---- */

void skel__smooth_begin(skel_ik_motion *motion);
void skel__smooth_work(skel_ik_motion *motion);
double skel__smooth_progress(const skel_ik_motion *motion);

#endif
