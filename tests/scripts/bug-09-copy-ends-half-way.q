title    A copy that faults half way leaves what it wrote settled
source   Quire, list of known faults, 9: the slow path forgets the hook
machine  hp-a500

variant page    coherence=page
variant mapping coherence=mapping
variant arm     machine=pandaboard coherence=page
variant x86     machine=core2-t7300-kvm

mount   ram ramfs
file    f on=ram size=16K fill=random
process p
map     b anonymous private size=8K address=0x40000000
store   b
unmap   b at=4K size=4K
map     m f shared rw
map     x f private rx
load    m
execute x

# Page 1 gets 1000 bytes, then the buffer ends; nothing more is written to that page.
expect-error EFAULT { write f at=4K size=2000 from=b skip=(4K - 1000) }
expect  done == 1000
load    m
execute x
expect-error EFAULT { write f at=(4K - 500) size=2000 from=b skip=(4K - 1000) }
load    m
execute x
expect  violations == 0
