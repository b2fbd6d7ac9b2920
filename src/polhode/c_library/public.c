/* --- what users call: checks, units, and the kernels above --------------------------------------------------------- */

#define MOST_RATIO 1e14
#define MOST_RADIANS 1e19
#define SMALLEST_SIZE 1e-280
#define NEGLIGIBLE 1e-285

static double largest_of(const double *x, int n) {
    double most = 0.0;
    for (int i = 0; i < n; i++) most = greatest(most, fabs(x[i]));
    return most;
}

static int are_finite(const double *x, int n) {
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

static int is_size(double x) { return x == 0.0 || (x > SMALLEST_SIZE && x < 1.0 / SMALLEST_SIZE); }

/* The power of two that brings x to between 1/2 and 1, or 0 if that is not needed: products of a few x stay floats. */
static int far_from_one(double x) {
    int power = 0;
    if (x > 0.0 && !(x > 1e-20 && x < 1e20)) frexp(x, &power);
    return power;
}

static int checked_moments(const double moments[3]) {
    double least_of = least(least(moments[0], moments[1]), moments[2]);
    if (!are_finite(moments, 3) || !(least_of > 0.0) || largest_of(moments, 3) > MOST_RATIO * least_of)
        return POLHODE_BAD_MOMENTS;
    return POLHODE_OK;
}

static int checked_attitude(const double q[4]) {
    int fits = are_finite(q, 4) && largest_of(q, 4) > 1e-150 && largest_of(q, 4) < 1e150;
    return fits ? POLHODE_OK : POLHODE_BAD_ATTITUDE;
}

static int checked_state(const double moments[3], const double vector[3], double size, const double attitude[4]) {
    int status = checked_moments(moments);
    if (status) return status;
    if (!are_finite(vector, 3) || !is_size(largest_of(vector, 3)) || !is_size(size)) return POLHODE_BAD_RATE;
    return checked_attitude(attitude);
}

/* The factor that makes a quaternion one of unit length; 1 if it is one but for rounding. */
static double to_unit(const double q[4]) {
    double n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    return fabs(n - 1.0) > 3.6e-15 ? 1.0 / sqrt(n) : 1.0;
}

int polhode_motion_begin(polhode_motion *motion, const double moments[3], const double omega[3],
                         const double attitude[4]) {
    static const double own[13] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    int status = checked_state(moments, omega, largest_of(omega, 3) * largest_of(moments, 3), attitude);
    if (status) return status;
    /* Powers of two bring the greatest moment and the greatest rate to between 1/2 and 1, exactly. */
    int size, speed;
    double given[24], length = 0.0, most = largest_of(attitude, 4);
    frexp(largest_of(moments, 3), &size);
    frexp(largest_of(omega, 3), &speed);
    for (int i = 0; i < 3; i++) {
        given[i] = ldexp(moments[i], -size);
        given[3 + i] = ldexp(omega[i], -speed);
        if (fabs(given[3 + i]) < NEGLIGIBLE) given[3 + i] = 0.0;
    }
    given[6] = largest_of(omega, 3) > 0.0 ? ldexp(1.0, speed) : 0.0; /* a body at rest has any time */
    for (int i = 0; i < 4; i++) length += (attitude[i] / most) * (attitude[i] / most);
    for (int i = 0; i < 4; i++) given[7 + i] = attitude[i] / most / sqrt(length);
    memcpy(given + 11, own, sizeof own);
    closed_form_set_up_rows(given, motion->number, 1);
    Constants c;
    memcpy(&c, motion->number, sizeof c);
    double norm = ldexp(ldexp(c.G, size), speed);
    for (int i = MOTION - 9; i < MOTION; i++) motion->number[i] *= norm;
    motion->period = c.K > 0.0 ? 4.0 * c.K / c.lam / given[6] : INFINITY;
    motion->precession_period = 2.0 * 3.141592653589793 / (c.precession * given[6]);
    return POLHODE_OK;
}

int polhode_motion_at_all(const polhode_motion *motion, const double *times, int count, double *attitudes,
                          double *omegas, double *momenta) {
    double numbers[MOTION], own[3];
    memcpy(numbers, motion->number, sizeof numbers);
    for (int i = 0; i < count; i++)
        if (!(fabs(times[i]) * numbers[sizeof(Constants) / sizeof(double)] < MOST_RADIANS)) return POLHODE_BAD_TIME;
    for (int i = 0; i < count; i++) {
        double t = times[i];
        closed_form_evaluate_rows(numbers, &t, attitudes + 4 * i, omegas + 3 * i, momenta ? momenta + 3 * i : own, 0.0,
                                  1, 1);
    }
    return POLHODE_OK;
}

int polhode_motion_at(const polhode_motion *motion, double t, double attitude[4], double omega[3], double momentum[3]) {
    return polhode_motion_at_all(motion, &t, 1, attitude, omega, momentum);
}

static Inertia inertia_of(const double moments[3]) {
    return (Inertia){{{moments[0], moments[1], moments[2]}}, {{1.0 / moments[0], 1.0 / moments[1], 1.0 / moments[2]}}};
}

/* A body may come all but to rest, so no momentum is too small. */
static int checked_step(const double moments[3], const double attitude[4], const double momentum[3], double h) {
    double omega[3];
    int status = checked_moments(moments);
    if (status) return status;
    polhode_rate(moments, momentum, omega);
    for (int i = 0; i < 3; i++)
        if (!(fabs(momentum[i]) < 1.0 / SMALLEST_SIZE && fabs(omega[i]) < 1.0 / SMALLEST_SIZE)) return POLHODE_BAD_RATE;
    status = checked_attitude(attitude);
    if (status) return status;
    return fabs(h) * largest_of(omega, 3) < MOST_RADIANS ? POLHODE_OK : POLHODE_BAD_TIME;
}

int polhode_step(const double moments[3], double attitude[4], double momentum[3], double h) {
    int status = checked_step(moments, attitude, momentum, h);
    if (status) return status;
    /* Powers of two bring numbers that are far from one near it, exactly. */
    double i[3], m[3], k = to_unit(attitude), most = largest_of(momentum, 3);
    int size = far_from_one(largest_of(moments, 3)), speed = far_from_one(most);
    for (int j = 0; j < 4; j++) attitude[j] *= k;
    h = ldexp(h, speed - size);
    if (most == 0.0 || fabs(h) < NEGLIGIBLE) return POLHODE_OK;
    for (int j = 0; j < 3; j++) {
        i[j] = size ? ldexp(moments[j], -size) : moments[j];
        m[j] = speed ? ldexp(momentum[j], -speed) : momentum[j];
        if (fabs(m[j]) < NEGLIGIBLE) m[j] = 0.0;
    }
    State s = {{{attitude[0], attitude[1], attitude[2], attitude[3]}}, {{m[0], m[1], m[2]}}};
    s = c_library_step(inertia_of(i), s, h);
    memcpy(attitude, s.q.v, sizeof s.q.v);
    for (int j = 0; j < 3; j++) momentum[j] = speed ? ldexp(s.m.v[j], speed) : s.m.v[j];
    return POLHODE_OK;
}

int polhode_step_with_torque(const double moments[3], double attitude[4], double momentum[3], double t, double h,
                             polhode_torque torque, void *data) {
    double q[4], m[3], omega[3], pull[3];
    int status = checked_step(moments, attitude, momentum, h);
    if (status) return status;
    if (!isfinite(t + h)) return POLHODE_BAD_TIME;
    memcpy(q, attitude, sizeof q);
    memcpy(m, momentum, sizeof m);
    for (int half = 0; half < 2; half++) {
        polhode_rate(moments, m, omega);
        torque(t + half * h, q, omega, pull, data);
        if (!are_finite(pull, 3)) return POLHODE_BAD_TORQUE;
        for (int i = 0; i < 3; i++) m[i] = fma(0.5 * h, pull[i], m[i]);
        status = half ? checked_step(moments, q, m, 0.0) : polhode_step(moments, q, m, h);
        if (status) return status;
    }
    memcpy(attitude, q, sizeof q);
    memcpy(momentum, m, sizeof m);
    return POLHODE_OK;
}

void polhode_rate(const double moments[3], const double momentum[3], double omega[3]) {
    for (int i = 0; i < 3; i++) omega[i] = momentum[i] / moments[i];
}

void polhode_momentum(const double moments[3], const double omega[3], double momentum[3]) {
    for (int i = 0; i < 3; i++) momentum[i] = moments[i] * omega[i];
}

static void widen(double *wide, const float *x, int n) {
    for (int i = 0; i < n; i++) wide[i] = x[i];
}

/* Whether the numbers fit into floats; only then are they written. */
static int narrow(float *x, const double *wide, int n) {
    if (!(largest_of(wide, n) <= FLT_MAX)) return 0;
    for (int i = 0; i < n; i++) x[i] = (float)wide[i];
    return 1;
}

int polhode_motion_beginf(polhode_motion *motion, const float moments[3], const float omega[3],
                          const float attitude[4]) {
    double i[3], w[3], q[4];
    widen(i, moments, 3);
    widen(w, omega, 3);
    widen(q, attitude, 4);
    return polhode_motion_begin(motion, i, w, q);
}

int polhode_motion_atf(const polhode_motion *motion, double t, float attitude[4], float omega[3]) {
    double q[4], w[3];
    int status = polhode_motion_at(motion, t, q, w, NULL);
    if (status) return status;
    if (!narrow(omega, w, 3)) return POLHODE_BAD_RATE;
    narrow(attitude, q, 4);
    return POLHODE_OK;
}

int polhode_stepf(const float moments[3], float attitude[4], float momentum[3], float h) {
    double i[3], q[4], m[3];
    widen(i, moments, 3);
    widen(q, attitude, 4);
    widen(m, momentum, 3);
    int status = polhode_step(i, q, m, h);
    if (status) return status;
    if (!narrow(momentum, m, 3)) return POLHODE_BAD_RATE;
    narrow(attitude, q, 4);
    return POLHODE_OK;
}
