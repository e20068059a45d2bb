/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics over time from the inside. ik_motion.c tracks the samples one after the other;
   ik_strands.c looks for another way where that loses one; ik_smooth.c calms what came of it.
   All of them work one solve at a time. */
#ifndef SKEL_DRIVE_IK_MOTION_H
#define SKEL_DRIVE_IK_MOTION_H

#include "base/carve.h"
#include "ik/ik.h"

#define SKEL__IK_STEP_MAX 0.15 /* [rad], [length] from sample to sample; more is a jump */
#define SKEL__IK_WAY_MAX 1.0   /* or so many times the way of the targets */

/* A solver, and where it is. */
typedef struct skel__tracker {
    skel_ik *ik;
    double  *x_base; /* (nx) the animation at this sample */
    double  *x_was;  /* (nx) and at the sample before */
    double  *x_now;  /* (nx) the answer before it is blended */
} skel__tracker;

/* Answers of the samples first..last, one after the other. */
typedef struct skel__strand {
    double *x;      /* (samples x nx) */
    int32_t origin; /* the sample that x begins with */
    int32_t first, last;
    double  off; /* how far it is from the motion at the sample that was lost */
} skel__strand;

enum { /* what a unit of work does next */
       SKEL__IK_TRACKS,
       SKEL__IK_SEARCHES, /* poses of the lost sample */
       SKEL__IK_LEADS_ON, /* strands from them to later samples */
       SKEL__IK_LEADS_BACK,
       SKEL__IK_ORDERS,  /* them by length */
       SKEL__IK_GLIDES,  /* from the motion onto a strand */
       SKEL__IK_RETURNS, /* from a strand back in time onto the motion */
       SKEL__IK_DECIDES, /* what becomes of it */
       SKEL__IK_WRITES,  /* samples that have changed */
       SKEL__IK_SMOOTHS,
       SKEL__IK_ENDS
};

/* The search for another way at a sample that was lost. */
typedef struct skel__repair {
    int32_t       lost;         /* the sample */
    int32_t       seeded;       /* the sample that poses are searched for: it, or one near it */
    int32_t       run;          /* first of those that were lost with it and not yet looked at */
    int32_t       floor;        /* nothing before this sample may change */
    int32_t       first, last;  /* window of samples that strands may have */
    int32_t       tries, most;  /* seeds that were used, and may be before glides are tried */
    int32_t       patience;     /* seeds of one attempt */
    int32_t       attempt;      /* each with other seeds */
    int32_t       attempts;     /* that there may be */
    int32_t       count;        /* strands that there are */
    int32_t       fresh;        /* the first of them that no glide has tried */
    int32_t       current;      /* the strand that is worked on: index, or place in the order */
    int32_t       back;         /* samples that the glide begins before the lost one */
    int32_t       is_walking;   /* the tracker stands on the strand that is worked on */
    int32_t       slots, width; /* room: strands, samples of each */
    double        work;         /* of this repair so far */
    double        slack;        /* steps may be so many times too long */
    double        pull;         /* of a glide: step that it may take towards its strand */
    skel__strand *strand;       /* (slots) */
    int32_t      *order;        /* (slots) longest first */
    skel__strand  glide, best;  /* under way, and the one that gets farthest; last < lost: none */
    /* A strand that begins too late is repaired backwards in time, as if it were the motion. */
    int32_t       direction;                   /* 1 or -1 */
    int32_t       turns;                       /* times that this was done */
    int32_t       forward_lost, forward_floor; /* where the motion itself is lost */
    skel__strand *motion;                      /* what is repaired: the path, or `reverse` */
    skel__strand  reverse;
    skel__strand  middle;      /* one pose, of the limits */
    skel__strand  jump, begin; /* to jump to, and from the first sample on, of all attempts */
    /* Over the whole motion. */
    double   spent;           /* work done, as count_work counts it */
    int32_t  gap, next_probe; /* while samples cannot be reached: when to look again */
    int32_t  last_lost;       /* sample that nothing reaches, or -1 */
    uint64_t random;
} skel__repair;

typedef struct skel__smoothing {
    int32_t first, last; /* samples without a jump between them */
    int32_t round;
    int32_t is_walking, is_over;
    int32_t changed, changed_last; /* first and last sample that it moved */
    double  roughness, step;       /* of the motion as it is: what must not grow */
    double  next_roughness, next_step;
    double *x; /* (n x nx) the next motion, whose samples up to `done` are there */
    int32_t done;
    double *y, *sum; /* (columns) */
    double *lead;    /* (2 x nx) what two samples are to come near to */
} skel__smoothing;

/* The best motion so far, while others are tried. */
typedef struct skel__kept {
    int32_t  passes;  /* that were made */
    double   badness; /* of the motion that is kept; lower is better */
    double  *x;       /* (n x nx) */
    int32_t *reached; /* (n) */
} skel__kept;

