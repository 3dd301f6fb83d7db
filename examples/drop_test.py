"""Run the first test of INRIA RT-0448 and print its checks.

A rover of 64.6 kg falls 1.42 m onto a plane. The instant, the speed and the impulse of the impact
have closed forms; the report has figures of them.
"""

from __future__ import annotations

import marsyard


def main() -> None:
    result = marsyard.run("rt0448/test-1")
    for check in result.checks:
        print(f"{check.verdict}  {check.name}: {check.computed:.6g} {check.unit}", end="")
        print(f"  (expected {check.expected:g} ± {check.tolerance:g})")
    if not result.ok:
        raise SystemExit("a check failed")


if __name__ == "__main__":
    main()
