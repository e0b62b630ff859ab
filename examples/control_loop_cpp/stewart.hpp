// The generated C of the platform as C++ values: arrays that know their sizes, statuses that throw, a guarded updater.
#ifndef STEWART_HPP
#define STEWART_HPP

#include "stewart_motion.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <string>

namespace stewart {

using Configuration = std::array<double, STEWART_NQ>;
using Speeds = std::array<double, STEWART_NU>;
using Efforts = std::array<double, STEWART_NF>;
using Twist = std::array<double, 6>; // angular first, world axes
using Jacobian = std::array<double, 6 * STEWART_NU>;

struct Pose {
    std::array<double, 9> R;
    std::array<double, 3> p;
};

class Refused : public std::runtime_error {
public:
    Refused(const char *what, int given)
        : std::runtime_error(std::string(what) + ": status " + std::to_string(given)), status(given)
    {
    }
    int status;
};

inline void check(const char *what, int status)
{
    if (status != STEWART_OK) {
        throw Refused(what, status);
    }
}

inline Configuration reference()
{
    Configuration q;
    stewart_reference(q.data());
    return q;
}

inline Pose pose(int frame, const Configuration &q)
{
    Pose found;
    check("pose", stewart_pose(frame, q.data(), found.R.data(), found.p.data()));
    return found;
}

inline Jacobian task_jacobian(int frame, const Configuration &q)
{
    Jacobian J;
    check("task_jacobian", stewart_task_jacobian(frame, q.data(), J.data()));
    return J;
}

inline Twist frame_acceleration(int frame, const Configuration &q, const Speeds &u, const Speeds &udot)
{
    Twist a;
    check("frame_acceleration", stewart_frame_acceleration(frame, q.data(), u.data(), udot.data(), a.data()));
    return a;
}

inline Efforts port_displacement(const Configuration &q)
{
    Efforts l;
    stewart_port_displacement(q.data(), l.data());
    return l;
}

inline Speeds inverse_dynamics(const Configuration &q, const Speeds &u, const Speeds &udot)
{
    Speeds tau;
    check("inverse_dynamics", stewart_inverse_dynamics(q.data(), u.data(), udot.data(), tau.data()));
    return tau;
}

inline Speeds forward_dynamics(const Configuration &q, const Speeds &u, const Efforts &f, const Speeds &tau)
{
    Speeds udot;
    check("forward_dynamics",
        stewart_forward_dynamics_with(q.data(), u.data(), f.data(), tau.data(), udot.data()));
    return udot;
}

// q moved by increments of the legs, loops closed.
inline Configuration moved(const Configuration &q, const Speeds &du)
{
    std::array<double, STEWART_NV> v;
    Configuration to;
    check("velocity", stewart_velocity(q.data(), du.data(), v.data()));
    stewart_integrate(q.data(), v.data(), to.data());
    check("correct", stewart_correct(to.data(), STEWART_TOLERANCE, STEWART_MAX_ITERATIONS, to.data(), nullptr));
    return to;
}

// An assembled configuration under changing leg lengths.
class Updater {
public:
    explicit Updater(const Configuration &q, int work)
    {
        stewart_update_limits_default(&limits_);
        limits_.substeps = limits_.homotopy = 0; // small steps only: a fixed worst case
        limits_.work = work;
        check("updater_start", stewart_updater_start(&state_, q.data(), nullptr));
    }

    // Moves the legs, or throws and leaves the configuration and what is wanted as they were.
    void advance(const Speeds &increments)
    {
        const Wish wish(state_); // takes back whatever is still wanted when this function is left
        for (int i = 0; i < STEWART_NU; ++i) {
            check("updater_advance", stewart_updater_advance(&state_, i, increments[static_cast<std::size_t>(i)]));
        }
        stewart_update_report report;
        check("updater_update", stewart_updater_update(&state_, &limits_, &report));
    }

    Configuration q() const
    {
        Configuration copy;
        std::copy(std::begin(state_.q), std::end(state_.q), copy.begin());
        return copy;
    }

private:
    class Wish {
    public:
        explicit Wish(stewart_updater &state) : state_(state) {}
        ~Wish() { stewart_updater_revert(&state_); } // after an accepted update there is nothing to take back
        Wish(const Wish &) = delete;
        Wish &operator=(const Wish &) = delete;

    private:
        stewart_updater &state_;
    };

    stewart_updater state_{};
    stewart_update_limits limits_{};
};

} // namespace stewart

#endif