struct skel_ik_motion {
    skel_allocator         allocator;
    skel__tracker          track; /* from sample to sample */
    skel__tracker          probe; /* looks elsewhere; ik is NULL where nothing is to be repaired */
    const skel_model      *m;
    const skel_goal_track *tracks;
    const double          *base, *base_poses; /* the caller's */
    int32_t                n, done, goals, mode;
    int32_t                stored;                   /* samples that have been written */
    int32_t                base_posture, has_bounds; /* max_step is given */
    int32_t                start_held;
    uint32_t               blend_in, blend_out;
    double                 rate;
    double                *q_seed;    /* (nq) */
    double                *q_work;    /* (nq) */
    double                *posture;   /* (nx) of this sample, where the caller has one */
    double                *root;      /* (nx - nq) where free roots were */
    double                *poses;     /* (n x nb x 7) */
    double                *q;         /* (n x nq) */
    skel_ik_receipt       *receipts;  /* (n) */
    double                *residuals; /* (n x goals x 2) */
    /* Where lost samples are looked for: */
    void           *room;              /* the block of what follows, not zeroed */
    int32_t         phase;             /* SKEL__IK_... */
    int32_t         write, write_last; /* samples that are written next */
    int32_t         changed;           /* first sample that was found another way; n: none */
    int32_t         repaired;          /* how many */
    int32_t         last_jump;         /* sample, or 0 */
    int32_t         is_troubled;
    double          progress; /* that has been told */
    skel__strand    path;     /* all answers */
    double         *x_first;  /* (nx) of the first sample, as tracked */
    double         *x_plain;  /* (nx) the sample before, moved on as the base moves */
    double         *seed;     /* (columns) */
    double         *limit;    /* (n) most that a joint may move to this sample */
    int32_t        *reached;  /* (n) by the answer before it is blended */
    skel_ik_jump   *jumps;    /* (n) */
    int32_t         jump_count;
    skel_ik_jump    moved; /* the first sample */
    skel__kept      kept;
    skel__repair    repair;
    skel__smoothing smooth;
    skel__ik_manner manner; /* of the caller */
};

static inline double *skel__strand_at(const skel__strand *s, int32_t k, int32_t nx) {
    return s->x + (size_t)(k - s->origin) * (size_t)nx;
}

/* ik_motion.c */
/* The animation at sample k. */
void skel__motion_base(const skel_ik_motion *v, skel_ik *ik, int32_t k, double *x);
/* The tracker's solver has targets, posture and driven bodies of sample k; x_base is there. */
void skel__motion_enter(const skel_ik_motion *v, skel__tracker *t, int32_t k);
/* x moves on as the animation does from a to b; what the goals do not move is the animation's. */
void skel__motion_move_on(const skel_ik *ik, const double *a, const double *b, double *x);
/* All that the solver remembers likewise. */
void skel__motion_follow(skel_ik *ik, const double *a, const double *b);
/* Largest step of a joint from a to b [rad], [length]; jump (may be NULL): which, and its size. */
double skel__motion_step(const skel_ik *ik, const double *a, const double *b, skel_ik_jump *jump);
/* Most that a joint may move in the step that the solver has just taken. */
double skel__motion_limit(const skel_ik_motion *v, const skel_ik *ik);
/* Samples first..last have new answers in the path. They are written next. */
void skel__motion_changed(skel_ik_motion *v, int32_t first, int32_t last);
/* Every step that is too long goes into jumps; returns how bad they are together. */
double skel__motion_list_jumps(skel_ik_motion *v);
/* All samples are there: what is left to do with them comes next. */
void skel__motion_finish(skel_ik_motion *v);

/* ik_strands.c */
void skel__repair_layout(skel_ik_motion *v, skel__carver *c);
/* The sample is reached: what was said about lost ones before it is over. */
void skel__repair_rest(skel_ik_motion *v);
/* Sample `lost` is lost, or its step is too long: 1 where another way will be looked for. */
int  skel__repair_begin(skel_ik_motion *v, int32_t lost);
void skel__repair_unit(skel_ik_motion *v);
/* All samples are there, but the joints jump: 1 where another pass begins from the first sample. */
int skel__repair_again(skel_ik_motion *v);
/* One sample after another: from `at` to the next one, `direction` is 1 or -1. Where `lead` is
   there the solver comes near to it. x (nx): in, of `at`; out, of the next. Returns 1 where it is
   reached without a jump. */
typedef struct skel__walk {
    int32_t             at, direction;
    const skel__strand *lead;  /* or NULL */
    double              bound; /* of the step towards the lead [rad], [length] */
    double              slack; /* steps may be so many times too long */
} skel__walk;
void skel__walk_begin(skel_ik_motion *v, const skel__walk *w, const double *x);
int  skel__walk_step(skel_ik_motion *v, const skel__walk *w, double *x);

/* ik_smooth.c */
void   skel__smooth_begin(skel_ik_motion *v);
void   skel__smooth_unit(skel_ik_motion *v);
double skel__smooth_progress(const skel_ik_motion *v);

#endif
