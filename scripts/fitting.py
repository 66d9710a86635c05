"""What scripts/fit and scripts/sensitivity share: the fits, the figures of machine files, runs, and the secant.

A fit changes one parameter (or several that are tied to one value) until one figure of one variant of one experiment
equals its published value. Figures are monotonous and mostly close to linear in each parameter, so a secant finds it in
a few runs. A threshold is a hyperbola of its parameter: no step goes beyond four times a value or below a quarter.
"""
import collections
import configparser
import json
import subprocess

TOLERANCE = 1e-4  # of the figure that is fitted

Fit = collections.namedtuple("Fit", "experiment machine keys unit variant measures")
Figure = collections.namedtuple("Figure", "key value source low high")

PASSES = ["pass %d" % n for n in range(1, 10)]

# In the order in which they are made: each has those of its machine before it in place.
FITS = [
    Fit("mapped-read", "pandaboard", ["cost.data_op"], "cycles", "before", PASSES),
    Fit("mapped-read", "pandaboard", ["cost.disk_page"], "us", "before", ["pass 0"]),
    Fit("munmap", "hp-a500", ["cost.tlb_absent"], "cycles", "before", ["munmap"]),
    Fit("munmap", "hp-a500", ["cost.data_op_set", "cost.insn_op_set"], "cycles", "up", ["munmap"]),
    Fit("munmap", "hp-a500", ["cost.data_op"], "cycles", "after", ["flush from"]),
    Fit("pte-clean", "cortex-a9-smp", ["kernel.fault"], "cycles", "before", ["page fault"]),
    Fit("pte-clean", "cortex-a9-smp", ["kernel.fork-space"], "us", "before", ["fork+exit"]),
    Fit("pte-clean", "cortex-a9-smp", ["program.exec"], "us", "before", ["fork+exec"]),
    Fit("pte-clean", "cortex-a9-smp", ["program.shell"], "us", "before", ["fork+sh"]),
    Fit("file-times", "core2-t7300-kvm", ["kernel.syscall"], "cycles", "never", ["msync"]),
    Fit("tmpfs-write", "core-i5-2012", ["cost.memory_read"], "ns", "before", ["16 x 4G"]),
]


class Refused(Exception):
    """A run that quire refused, or that could not be started; with the reason."""


def figures(machine):
    """All figures of a machine file; low and high are None where it gives no range."""
    parser = configparser.ConfigParser(strict=True, interpolation=None, comment_prefixes=(";", "#"))
    with open("machines/%s.ini" % machine, encoding="utf-8") as file:
        parser.read_file(file)
    found = []
    for section in parser.sections():
        for name, text in parser[section].items():
            parts = [part.strip() for part in text.split("|")]
            low = high = None
            if len(parts) > 2 and parts[2].startswith("range "):
                low, high = parts[2][len("range "):].split("..")
                # "2..75 cycles": the unit stands once, at the end.
                if len(low.split()) == 1 and len(high.split()) == 2:
                    low += " " + high.split()[1]
            found.append(Figure(section + "." + name, parts[0], parts[1] if len(parts) > 1 else "", low, high))
    return found


def number(machine, key):
    """The number that a machine file gives for section.key."""
    for figure in figures(machine):
        if figure.key == key:
            return float(figure.value.split()[0])
    raise KeyError("%s.ini has no %s" % (machine, key))


def run(quire, script, settings):
    """Runs an experiment with figures of its machine set; its measures by (variant, name)."""
    command = [quire, "run", script, "--jobs", "1", "--json", "-"]
    for key, value in settings.items():
        command += ["--set", "%s=%s" % (key, value)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        raise Refused(str(error)) from error
    # 1: an expectation that the changed machine does not meet; the figures are good.
    if done.returncode not in (0, 1):
        raise Refused("%s: exit status %d: %s" % (
            " ".join(command), done.returncode, done.stderr.decode("utf-8", "replace").strip()))
    variants = json.loads(done.stdout)["experiments"][0]["variants"]
    return {(v["label"], m["name"]): m for v in variants for m in v["measures"]}


def mean(rows, variant, measures, column="model"):
    return sum(rows[variant, name][column] for name in measures) / len(measures)


def tied(fit, value):
    return {key: "%.4f %s" % (value, fit.unit) for key in fit.keys}


def secant(model, start, wanted):
    """The x, and model(x), where model(x) is `wanted`, or as near as the secant came in twelve steps."""
    x0, y0 = start, model(start)
    if abs(y0 - wanted) <= TOLERANCE * abs(wanted):
        return x0, y0
    x1 = start * 1.5 + 1
    y1 = model(x1)
    for _ in range(12):
        if y1 == y0 or abs(y1 - wanted) <= TOLERANCE * abs(wanted) or x1 < start / 1000:
            break
        x = x1 + (wanted - y1) * (x1 - x0) / (y1 - y0)
        x0, x1, y0 = x1, min(max(x, x1 / 4), x1 * 4), y1
        y1 = model(x1)
    return x1, y1
