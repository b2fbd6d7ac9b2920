/* Compares the library with states that polhode @VERSION@ computed in Python, and looks at what must be conserved. */
#include <math.h>
#include <stdio.h>
#include "polhode_free.h"

/* moments, rate; attitude and momentum after a step of 0.05 s; then time, attitude and rate at five times. */
static const double rows[][53] = {
@ROWS@
};

static int failures = 0;

static void expect(int holds, const char *what, double size) {
    if (holds) return;
    failures++;
    printf("FAILED: %s: %g\n", what, size);
}

/* The greatest difference of two rows of numbers, relative to the greatest of them, in units of 2^-52. */
static double distance(const double *a, const double *b, int n) {
    double most = 0.0, size = 0.0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return size > 0.0 ? most / size / 2.220446049250313e-16 : most;
}

static void weight(double t, const double q[4], const double w[3], double n[3], void *data) {
    /* A heavy top: the arm (0, 0, data) in a field of 1 N downwards, in body axes. */
    double arm = *(double *)data;
    double up[3] = {2 * (q[1] * q[3] - q[0] * q[2]), 2 * (q[2] * q[3] + q[0] * q[1]),
                    1 - 2 * (q[1] * q[1] + q[2] * q[2])};
    (void)t, (void)w;
    n[0] = arm * up[1];
    n[1] = -arm * up[0];
    n[2] = 0.0;
}

int main(void) {
    int count = (int)(sizeof rows / sizeof rows[0]), equal = 0, all = 0;
    double q[4], w[3], m[3], start[4] = {1, 0, 0, 0};
    for (int i = 0; i < count; i++) {
        const double *row = rows[i];
        polhode_motion motion;
        expect(polhode_motion_begin(&motion, row, row + 3, start) == POLHODE_OK, "a motion begins", i);
        for (int k = 0; k < 5; k++) {
            const double *at = row + 13 + 8 * k;
            polhode_motion_at(&motion, at[0], q, w, m);
            expect(distance(q, at + 1, 4) <= 4.0, "attitude, in units of 2^-52", distance(q, at + 1, 4));
            expect(distance(w, at + 5, 3) <= 4.0, "rate, in units of 2^-52", distance(w, at + 5, 3));
            all++;
            equal += distance(q, at + 1, 4) == 0.0 && distance(w, at + 5, 3) == 0.0;
        }
        polhode_momentum(row, row + 3, m);
        for (int k = 0; k < 4; k++) q[k] = start[k];
        polhode_step(row, q, m, 0.05);
        expect(distance(q, row + 6, 4) <= 4.0, "attitude after a step", distance(q, row + 6, 4));
        expect(distance(m, row + 10, 3) <= 4.0, "momentum after a step", distance(m, row + 10, 3));
    }
    printf("%d of %d states are equal to the bit\n", equal, all);

    /* A million steps of a tumbling body keep energy and momentum. */
    double moments[3] = {1, 1.4, 2.1}, omega[3] = {0.3, -0.2, 0.9}, q0[4] = {1, 0, 0, 0};
    polhode_momentum(moments, omega, m);
    double energy = 0.0, norm = 0.0, e = 0.0, g = 0.0;
    for (int i = 0; i < 3; i++) energy += 0.5 * m[i] * omega[i], norm += m[i] * m[i];
    for (int i = 0; i < 1000000; i++) polhode_step(moments, q0, m, 0.1);
    for (int i = 0; i < 3; i++) e += 0.5 * m[i] * m[i] / moments[i], g += m[i] * m[i];
    expect(fabs(e / energy - 1.0) < 2e-12, "energy after a million steps", e / energy - 1.0);
    expect(fabs(g / norm - 1.0) < 2e-12, "momentum after a million steps", g / norm - 1.0);
    polhode_motion motion;
    polhode_motion_begin(&motion, moments, omega, start);
    polhode_motion_at(&motion, 1e5, q, w, NULL);
    double away = 1.0 - fabs(q[0] * q0[0] + q[1] * q0[1] + q[2] * q0[2] + q[3] * q0[3]);
    expect(away < 1e-16, "steps and the closed form agree after 100,000 s", away);

    /* A top under its weight: the energy returns, and halving the step divides its error by four. */
    double drift[2], arm = 0.3, top[3] = {1, 1, 0.4};
    for (int half = 0; half < 2; half++) {
        double h = half ? 0.005 : 0.01, a[4] = {0.9, 0.1, 0.2, 0.3}, l[3] = {0.1, 0.2, 2.0}, k = 0.0, first = 0.0;
        for (int i = 0; i < 4; i++) k += a[i] * a[i];
        for (int i = 0; i < 4; i++) a[i] /= sqrt(k);
        drift[half] = 0.0;
        for (int i = 0; i <= (half ? 2000 : 1000); i++) {
            double total = arm * (1 - 2 * (a[1] * a[1] + a[2] * a[2]));
            for (int j = 0; j < 3; j++) total += 0.5 * l[j] * l[j] / top[j];
            if (i == 0) first = total;
            drift[half] = fmax(drift[half], fabs(total - first));
            polhode_step_with_torque(top, a, l, 0.0, h, weight, &arm);
        }
    }
    expect(fabs(drift[0] / drift[1] - 4.0) < 0.4, "the order of steps with a torque", drift[0] / drift[1]);

    /* What makes no sense is refused, and nothing is written. */
    double bad[3] = {1, -1, 2}, nan_rate[3] = {NAN, 0, 0}, none[4] = {0, 0, 0, 0};
    expect(polhode_motion_begin(&motion, bad, omega, start) == POLHODE_BAD_MOMENTS, "bad moments", 0);
    expect(polhode_motion_begin(&motion, moments, nan_rate, start) == POLHODE_BAD_RATE, "a rate of NaN", 0);
    expect(polhode_motion_begin(&motion, moments, omega, none) == POLHODE_BAD_ATTITUDE, "an attitude of zero", 0);
    expect(polhode_motion_at(&motion, INFINITY, q, w, NULL) == POLHODE_BAD_TIME, "an infinite time", 0);
    expect(polhode_step(moments, q0, m, NAN) == POLHODE_BAD_TIME, "a step of NaN", 0);
    puts(failures ? "the library does NOT give what polhode gives" : "all as polhode has it");
    return failures ? 1 : 0;
}
