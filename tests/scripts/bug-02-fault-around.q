title    Pages that a read fault maps beside the one asked for are settled as that one is
source   Quire, list of known faults, 2
machine  hp-a500

policy  fault_around=16
variant hp      machine=hp-a500    coherence=page machine.memory=12M machine.kernel_text=1M
variant mapping machine=hp-a500    coherence=mapping machine.memory=12M machine.kernel_text=1M
variant arm     machine=pandaboard coherence=page machine.memory=12M machine.kernel_text=1M
variant x86     machine=core2-t7300-kvm machine.memory=12M machine.kernel_text=1M

process before
buffer  old size=(free * 4K - 256K) fill=random
exit    before

mount   ram ramfs
file    f on=ram size=64K fill=random
process p
map     m f shared r address=0x40000000
set     before = faults
load    m size=8
load    m
expect  faults - $before == 1
unmap   m

# The same for instructions, in frames whose last instructions may still be in the I cache.
map     x f private rx
execute x
unmap   x
unlink  f
file    g on=ram size=64K fill=random
map     x g private rx
execute x size=64
execute x
unmap   x
expect  violations == 0
