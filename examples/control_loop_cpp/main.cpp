// The 1 kHz control loop of ../control_loop_c in C++17: control [--no-wait] [--cycles N]
#include "stewart.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace {

using stewart::Configuration;
using stewart::Efforts;
using stewart::Jacobian;
using stewart::Pose;
using stewart::Speeds;
using stewart::Twist;
using clock_type = std::chrono::steady_clock;

constexpr double period = 1e-3, motion_time = 4.0;               // s
constexpr double stiffness = 4e4, damping = 800.0, largest = 900.0; // N/m, N s/m, N
constexpr double pi = 3.14159265358979323846;
constexpr std::size_t N = 6;
constexpr int platform = STEWART_FRAME_PLATFORM;

// A number with its first two derivatives by time.
struct Course {
    double x, v, a;
};

Course phase(double t)
{
    const double s = std::clamp(t / motion_time, 0.0, 1.0), r = 1.0 - s, rate = 4.0 * pi / motion_time;
    return {4.0 * pi * s * s * s * (10.0 + s * (6.0 * s - 15.0)), rate * 30.0 * s * s * r * r,
        rate / motion_time * 60.0 * s * r * (r - s)};
}

Course wave(double amplitude, double k, const Course &c)
{
    const double S = std::sin(k * c.x), C = std::cos(k * c.x);
    return {amplitude * S, amplitude * k * C * c.v, amplitude * k * (C * c.a - k * S * c.v * c.v)};
}

struct Reference {
    Pose pose;
    Twist V, A;
};

Reference platform_motion(double t, const Pose &rest)
{
    constexpr std::array<double, 3> n = {2.0 / 7.0, 3.0 / 7.0, 6.0 / 7.0}; // roll, pitch and yaw together
    const Course c = phase(t), angle = wave(0.15, 1.0, c);
    const std::array<Course, 3> place = {wave(0.05, 1.0, c), wave(0.04, 2.0, c), wave(0.02, 3.0, c)};
    const double S = std::sin(angle.x), K = 1.0 - std::cos(angle.x);
    Reference to{};
    for (std::size_t i = 0; i < 3; ++i) {
        to.pose.p[i] = rest.p[i] + place[i].x;
        to.V[i] = n[i] * angle.v;
        to.A[i] = n[i] * angle.a;
        to.V[3 + i] = place[i].v;
        to.A[3 + i] = place[i].a;
        const double x = rest.R[i], y = rest.R[3 + i], z = rest.R[6 + i], along = n[0] * x + n[1] * y + n[2] * z;
        to.pose.R[i] = x + S * (n[1] * z - n[2] * y) + K * (n[0] * along - x);
        to.pose.R[3 + i] = y + S * (n[2] * x - n[0] * z) + K * (n[1] * along - y);
        to.pose.R[6 + i] = z + S * (n[0] * y - n[1] * x) + K * (n[2] * along - z);
    }
    return to;
}

// J^-1 b by elimination with row exchanges.
Speeds solve(const Jacobian &J, const Twist &b)
{
    std::array<std::array<double, N + 1>, N> W;
    for (std::size_t i = 0; i < N; ++i) {
        std::copy_n(J.begin() + static_cast<std::ptrdiff_t>(N * i), N, W[i].begin());
        W[i][N] = b[i];
    }
    for (std::size_t k = 0; k < N; ++k) {
        std::iter_swap(W.begin() + static_cast<std::ptrdiff_t>(k),
            std::max_element(W.begin() + static_cast<std::ptrdiff_t>(k), W.end(),
                [k](const auto &a, const auto &c) { return std::fabs(a[k]) < std::fabs(c[k]); }));
        if (!(std::fabs(W[k][k]) > 1e-9)) {
            throw stewart::Refused("the legs do not determine the platform", STEWART_SMALL_PIVOT);
        }
        for (std::size_t i = k + 1; i < N; ++i) {
            const double factor = W[i][k] / W[k][k];
            for (std::size_t j = k; j <= N; ++j) {
                W[i][j] -= factor * W[k][j];
            }
        }
    }
    Speeds x{};
    for (std::size_t i = N; i-- > 0;) {
        x[i] = W[i][N];
        for (std::size_t j = i + 1; j < N; ++j) {
            x[i] -= W[i][j] * x[j];
        }
        x[i] /= W[i][i];
    }
    return x;
}

// The twist from a pose to another, to first order.
Twist difference(const Pose &to, const Pose &from)
{
    const auto D = [&](std::size_t i, std::size_t j) {
        return to.R[3 * i] * from.R[3 * j] + to.R[3 * i + 1] * from.R[3 * j + 1] + to.R[3 * i + 2] * from.R[3 * j + 2];
    };
    return {0.5 * (D(2, 1) - D(1, 2)), 0.5 * (D(0, 2) - D(2, 0)), 0.5 * (D(1, 0) - D(0, 1)), to.p[0] - from.p[0],
        to.p[1] - from.p[1], to.p[2] - from.p[2]};
}

// What the legs have to do.
struct Legs {
    stewart::Updater at;
    Speeds u{}, udot{};

