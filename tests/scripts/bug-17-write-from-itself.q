title    A write whose buffer is a map of the page that is written
source   Quire, list of known faults, 17: no deadlock, no old contents
machine  hp-a500

variant hp    fs=ramfs
variant tmpfs fs=tmpfs
variant disk  fs=disk
variant arm   machine=pandaboard   fs=tmpfs
variant x86   machine=core-i5-2012 fs=ramfs

mount   m $fs
file    f on=m size=32K fill=random
process p
map     w f shared rw

# Page 0 to itself, nobody has touched the map; then from a page to its neighbours, over a page's end.
write   f at=0 size=4K from=w
write   f at=100 size=2000 from=w skip=4196
write   f at=(8K - 100) size=200 from=w skip=(12K - 100)
buffer  b size=32K
read    f into=b
load    w
expect  violations == 0

# The map's page is a hole, and so is the page that is written.
file    g on=m size=32K fill=none
map     v g shared r
write   g at=16K size=4K from=v skip=20K
write   g at=16K size=4K from=v skip=16K
read    g into=b
expect  violations == 0

# The buffer lies beyond the end of its own file, at first: the write that would bring it there ends.
truncate g size=4K
expect-error EFAULT { write g at=4K size=4K from=v skip=4K }
expect  size(g) == 4K
read    g into=b
expect  violations == 0
