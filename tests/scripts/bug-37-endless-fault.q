title    A fault is mended once, where the walker does not see the D cache
source   Quire, list of known faults, 37: non-coherent walker and no clean: an endless fault
machine  pandaboard

variant memory  coherence.walker=memory
variant l2      coherence.walker=l2
variant detect  coherence.walker=memory pte_clean=detect
variant l1      pte_clean=detect
variant x86     machine=core2-t7300-kvm
variant hp      machine=hp-a500

mount   ram ramfs
file    f on=ram size=64K fill=random
process p
map     a anonymous private rw size=64K
set     before = faults
store   a stride=4K
expect  faults - $before == 16
store   a
expect  faults - $before == 16
fork    q
exit    q
set     before = faults
store   a stride=4K
expect  faults - $before == 16
map     m f shared rw
set     before = faults
store   m stride=4K
expect  faults - $before == 16
load    m
expect  faults - $before == 16
expect  violations == 0
