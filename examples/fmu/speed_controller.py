"""A controller as an FMU: a PI law for the speed of one joint, with a limit.

    torque = gain (wanted − rate) + integral_gain ∫ (wanted − rate) dt, within ± torque_max

The integral stands still while the torque is at its limit. Build it without a compiler:
`pythonfmu build -f speed_controller.py --handle-state --serialize-state`.
"""

from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real


class SpeedController(Fmi2Slave):
    """Inputs wanted, rate [rad/s]; output torque [N·m]."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.wanted, self.rate, self.torque, self.integral = 0.0, 0.0, 0.0, 0.0
        self.gain, self.integral_gain, self.torque_max = 20.0, 10.0, 30.0
        for name in ("wanted", "rate"):
            self.register_variable(Real(name, causality=Fmi2Causality.input))
        self.register_variable(Real("torque", causality=Fmi2Causality.output))
        # what a saved state must hold is registered, too
        self.register_variable(Real("integral", causality=Fmi2Causality.local))
        for name in ("gain", "integral_gain", "torque_max"):
            self.register_variable(
                Real(name, causality=Fmi2Causality.parameter, variability=Fmi2Variability.tunable)
            )

    def do_step(self, current_time, step_size):
        error = self.wanted - self.rate
        stored = self.integral + error * step_size
        asked = self.gain * error + self.integral_gain * stored
        self.torque = max(-self.torque_max, min(self.torque_max, asked))
        if self.torque == asked:
            self.integral = stored
        return True
