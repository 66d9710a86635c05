title    munmap of a range that was hardly touched costs what the touched pages cost
source   Quire, list of known faults, 27: a fault a line, over pages that are not present
machine  hp-a500

policy  flush_range=calibrated-split
variant hp
variant arm machine=pandaboard
variant x86 machine=core2-t7300-kvm

process p
map     small anonymous private rw size=16K
store   small size=8
time    small us { unmap small }
map     large anonymous private rw size=64M
store   large size=8
set     before = maintenance(flush-range.)
time    large us { unmap large }
expect  maintenance(flush-range.) - $before < 200
expect  large < small * 20
map     never anonymous private rw size=64M
set     before = maintenance(flush-range.)
unmap   never
expect  maintenance(flush-range.) - $before == 0
expect  violations == 0
