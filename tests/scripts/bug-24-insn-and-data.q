title    Data pages are flushed from the D cache and instructions from the I cache, not the other way round
source   Quire, list of known faults, 24: exchanged for each single request
machine  hp-a500

variant line  flush_range=line
variant fixed flush_range=fixed:4M
variant split flush_range=calibrated-split

# The thresholds of I and D differ, so a page may go by line on one side and by the whole cache on the other.
mount   ram ramfs
file    f on=ram size=64K fill=random
process p
map     d anonymous private rw size=64K
store   d
unmap   d
process q
map     d anonymous private rw size=64K address=0x40031000
store   d
map     x f private rx
execute x
process other
buffer  sweep size=2M fill=zero
load    sweep
use     q
load    d
execute x
protect x rw
store   x
protect x rx
execute x

# Data alone does no work on the I side, where the policy tells the two apart.
set     before = maintenance(flush-range.unmap.insn)
unmap   d
in split expect maintenance(flush-range.unmap.insn) == $before
expect  maintenance(flush-range.unmap.data) >= 16
unmap   x
in split expect maintenance(flush-range.unmap.insn) >= $before + 16
expect  violations == 0
