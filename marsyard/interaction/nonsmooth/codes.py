"""Numbers of the methods of the contact solver, and of what became of a problem."""

# methods that can be asked for
AUTO = 0
GAUSS_SEIDEL = 1
NEWTON = 2
PROXIMAL = 3
CENTRAL_PATH = 4
# methods that can have answered, beyond those
NOTHING = 10
STICKING = 11
HYBRID = 12
PIVOTING = 13

# what became of it
CONVERGED = 0
NOT_CONVERGED = 1
NOT_FINITE = 2
