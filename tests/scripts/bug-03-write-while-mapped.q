title    What the kernel writes into a page that is mapped is seen through the mapping
source   Quire, list of known faults, 3: M P; ld P; kst P; hook; ld P
machine  hp-a500

variant page    coherence=page    fs=ramfs
variant mapping coherence=mapping fs=ramfs
variant eager   coherence=eager   fs=ramfs
variant tmpfs   fs=tmpfs
variant disk    fs=disk
variant arm     machine=pandaboard fs=ramfs
variant arm-map machine=pandaboard coherence=mapping fs=ramfs
variant x86     machine=core2-t7300-kvm fs=ramfs

mount   m $fs
file    f on=m size=64K fill=random
process p
map     m f shared rw
map     x f private rx
buffer  b size=64K
load    m
execute x
write   f size=64K fresh
execute x
load    m
write   f at=10000 size=20000 fresh
load    m
execute x
store   m at=4K size=8K
write   f at=6K size=100 fresh
load    m
execute x
read    f
expect  violations == 0
