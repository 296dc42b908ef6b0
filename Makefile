# Everything a fresh machine needs to know: `make demo` and `make test`.

CARGO ?= cargo
OUT := out
DWELL := target/release/dwell

.PHONY: setup demo test bench fuzz docs

# What is missing is installed, or told where that takes rights that we do not have. Safe to repeat.
setup:
	@sh scripts/setup.sh

# A real measurement on this machine's own kernel: a testbed of network namespaces, packets, waterfall, picture.
demo: setup
	$(CARGO) build --release --locked --package dwell
	@mkdir -p $(OUT)
	$(DWELL) lab demo --plot $(OUT)/demo.svg
	@echo "picture: $(OUT)/demo.svg"

# Format, lints, documentation, licences (a test of the command), every test. Fuzz targets are linted, which takes neither the nightly
# compiler nor the fuzzer's own library: it is named as if it were there already.
test: export CUSTOM_LIBFUZZER_PATH := /elsewhere/libfuzzer.a
test: setup
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --document-private-items
	$(CARGO) test --workspace --locked --no-fail-fast

bench: setup
	$(CARGO) bench --workspace --locked --no-fail-fast

# Every parser of foreign bytes, so many seconds each. It takes a nightly compiler and cargo-fuzz, which nothing else does.
TIME ?= 60
fuzz: setup
	@rustup toolchain list | grep -q '^nightly' || rustup toolchain install nightly --profile minimal
	@command -v cargo-fuzz >/dev/null || $(CARGO) install --locked cargo-fuzz
	@sh scripts/fuzz.sh $(TIME)

# The book is plain Markdown in docs/book/src; where mdbook is installed, it is made into pages.
docs: setup
	$(CARGO) doc --workspace --no-deps --locked
	@if command -v mdbook >/dev/null; then mdbook build docs/book; else echo "docs/book/src is readable as it is; mdbook would make pages of it"; fi
