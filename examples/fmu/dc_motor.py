"""A motor as an FMU: DC motor with gear, whose winding gets warm.

    U = R i + k n ω,  τ = n k i η            with R = R₀ (1 + α (T − T₀)), α of copper
    C dT/dt = R i² − (T − T₀)/R_th           by steps of implicit Euler

k [N·m/A], n gear ratio, η efficiency, T₀ the temperature around [K], C [J/K], R_th [K/W]. Build it:
`pythonfmu build -f dc_motor.py --handle-state --serialize-state`.
"""

from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real

COPPER = 0.0039  # [1/K]


class DcMotor(Fmi2Slave):
    """Inputs voltage [V], rate [rad/s] at the output; outputs torque [N·m], current [A],
    temperature [K]."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.voltage, self.rate = 0.0, 0.0
        self.constant, self.resistance, self.gear, self.efficiency = 0.025, 2.0, 200.0, 0.6
        self.surroundings, self.heat_capacity, self.thermal_resistance = 230.0, 60.0, 8.0
        self.torque, self.current, self.temperature = 0.0, 0.0, 230.0
        for name in ("voltage", "rate"):
            self.register_variable(Real(name, causality=Fmi2Causality.input))
        for name in ("torque", "current", "temperature"):
            self.register_variable(Real(name, causality=Fmi2Causality.output))
        for name in (
            "constant", "resistance", "gear", "efficiency", "surroundings", "heat_capacity",
            "thermal_resistance",
        ):  # fmt: skip
            self.register_variable(
                Real(name, causality=Fmi2Causality.parameter, variability=Fmi2Variability.tunable)
            )

    def exit_initialization_mode(self):
        self.temperature = self.surroundings

    def do_step(self, current_time, step_size):
        warmer = self.temperature - self.surroundings
        resistance = self.resistance * (1 + COPPER * warmer)
        self.current = (self.voltage - self.constant * self.gear * self.rate) / resistance
        self.torque = self.gear * self.constant * self.efficiency * self.current
        heat = self.temperature + step_size / self.heat_capacity * (
            resistance * self.current**2 + self.surroundings / self.thermal_resistance
        )
        cooling = step_size / (self.heat_capacity * self.thermal_resistance)
        self.temperature = heat / (1 + cooling)
        return True
