"""A project for students: the free rigid body by three methods.

Three tasks for one body and one start: the analytical solution, Runge-Kutta of order 4, and a splitting into rotations
about the axes. Each asks for the rates and for the error of the energy; what the tasks leave to be observed is answered
here from the data.
"""