    void follow(const Reference &wanted)
    {
        for (int iteration = 0; iteration <= 6; ++iteration) {
            const Configuration q = at.q();
            const Jacobian J = stewart::task_jacobian(platform, q);
            const Twist e = difference(wanted.pose, stewart::pose(platform, q));
            if (std::all_of(e.begin(), e.end(), [](double x) { return std::fabs(x) < 1e-12; })) {
                u = solve(J, wanted.V);
                const Twist drift = stewart::frame_acceleration(platform, q, u, Speeds{});
                Twist rest{};
                std::transform(wanted.A.begin(), wanted.A.end(), drift.begin(), rest.begin(), std::minus<>{});
                udot = solve(J, rest);
                return;
            }
            at.advance(solve(J, e));
        }
        throw stewart::Refused("the pose is not reached", STEWART_NOT_CONVERGED);
    }
};

struct Plant {
    Configuration q;
    Speeds u{};
    std::array<double, 3> force{0.0, 20.0, 0.0}; // N on the platform, unknown to the controller

    Speeds acceleration(const Efforts &f) const
    {
        const Jacobian J = stewart::task_jacobian(platform, q);
        Speeds tau{};
        for (std::size_t i = 0; i < N; ++i) {
            tau[i] = J[3 * N + i] * force[0] + J[4 * N + i] * force[1] + J[5 * N + i] * force[2];
        }
        return stewart::forward_dynamics(q, u, f, tau);
    }

    // One Runge-Kutta step of the fourth order; nothing has changed if it throws.
    void step(const Efforts &f, double h)
    {
        constexpr std::array<double, 4> node = {0.0, 0.5, 0.5, 1.0}, weight = {1 / 6.0, 1 / 3.0, 1 / 3.0, 1 / 6.0};
        Speeds du{}, dv{}, udot{};
        Plant stage = *this;
        for (std::size_t s = 0; s < 4; ++s) {
            if (s > 0) {
                Speeds way{};
                for (std::size_t i = 0; i < N; ++i) {
                    way[i] = h * node[s] * stage.u[i];
                    stage.u[i] = u[i] + h * node[s] * udot[i];
                }
                stage.q = stewart::moved(q, way);
            }
            udot = stage.acceleration(f);
            for (std::size_t i = 0; i < N; ++i) {
                du[i] += h * weight[s] * stage.u[i];
                dv[i] += h * weight[s] * udot[i];
            }
        }
        q = stewart::moved(q, du);
        std::transform(u.begin(), u.end(), dv.begin(), u.begin(), std::plus<>{});
    }
};

// Inverse dynamics and PD.  The ports are the independents here, so that efforts are generalised forces.
Efforts control(const Legs &legs, const Plant &measured)
{
    const Configuration q = legs.at.q();
    const Efforts wanted = stewart::port_displacement(q), l = stewart::port_displacement(measured.q);
    const Speeds tau = stewart::inverse_dynamics(q, legs.u, legs.udot);
    Efforts f{};
    for (std::size_t i = 0; i < N; ++i) {
        const double effort = tau[i] + stiffness * (wanted[i] - l[i]) + damping * (legs.u[i] - measured.u[i]);
        f[i] = std::clamp(effort, -largest, largest);
    }
    return f;
}

void print(const char *name, const Configuration &q)
{
    std::printf("%s", name);
    for (const double l : stewart::port_displacement(q)) {
        std::printf(" %.12f", l);
    }
    std::printf("\n");
}

void run(long cycles, bool wait)
{
    const Configuration q0 = stewart::reference();
    const Pose rest = stewart::pose(platform, q0);
    Legs legs{stewart::Updater(q0, 8)};
    Plant plant{q0};
    std::vector<double> micros;
    micros.reserve(static_cast<std::size_t>(cycles));
    double worst = 0.0;
    auto next = clock_type::now();
    for (long k = 0; k < cycles; ++k) {
        const auto begin = clock_type::now();
        legs.follow(platform_motion(period * static_cast<double>(k), rest));
        const Efforts f = control(legs, plant);
        micros.push_back(std::chrono::duration<double, std::micro>(clock_type::now() - begin).count());
        const Efforts wanted = stewart::port_displacement(legs.at.q()), l = stewart::port_displacement(plant.q);
        for (std::size_t i = 0; i < N; ++i) {
            worst = std::max(worst, std::fabs(wanted[i] - l[i]));
        }
        plant.step(f, period);
        if (wait) {
            next += std::chrono::microseconds(1000);
            std::this_thread::sleep_until(next);
        }
    }
    std::printf("worst tracking error %.4e m\n", worst);
    print("wanted", legs.at.q());
    print("actual", plant.q);
    std::sort(micros.begin(), micros.end());
    std::printf("controller: median %.1f us, worst %.1f us of %.0f us\n", micros[micros.size() / 2], micros.back(),
        1e6 * period);
}

} // namespace

int main(int count, char **words)
{
    long cycles = 5000;
    bool wait = true;
    for (int i = 1; i < count; ++i) {
        if (!std::strcmp(words[i], "--no-wait")) {
            wait = false;
        } else if (!std::strcmp(words[i], "--cycles") && i + 1 < count && (cycles = std::atol(words[i + 1])) > 0) {
            ++i;
        } else {
            std::fprintf(stderr, "usage: %s [--no-wait] [--cycles N]\n", words[0]);
            return 2;
        }
    }
    try {
        run(cycles, wait);
    } catch (const stewart::Refused &refused) {
        std::fprintf(stderr, "%s\n", refused.what());
        return 1;
    }
    return 0;
}
