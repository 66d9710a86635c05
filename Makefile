# Quire: a memory manager for operating-system kernels, with the machine to prove it on.
#
#   make              build build/quire
#   make run          install what is missing, build, run all five experiments
#   make test         install what is missing, build, pass all tests
#   make freestanding compile mm/, fs/ and arch/ for boards and check what they need
#   make deep         whatever takes long
#   make clean

BUILD ?= build
CC := gcc
CLANG ?= clang

WARN := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes \
	-Wmissing-prototypes -Werror
CFLAGS ?= -O2 -g
CPPFLAGS := -Iinclude -I.
STD := -std=gnu11

# The library, compiled here with the simulator's instructions (<insn/...> found in sim/).
LIB_SRC := $(sort $(wildcard mm/*.c mm/coherence/*.c fs/*.c arch/*/*.c))
SIM_SRC := $(sort $(wildcard sim/*.c))
LAB_SRC := $(sort $(wildcard lab/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
SUPPORT_SRC := $(sort $(wildcard tests/support/*.c))

# Calls inside the library that the mutants of `quire check` change: lab/explore_mutants.c.
WRAPPED := quire_batch_end quire_coherence_unmapped quire_coherence_user_map quire_space_fork
LAB_LIBS := $(WRAPPED:%=-Wl,--wrap=%) -linih -ljansson -lpthread
TEST_LIBS := -lcmocka $(LAB_LIBS)

OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(LIB_SRC) $(SIM_SRC))
LAB_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(LAB_SRC))
LAB_LIB_OBJ := $(filter-out $(BUILD)/obj/lab/main.o,$(LAB_OBJ))
SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(SUPPORT_SRC))
UNITS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SRC))

# V=1 shows commands.
Q := $(if $(V),,@)

.PHONY: all run test units deep fuzzers freestanding lint clean asan
.DEFAULT_GOAL := all

all: check-packages $(BUILD)/quire

.PHONY: check-packages
check-packages:
	@scripts/setup --check build

$(BUILD)/quire: $(OBJ) $(LAB_OBJ)
	$(if $(V),,@echo "  LD $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LAB_LIBS)

# What is freestanding is compiled so on the host too: the same source, the same rules.
FREE := -ffreestanding -fno-tree-loop-distribute-patterns
$(BUILD)/obj/mm/%.o $(BUILD)/obj/fs/%.o $(BUILD)/obj/arch/%.o: STD += $(FREE)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC $@")
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) $(CPPFLAGS) -Isim -MMD -MP -c -o $@ $<

$(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(OBJ) $(LAB_LIB_OBJ) $(SUPPORT_OBJ)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LD $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(TEST_LIBS)

.SECONDARY:

units: $(UNITS)

# Everything again under AddressSanitizer and UndefinedBehaviorSanitizer, in its own directory.
SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
asan:
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CFLAGS="$(SANITIZE)" $(BUILD)/asan/quire units

run:
	@scripts/setup build
	+@$(MAKE) --no-print-directory $(BUILD)/quire
	@$(BUILD)/quire run

test:
	@scripts/setup test
	+@$(MAKE) --no-print-directory $(BUILD)/quire units asan
	@scripts/test $(BUILD)

deep:
	@scripts/setup test
	+@$(MAKE) --no-print-directory $(BUILD)/quire units asan fuzzers
	@scripts/deep $(BUILD)

# Fuzzers of what the program reads: clang's libFuzzer, everything in one compilation of its own.
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(sort $(wildcard tests/fuzz/*.c)))
FUZZ_SRC := $(LIB_SRC) $(SIM_SRC) $(filter-out lab/main.c,$(LAB_SRC))
fuzzers: $(FUZZERS)
$(BUILD)/fuzz/%: tests/fuzz/%.c $(FUZZ_SRC) $(wildcard */*.h */*/*.h)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  FUZZ $@")
	$(Q)$(CLANG) $(STD) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $(CPPFLAGS) -Isim \
		-o $@ $< $(FUZZ_SRC) $(LAB_LIBS)

freestanding:
	@scripts/freestanding $(BUILD)

lint:
	@scripts/lint

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
