title    A write whose buffer faults half way ends there; what it did not write reads as zeros
source   Quire, list of known faults, 13: W off=100 len=200, the buffer faults after 50 bytes
machine  hp-a500

variant ramfs       fs=ramfs machine.memory=12M machine.kernel_text=1M
variant tmpfs-first fs=tmpfs tmpfs_clear=first machine.memory=12M machine.kernel_text=1M
variant tmpfs-ends  fs=tmpfs tmpfs_clear=ends machine.memory=12M machine.kernel_text=1M
variant disk        fs=disk machine.memory=12M machine.kernel_text=1M
variant arm         machine=pandaboard fs=tmpfs machine.memory=12M machine.kernel_text=1M
variant x86         machine=core-i5-2012 fs=tmpfs machine.memory=12M machine.kernel_text=1M

# All frames that will be used were full of a former owner's data.
process before
buffer  old size=(free * 4K - 256K) fill=random
exit    before

mount   m $fs
process p
buffer  r size=8K
map     b anonymous private size=8K address=0x40000000
store   b
unmap   b at=4K size=4K

# In a new file: 50 bytes of the buffer are there.
file    f on=m
expect-error EFAULT { write f at=100 size=200 from=b skip=(4K - 50) }
expect  done == 50
expect  size(f) == 150
read    f into=r
map     e f shared r size=4K
load    e size=4K
unmap   e
truncate f size=8K
read    f into=r

# The rest of the page as another process sees it, who maps it.
map     w f shared r
load    w
expect  violations == 0

# A whole page that ends short, in a page that is not in the cache; nothing of it may be left from the frame.
file    g on=m
expect-error EFAULT { write g size=4K from=b skip=96 }
expect  done == 4000
expect  size(g) == 4000
map     e g shared r size=4K
load    e size=4K
unmap   e
truncate g size=4K
read    g into=r

# Over data that is there: what was not written stays.
file    h on=m size=4K fill=random
expect-error EFAULT { write h at=1K size=2K from=b skip=3K }
read    h into=r
expect  size(h) == 4K
expect  violations == 0
