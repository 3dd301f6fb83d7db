"""Eqs. (14) to (19) of Grand et al. 2001 in plain Python, one row of columns, to be read.

The rules are those of `interaction.soil_columns.surface`; nothing is shared with the kernels. Every
column is looked at in every step.
"""

from __future__ import annotations

import math

THIN, NEAR, CREEP, MOST, COURANT = 5e-3, 1.005, 2e-3, 0.5, 0.65


class Row:
    """Heights H [m] of columns of width l [m]; u [m/s] over the faces between i and i + 1."""

    def __init__(self, heights, l, beta, rest, nu, g, chunk):
        self.H = [float(h) for h in heights]
        self.u = [0.0] * (len(self.H) - 1)
        self.l, self.nu, self.g, self.chunk = l, nu, g, chunk
        self.start, self.rest = math.tan(beta), rest * math.tan(beta)

    def run(self, dt):
        left = dt
        while left > 1e-9 * dt:
            left -= self.step(left / math.ceil(left / self.chunk * (1 - 1e-9)))

    def step(self, dt):
        H, l, n = self.H, self.l, len(self.H)
        faces = range(n - 1)
        t = [(H[i] - H[i + 1]) / l for i in faces]
        limit = NEAR * self.rest
        marked = [self.u[i] != 0 or abs(t[i]) > limit for i in faces]
        if not any(self.u[i] != 0 or abs(t[i]) > self.start for i in faces):
            return dt
        e = self.layer(marked)
        dt = min(dt, COURANT * l / math.sqrt(self.g * max(e) + 1e-12))
        F = [0.0] * (n - 1)
        for i in faces:
            if marked[i]:
                F[i] = self.cross(i, t[i], limit, e, dt)
                marked[i] = self.u[i] != 0 or F[i] != 0 or self.kept
        self.cut(F, t, e)
        self.mix(F, t, e, marked, dt)
        for i in faces:
            # eq. (19) without its factor of 2
            H[i] -= F[i]
            H[i + 1] += F[i]
        return dt

    def layer(self, marked):
        """e = H − S beside marked faces, else 0."""
        n = len(self.H)
        free = [(i > 0 and marked[i - 1]) or (i < n - 1 and marked[i]) for i in range(n)]
        S = list(self.H)
        step = self.rest * self.l
        for order in (range(n), range(n - 1, -1, -1)) * 2:
            for i in order:
                if free[i]:
                    beside = [S[j] for j in (i - 1, i + 1) if 0 <= j < n]
                    S[i] = min(S[i], min(beside) + step)
        return [h - s for h, s in zip(self.H, S, strict=True)]

    def cross(self, i, t, limit, e, dt):
        """Speed over face i at the end of the step, eq. (15); height that crosses it, eq. (16)."""
        u, m, g, nu = self.u[i], abs(t), self.g, self.nu
        giver = i if u > 0 or (u == 0 and t > 0) else i + 1
        alpha = math.atan(min(m, 1.0))
        pull = math.copysign(g * math.sin(alpha) * math.cos(alpha), t) if m > 0 else 0.0
        little = e[giver] * max(abs(u) * nu, abs(pull)) <= THIN * self.l * g
        self.kept = False
        if little or (u == 0 and m <= max(self.start, limit)):
            self.u[i] = 0.0
            return 0.0
        self.kept = True
        if m <= limit:
            pull -= math.copysign(g * math.cos(alpha) ** 2 * limit, u)
        last = pull / nu
        fades = math.exp(-nu * dt)
        mean = last + (u - last) * (1 - fades) / (nu * dt)
        end = last + (u - last) * fades
        if m <= limit and end * math.copysign(1, u) <= CREEP * g / nu:
            end, mean = 0.0, 0.5 * u * fades
        self.u[i] = end
        return mean * e[giver] * dt / self.l

    def sums(self, F):
        n = len(self.H)
        left = [0.0, *F]
        right = [*F, 0.0]
        out = [max(right[i], 0) + max(-left[i], 0) for i in range(n)]
        into = [max(-right[i], 0) + max(left[i], 0) for i in range(n)]
        return out, into

    def cut(self, F, t, e):
        for _ in range(2):
            out, into = self.sums(F)
            for i, f in enumerate(list(F)):
                if f:
                    a, b = (i, i + 1) if f > 0 else (i + 1, i)
                    drop = self.H[a] - self.H[b]
                    part = min(1.0, (drop + out[b] + into[a]) / (out[a] + into[b]))
                    F[i] = f * max(min(part, MOST * e[a] / out[a]), 0.0)

    def mix(self, F, t, e, marked, dt):
        n = len(self.H)
        came, carried = [0.0] * n, [0.0] * n
        for i, f in enumerate(F):
            taker = i + 1 if f > 0 else i
            came[taker] += abs(f)
            carried[taker] += abs(f) * self.u[i]
        new = list(self.u)
        for i, u in enumerate(self.u):
            if not marked[i]:
                continue
            giver = i if u > 0 or (u == 0 and t[i] > 0) else i + 1
            if came[giver] > 0:
                new[i] = (e[giver] * u + carried[giver]) / (e[giver] + came[giver])
            if u != 0:
                wave = min(0.5 * math.sqrt(self.g * e[giver]) * dt / self.l, 0.25)
                beside = [self.u[j] for j in (i - 1, i + 1) if 0 <= j < n - 1]
                new[i] += wave * sum(v - u for v in beside if v != 0)
        self.u = new
