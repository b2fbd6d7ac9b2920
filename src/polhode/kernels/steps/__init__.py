"""Steps of one body: flows, splittings, collocation, Runge-Kutta, multistep, variable steps."""
