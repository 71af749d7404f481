"""Rules of every command: numbers in text output."""

from __future__ import annotations

from conftest import Command

from tcpsf.report import link_output


class TestNumbers:
    """Thousands and minus signs are written in the same way in all text outputs."""

    def test_thousands(self) -> None:
        direction = dict.fromkeys(link_output.ROWS.values(), 12_345) | {
            "utilisation": 0.0, "timing_error_median_s": None, "timing_error_p99_s": None,
            "timing_error_max_s": None,
        }  # fmt: skip
        found = {
            "up": direction, "down": direction, "exit_status": 0, "duration_s": 1.0, "seed": 1,
            "outside_exit_status": None,
        }  # fmt: skip
        shown = link_output.as_text(found)
        assert "12\u202f345  12\u202f345" in shown
        assert "12345" not in shown

    def test_a_model(self, tcpsf: Command) -> None:
        assert "128\u202f000" in tcpsf("model", "short-flow").out
