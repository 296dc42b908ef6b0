#!/bin/sh
# Puts in place what the build and the lab need. Asks nothing, changes nothing that is there, needs no network once done.
set -eu

# Debian leaves these out of users' PATH; tc is there.
PATH=$PATH:/usr/sbin:/sbin

say() { printf 'setup: %s\n' "$*" >&2; }

if ! command -v "${CARGO:-cargo}" >/dev/null 2>&1; then
	say "Rust is missing: install it from https://rustup.rs, then repeat"
	exit 1
fi

# Formatting and lints come with rustup's usual profile; a smaller one leaves them out.
for part in rustfmt clippy; do
	"${CARGO:-cargo}" "$(echo $part | sed 's/rust//')" --version >/dev/null 2>&1 && continue
	if command -v rustup >/dev/null 2>&1; then
		say "adding $part"
		rustup -q component add "$part"
	else
		say "missing: $part; install it with this system's package manager, then repeat"
		exit 1
	fi
done

# The lab runs ip and tc, and on a path of sections ping and curl; the dependencies' C libraries are built with cc and make.
# The programs that `dwell local` has
# the kernel run are compiled by clang; libbpf loads them, and reads ELF and zlib.
packages=""
command -v ip >/dev/null 2>&1 && command -v tc >/dev/null 2>&1 || packages="$packages iproute2"
command -v ping >/dev/null 2>&1 || packages="$packages iputils-ping"
command -v curl >/dev/null 2>&1 || packages="$packages curl"
command -v cc >/dev/null 2>&1 || packages="$packages gcc libc6-dev"
for tool in make clang pkg-config; do
	command -v "$tool" >/dev/null 2>&1 || packages="$packages $tool"
done
[ -e /usr/include/libelf.h ] || packages="$packages libelf-dev"
[ -e /usr/include/zlib.h ] || packages="$packages zlib1g-dev"

# The tests of the warehouse start servers of their own, and are skipped without: about 300 MB, where the system has it.
if ! [ -x /usr/sbin/clickhouse-server ] && apt-cache show clickhouse-server >/dev/null 2>&1; then
	packages="$packages clickhouse-server"
fi

# The generators of `make bench`, the programs that `dwell eval` judges beside our own, and those by which tests read what Dwell
# exports and draws, each left out where the system has none.
for program in chromium:chromium ab:apache2-utils wrk:wrk ITGSend:d-itg iperf3:iperf3 nuttcp:nuttcp nfcapd:nfdump tshark:tshark; do
	command -v "${program%%:*}" >/dev/null 2>&1 && continue
	apt-cache show "${program#*:}" >/dev/null 2>&1 && packages="$packages ${program#*:}"
done

if [ -n "$packages" ]; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
		say "installing$packages"
		apt-get -qq update
		# shellcheck disable=SC2086 # a list of packages
		DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $packages >/dev/null
	else
		say "missing:$packages; install them with this system's package manager, then repeat"
		exit 1
	fi
fi

# Fetched once; from then on the build needs no network.
host=$(rustc -vV | sed -n 's/^host: //p')
if ! "${CARGO:-cargo}" metadata --offline --locked --format-version 1 --filter-platform "$host" >/dev/null 2>&1; then
	say "fetching the crates that Cargo.lock names"
	"${CARGO:-cargo}" fetch --locked
fi
