title    What a debugger writes into a private page that is mapped is seen there
source   Quire, list of known faults, 5: ld P; kst P (debugger); ld P
machine  hp-a500

variant page    coherence=page
variant mapping coherence=mapping
variant eager   coherence=eager
variant arm     machine=pandaboard coherence=page
variant arm-map machine=pandaboard coherence=mapping
variant x86     machine=core2-t7300-kvm

mount   ram ramfs
file    f on=ram size=16K fill=random
process p
map     a anonymous private rw size=16K
map     x f private rx
map     z anonymous shared rw size=16K
store   a
load    a
load    z
execute x
process debugger
debug-load p map=a
debug-store p map=a at=4K size=4K
debug-store p map=x at=100 size=200
debug-store p map=x at=4K size=4K
debug-store p map=z at=8K size=20
use     p
load    a
load    z
execute x
store   a at=6K size=4K
store   z at=8K size=8
use     debugger
debug-load p map=a
debug-load p map=z
debug-store p map=x at=4K size=4K
use     p
execute x
load    x
expect  violations == 0
