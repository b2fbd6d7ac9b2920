/* The exact motion of a free rigid body (polhode @VERSION@).
 *
 * Body axes are the principal axes. An attitude is a unit quaternion, scalar first, that turns body axes into space
 * axes. Rates and momenta are in body axes. Units are yours, as long as they are one system: kg m^2, rad/s, s, or any
 * other. Every function that can refuse its input returns a status and then writes nothing: no result is ever NaN.
 *
 * Compile with -ffp-contract=off (GCC, Clang) or /fp:precise (MSVC), never with -ffast-math: then all results have the
 * bits that polhode has in Python, as far as the C library's exp, log, sin, cos, atan2 and asinh have the same bits. The
 * functions keep nothing between calls, so any number of threads may call them.
 */
#ifndef POLHODE_FREE_H
#define POLHODE_FREE_H

#ifdef __cplusplus
extern "C" {
#endif

enum polhode_status {
    POLHODE_OK = 0,
    POLHODE_BAD_MOMENTS = 1,  /* not three positive finite numbers, or more than 1e14 times apart */
    POLHODE_BAD_RATE = 2,     /* a rate or a momentum not finite, beyond 1e280, or, where a motion begins, below 1e-280 */
    POLHODE_BAD_ATTITUDE = 3, /* a quaternion of no length, or one that is not finite */
    POLHODE_BAD_TIME = 4,     /* a time that is not finite, or at which no digit of the phase is left (1e19 radians) */
    POLHODE_BAD_TORQUE = 5    /* a torque function that returned a number that is not finite */
};

/* A motion: constants that are computed once, for any number of times. Its numbers have no meaning for users. */
typedef struct polhode_motion {
    double number[62];
    double period;            /* after which the rate repeats in the body, s; INFINITY if there is none */
    double precession_period; /* of one mean turn of the circled axis about the angular momentum, s */
} polhode_motion;

/* Begins the motion with these principal moments that has this rate and this attitude at t = 0. */
int polhode_motion_begin(polhode_motion *motion, const double moments[3], const double omega[3],
                         const double attitude[4]);

/* The state at any time, before or after the start, at one price: the error is a few units in the last place of the
 * numbers given, as in polhode. `momentum` may be NULL. */
int polhode_motion_at(const polhode_motion *motion, double t, double attitude[4], double omega[3], double momentum[3]);

/* Many times at once: `attitudes` has 4 numbers a time, `omegas` and `momenta` have 3. `momenta` may be NULL. */
int polhode_motion_at_all(const polhode_motion *motion, const double *times, int count, double *attitudes,
                          double *omegas, double *momenta);

/* The exact flow over a time h of any length and sign, in place: attitude and momentum are the state of a body between
 * two calls. Energy and the momentum in space are kept to round-off, which does a random walk. */
int polhode_step(const double moments[3], double attitude[4], double momentum[3], double h);

/* Writes the torque in body axes, in the body's state at time t, to `torque`. */
typedef void (*polhode_torque)(double t, const double attitude[4], const double omega[3], double torque[3], void *data);

/* A step of order two, symmetric: half a kick by the torque, the exact flow, half a kick. It is symplectic for torques
 * that depend on the attitude alone. */
int polhode_step_with_torque(const double moments[3], double attitude[4], double momentum[3], double t, double h,
                             polhode_torque torque, void *data);

/* The rate that goes with a momentum, and the momentum that goes with a rate. */
void polhode_rate(const double moments[3], const double momentum[3], double omega[3]);
void polhode_momentum(const double moments[3], const double omega[3], double momentum[3]);

/* The same for engines whose states are floats: numbers are floats outside, and doubles inside. */
int polhode_motion_beginf(polhode_motion *motion, const float moments[3], const float omega[3],
                          const float attitude[4]);
int polhode_motion_atf(const polhode_motion *motion, double t, float attitude[4], float omega[3]);
int polhode_stepf(const float moments[3], float attitude[4], float momentum[3], float h);

#ifdef __cplusplus
}
#endif

#endif
