title    A dirty line of a page that was unmapped does not come over what its frame holds now
source   Quire, list of known faults, 34
machine  hp-a500

variant line  flush_range=line machine.memory=12M machine.kernel_text=1M
variant fixed flush_range=fixed:1M machine.memory=12M machine.kernel_text=1M
variant whole flush_range=whole machine.memory=12M machine.kernel_text=1M
variant split flush_range=calibrated-split machine.memory=12M machine.kernel_text=1M
variant arm   machine=pandaboard machine.memory=12M machine.kernel_text=1M
variant x86   machine=core2-t7300-kvm machine.memory=12M machine.kernel_text=1M

mount   ram ramfs
file    f on=ram size=64K fill=random
process p
map     a anonymous private rw size=64K address=0x40005000
map     s f shared rw
store   a
store   s
unmap   a
unmap   s
map     b anonymous private rw size=64K address=0x40035000
store   b
unlink  f
file    g on=ram size=64K fill=random

# Every set of the cache gets new lines, four ways of it.
process other
buffer  sweep size=2M fill=zero
load    sweep
use     p
load    b
map     t g shared r
load    t
buffer  r size=64K
read    g

# The same with lines that the kernel left: of a file that nobody mapped. Its frames become the next buffer's.
file    h on=ram size=64K fill=random
use     p
unmap   b
unlink  h
map     c anonymous private rw size=128K address=0x40135000
store   c
use     other
load    sweep
use     p
load    c
expect  violations == 0
