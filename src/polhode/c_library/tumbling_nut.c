/* A wing nut in weightlessness turns over again and again: a loop as game engines have it, and the exact answer. */
#include <math.h>
#include <stdio.h>
#include "polhode_free.h"

int main(void) {
    const float moments[3] = {1.0f, 2.0f, 2.8f}; /* about the body's own axes, kg m^2 */
    float attitude[4] = {1, 0, 0, 0}, momentum[3] = {0.2f * 1.0f, 5.0f * 2.0f, 0.0f};
    const double wide[3] = {1.0, 2.0, 2.8f}, omega[3] = {0.2f, 5.0, 0.0}, start[4] = {1, 0, 0, 0};
    polhode_motion motion;
    if (polhode_motion_begin(&motion, wide, omega, start) != POLHODE_OK) return 1;
    printf("it turns over every %.3f s\n", 0.5 * motion.period);
    puts("  t (s)   which way its axis points   in closed form");
    for (int frame = 0; frame <= 60 * 20; frame++) {
        if (frame % 120 == 0) {
            double q[4], w[3];
            polhode_motion_at(&motion, frame / 60.0, q, w, NULL);
            printf("%7.1f   %+26.4f   %+14.4f\n", frame / 60.0, momentum[1] / moments[1], w[1]);
        }
        if (polhode_stepf(moments, attitude, momentum, 1.0f / 60.0f) != POLHODE_OK) return 1;
    }
    return 0;
}
