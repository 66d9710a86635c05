title    A page of shared anonymous memory that the kernel zeroed is settled before it is mapped
source   Quire, list of known faults, 2
machine  hp-a500

variant page    coherence=page machine.memory=12M machine.kernel_text=1M
variant mapping coherence=mapping machine.memory=12M machine.kernel_text=1M
variant eager   coherence=eager machine.memory=12M machine.kernel_text=1M
variant arm     machine=pandaboard machine.memory=12M machine.kernel_text=1M

# Frames with old data, and dirty lines of it.
process before
buffer  old size=(free * 4K - 256K) fill=random
exit    before

process p
map     m anonymous shared rw size=256K
store   m value=0xaaaaaaaaaaaa
# Everything is evicted, in one order of the cache's index and in the other.
process other
buffer  sweep size=2M fill=zero
load    sweep
use     p
load    m
map     n anonymous shared rw size=256K
load    n
use     other
load    sweep stride=64 order=descending
use     p
load    m
load    n
store   n
use     other
store   sweep stride=64 order=descending value=1
use     p
load    n
expect  violations == 0
