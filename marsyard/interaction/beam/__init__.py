r"""Elastic booms of the robot: Euler-Bernoulli beams between two bodies, of changing length.

A beam of length L, clamped at its root, with bending stiffness E I, torsion stiffness G J and no
mass. Its tip is displaced across the axis a by w₁ along e₁ and w₂ along e₂, tilted towards e₁ and
e₂ by the slopes φ₁ and φ₂ (turning about a × e₁ and a × e₂), and twisted by ψ. With the cubic shape
of a beam loaded at its ends the strain energy is

    U = ½ Σ_planes E I (12 w²/L³ − 12 w φ/L² + 4 φ²/L) + ½ G J ψ²/L           [J]

so that the generalised forces on (w, φ) of each plane, on ψ and on the length are

    Q = −K(L) q − C q̇,    K = E I [12/L³  −6/L²; −6/L²  4/L],    −(G J/L) (ψ + β ψ̇)
    Q_L = −∂U/∂L = ½ Σ E I (36 w²/L⁴ − 24 w φ/L³ + 4 φ²/L²) + ½ G J ψ²/L²     [N]

Q_L lets a bent beam push its drive outwards: with it, U plus kinetic energy plus the work of the
drive balance while L changes. C = β K is damping in proportion to stiffness. L = length + travel of
the extension slide. The axial stiffness is that of the joint that extends (a motor, a spring).

A beam is an attachment that is seen through its joints: V = (ẇ₁, ẇ₂, φ̇₁, φ̇₂, ψ̇, L̇). K and C are
in B = θ C + θ² h K; Q_L is explicit. For θ = ½ and L fixed the discrete work of Q is exactly −ΔU.

Assumptions: small deflections and slopes; the tip's rotations add up as if they were a vector; no
mass between root and tip; no shear deformation; no stiffening or softening by axial load, which is
right as long as the load stays well below Euler's π² E I/(4 L²).

Source: any text on strength of materials, e.g. S. Timoshenko, Strength of materials, part I (1930).
"""
